package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func TestServeTheMainJob(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	p := start(t, env)
	p.initialize()

	text, isError := p.call("describe_schema", args{"table": "app.items"})
	require.False(t, isError, text)
	require.Contains(t, text, `"writable":true`)
	text, isError = p.call("query", args{"statement": "select count(*) n from app.items", "reason": "counting"})
	require.False(t, isError, text)
	require.Contains(t, text, `"rows":[{"n":"500"}]`)
	text, isError = p.call("explain_plan", args{"statement": "select * from app.items where id = $1", "params": []any{1}, "reason": "looking"})
	require.False(t, isError, text)

	text, isError = p.call("delete_rows", args{"table": "app.items", "where": "id <= $1", "params": []any{3}, "reason": "cleaning up"})
	require.False(t, isError, text)
	var preview struct {
		Status       string
		PlanToken    string `json:"plan_token"`
		Statement    string
		Params       []json.RawMessage
		AffectedRows int    `json:"affected_rows"`
		ApprovalURL  string `json:"approval_url"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &preview))
	require.Equal(t, "previewed", preview.Status)
	require.Equal(t, 3, preview.AffectedRows)
	require.Equal(t, "500", db.Query(t, "select count(*) from app.items")[0][0])
	text, isError = p.call("execute_plan", args{"plan_token": preview.PlanToken, "statement": preview.Statement, "params": preview.Params})
	require.False(t, isError, text)
	require.Contains(t, text, `"status":"executed"`)
	require.Equal(t, "497", db.Query(t, "select count(*) from app.items")[0][0])
	require.Equal(t, "1", db.Query(t, "select count(*) from mcp_audit.log where status = 'executed' and caller_id = 'test' and actual_rows = 3")[0][0])

	// More than the threshold waits for a person, and the page is there to decide on.
	text, isError = p.call("delete_rows", args{"table": "app.items", "where": "id <= 200", "reason": "more"})
	require.False(t, isError, text)
	require.NoError(t, json.Unmarshal([]byte(text), &preview))
	require.Equal(t, "awaiting_approval", preview.Status)
	secret := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=\S+`).FindAllString(p.stderr.String(), -1)
	require.Len(t, secret, 1, "the address with the secret is printed once")
	require.True(t, strings.HasPrefix(secret[0], preview.ApprovalURL))
	require.NotContains(t, text, "token=")
	p.sendCall(2, "execute_plan", args{"plan_token": preview.PlanToken, "statement": preview.Statement})
	approve(t, secret[0], preview.PlanToken)
	text, isError = p.result()
	require.False(t, isError, text)
	require.Contains(t, text, `"affected_rows":197`)

	// What never reached Postgres is in the audit table too.
	text, isError = p.call("delete_rows", args{"table": "app.items", "reason": "all of it"})
	require.True(t, isError)
	require.Contains(t, text, "NO_WHERE_CLAUSE")
	require.Equal(t, "1", db.Query(t, "select count(*) from mcp_audit.log where status = 'failed' and error_code = 'NO_WHERE_CLAUSE'")[0][0])

	require.NoError(t, p.in.Close())
	require.Equal(t, exitOK, p.ends(2*time.Second))
}

func approve(t *testing.T, secretURL, token string) {
	t.Helper()
	base, secret, _ := strings.Cut(secretURL, "?token=")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"api/plans/"+token+"/approve", strings.NewReader(`{"approvedBy":"a test"}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode, string(body))
}

// S17: closing stdin, and each signal, ends it in time whatever runs, and the backends go with it.
func TestS17EndsInTime(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	sleep := args{"statement": "select pg_sleep(60)", "reason": "sleeping"}
	for name, end := range map[string]func(*process){
		"end of input": func(p *process) { _ = p.in.Close() },
		"SIGTERM":      func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":       func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGINT) },
		"SIGHUP":       func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		states := []string{"in a query"}
		if name == "end of input" {
			states = []string{"idle", "in a query", "in a preview", "waiting for a person"}
		}
		for _, busy := range states {
			t.Run(name+" "+busy, func(t *testing.T) {
				p := start(t, env)
				p.initialize()
				switch busy {
				case "in a query":
					p.sendCall(1, "query", sleep)
					wait(t, func() bool { return running(t, db, true) })
				case "in a preview":
					p.sendCall(1, "update_rows", args{"table": "app.items", "set": args{}, "set_expressions": args{"name": "pg_sleep(60)::text"}, "where": "id = 1", "reason": "r"})
					wait(t, func() bool { return running(t, db, true) })
				case "waiting for a person":
					text, isError := p.call("delete_rows", args{"table": "app.items", "where": "id <= 200", "reason": "r"})
					require.False(t, isError, text)
					var preview struct {
						PlanToken string `json:"plan_token"`
						Statement string
					}
					require.NoError(t, json.Unmarshal([]byte(text), &preview))
					p.sendCall(1, "execute_plan", args{"plan_token": preview.PlanToken, "statement": preview.Statement})
				default:
					text, isError := p.call("query", args{"statement": "select 1", "reason": "r"})
					require.False(t, isError, text)
				}
				end(p)
				require.Equal(t, exitOK, p.ends(2*time.Second+500*time.Millisecond)) // a loaded machine
				wait(t, func() bool { return !running(t, db, false) })
			})
		}
	}
	require.Equal(t, "500", db.Query(t, "select count(*) from app.items")[0][0])
}

// running reports whether the server under test has a backend, or one that sleeps.
func running(t *testing.T, db *pgtemp.DB, sleeping bool) bool {
	t.Helper()
	return db.Query(t, `select count(*) from pg_stat_activity where datname = $1 and usename in ('readonly', 'writer')
		and ($2 = 'any' or wait_event = 'PgSleep')`, db.Name, map[bool]string{true: "sleeping", false: "any"}[sleeping])[0][0] != "0"
}

// wait polls until something outside of this process is so.
func wait(t *testing.T, ok func() bool) {
	t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond) // another process: there is nothing to be told by
	}
	t.Fatal("it did not happen within 4 s")
}

// S19, S20: a database that is down stops neither the handshake nor the list, calls say so, and no
// password is anywhere.
func TestServeWithoutADatabase(t *testing.T) {
	t.Parallel()
	p := start(t, nowhere)
	p.initialize()
	p.send(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	require.Contains(t, string(p.next()["result"]), `"execute_plan"`)
	for _, c := range []struct {
		tool string
		a    args
	}{
		{"query", args{"statement": "select 1", "reason": "r"}},
		{"query", args{"statement": "select * from app.t", "reason": "r"}},
		{"explain_plan", args{"statement": "select 1", "reason": "r"}},
		{"describe_schema", args{}},
		{"delete_rows", args{"table": "app.t", "where": "id = 1", "reason": "r"}},
		{"run_migration", args{"statement": "create table app.t (id int)", "reason": "r"}},
	} {
		text, isError := p.call(c.tool, c.a)
		require.True(t, isError)
		require.Contains(t, text, "DATABASE_UNAVAILABLE", c.tool)
		noSecret(t, text)
	}
	text, isError := p.call("execute_plan", args{"plan_token": "t", "statement": "s"})
	require.True(t, isError)
	require.Contains(t, text, "DATABASE_UNAVAILABLE", "a token that cannot be looked up is not unknown")
	require.NoError(t, p.in.Close())
	require.Equal(t, exitOK, p.ends(2*time.Second))
	noSecret(t, p.stderr.String())
}

// A role that must not be used ends the process with code 2, also behind the handshake.
func TestServeAsASuperuser(t *testing.T) {
	t.Parallel()
	db, _ := database(t)
	p := start(t, []string{"DATABASE_URL_READONLY=" + db.Super, "DATABASE_URL_WRITER=" + db.Writer})
	require.Equal(t, exitUsage, p.ends(20*time.Second))
	require.Contains(t, p.stderr.String(), `role "postgres" has BYPASSRLS`)
}

func TestServeWithoutConfiguration(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := once(t, nil)
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "database.readonlyConnectionString")
	require.Contains(t, stderr, "DATABASE_URL_READONLY")

	code, stdout, _ = once(t, nil, "--config", "bad.json")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
}

// Two servers at once: both serve, each with a page of its own.
func TestServeTwice(t *testing.T) {
	t.Parallel()
	_, env := database(t)
	a := start(t, env)
	a.initialize()
	page := regexp.MustCompile(`http://127\.0\.0\.1:(\d+)/`).FindStringSubmatch(a.stderr.String())
	require.NotNil(t, page)
	b := start(t, append(env, "SW_APPROVAL_SERVER_PORT="+page[1]))
	b.initialize()
	other := regexp.MustCompile(`http://127\.0\.0\.1:(\d+)/\?`).FindStringSubmatch(b.stderr.String())
	require.NotNil(t, other)
	require.NotEqual(t, page[1], other[1])
	require.Contains(t, b.stderr.String(), "taken")
}

// S19: descriptor 1 is not the protocol's stream: what prints there lands on stderr.
func TestS19StdoutIsTakenAway(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("looks at /proc, which only Linux has")
		return
	}
	p := start(t, nowhere)
	p.initialize()
	target := func(fd int) string {
		s, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.cmd.Process.Pid, fd))
		require.NoError(t, err)
		return s
	}
	require.Equal(t, target(2), target(1))
}

// A client that goes away without a word: EPIPE is no reason to die by a signal.
func TestClientClosesItsEnd(t *testing.T) {
	t.Parallel()
	cmd := command(t, nowhere)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	require.NoError(t, errs.Close())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":5,"method":"ping"}`+"\n")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		require.NoError(t, err, "code 0, not a signal")
	case <-time.After(5 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("it goes on without a client")
	}
}

// audit.reads records every read, refused ones too, and no value.
func TestReadsAreRecorded(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	p := start(t, append(env, "SW_AUDIT_READS=true"))
	p.initialize()
	text, isError := p.call("query", args{"statement": "select name from app.items where id = $1", "params": []any{"7"}, "reason": "looking"})
	require.False(t, isError, text)
	_, isError = p.call("query", args{"statement": "select * from app.nothing", "reason": "guessing"})
	require.True(t, isError)
	_, isError = p.call("describe_schema", args{})
	require.False(t, isError)
	require.Equal(t, [][]string{
		{"query", "looking", "executed", "1", ""}, {"query", "guessing", "failed", "", "INVALID_TABLE_NAME"}, {"describe_schema", "", "executed", "1", ""},
	}, db.Query(t, "select tool, coalesce(reason, ''), status, coalesce(actual_rows::text, ''), coalesce(error_code, '') from mcp_audit.log order by id"))
	require.NotContains(t, db.Query(t, "select params_redacted::text from mcp_audit.log order by id")[0][0], "7")
}

// "Cannot ask" is never taken for "need not ask".
func TestServeWithoutApprovalPage(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	p := start(t, append(env, "SW_APPROVAL_SERVER_ENABLED=false"))
	p.initialize()
	text, isError := p.call("delete_rows", args{"table": "app.items", "where": "id <= 200", "reason": "r"})
	require.True(t, isError)
	require.Contains(t, text, "APPROVAL_UNAVAILABLE")
	text, isError = p.call("delete_rows", args{"table": "app.items", "where": "id <= 2", "reason": "r"})
	require.False(t, isError, text)
	require.NotContains(t, p.stderr.String(), "token=")
	require.Equal(t, "1", db.Query(t, "select count(*) from mcp_audit.log where error_code = 'APPROVAL_UNAVAILABLE'")[0][0])
}

// TestFieldG86ThePageFailed: a page that could not be bound, and one that stops answering later, are no
// page: what needs a person is refused, without a token, and the log says so loudly. What needs nobody runs.
func TestFieldG86ThePageFailed(t *testing.T) {
	t.Parallel()
	db, _ := database(t)
	for _, late := range []bool{false, true} {
		var log safeBuffer
		env := map[string]string{"DATABASE_URL_READONLY": db.Readonly, "DATABASE_URL_WRITER": db.Writer}
		cfg, _, err := config.Load(configFile(t), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		require.NoError(t, err)
		cfg.ApprovalServer.Port = 0
		if !late {
			cfg.ApprovalServer.Port = 65536 // no machine has it: the page is made and bound in one place
		}
		a, err := newApp(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), desktop{env: func(string) (string, bool) { return "", false }})
		require.NoError(t, err)
		if late {
			require.NotEmpty(t, a.approvalURL())
			a.pageDown.Store(true) // as servePage says it
			a.page.Close()
		} else {
			require.Contains(t, log.String(), "THERE IS NO APPROVAL PAGE")
		}
		require.Empty(t, a.approvalURL())
		preview := func(where string) (writecore.Reply, error) {
			st, err := a.guard.Delete(t.Context(), a.db.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.items", Where: where})
			require.NoError(t, err)
			return a.core.Preview(t.Context(), writecore.Request{Tool: "delete_rows", Reason: "r", Statement: st})
		}
		_, err = preview("id <= 200")
		require.True(t, refusal.Is(err, refusal.ApprovalUnavailable), "%v", err)
		require.Empty(t, a.store.List(), "no token")
		r, err := preview("id <= 2")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, r.Plan.State)
		a.store.Close()
		a.db.Close()
	}
}

// A database that comes up later is used without a restart, and one that drops every connection is
// connected to again by the next call.
func TestServeRecovers(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	p := start(t, env)
	p.initialize()
	for range 3 {
		text, isError := p.call("query", args{"statement": "select 1 as a", "reason": "r"})
		require.False(t, isError, text)
		text, isError = p.call("delete_rows", args{"table": "app.items", "where": "id = 1", "reason": "r"})
		require.False(t, isError, text)
		db.Query(t, "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1 and usename in ('readonly', 'writer')", db.Name)
		wait(t, func() bool { return !running(t, db, false) })
	}
}

// A misspelt variable is said, not swallowed.
func TestMisspeltVariable(t *testing.T) {
	t.Parallel()
	p := start(t, append(nowhere, "SW_HARD_MAX_ROW=5"))
	p.initialize()
	require.Contains(t, p.stderr.String(), "SW_HARD_MAX_ROWS")
}
