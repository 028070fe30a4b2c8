package tests

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// S20: a password and the page's secret, on every path that fails: nowhere in results, on stderr,
// in the audit table, on the page, among the process's arguments. Every other test is held to
// stdout and stderr too.
func TestS20SecretsStayIn(t *testing.T) {
	t.Parallel()
	const password = "S3cr3t-pw/with:odd@chars"
	escaped := url.QueryEscape(password)
	at := func(t testing.TB, db *pgtemp.DB, user, host string) string {
		u, err := url.Parse(db.Readonly)
		require.NoError(t, err)
		if host == "" {
			host = u.Host
		}
		return "postgres://" + user + ":" + escaped + "@" + host + u.Path + "?" + u.RawQuery
	}
	silentListener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silentListener.Close() })
	for name, hosts := range map[string]string{
		"a wrong password":         "",
		"a port that is closed":    "127.0.0.1:1",
		"a name that is not there": "no-such-host.invalid:5432",
		"a server that is silent":  silentListener.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			o := options{readonly: at(t, db, "readonly", hosts), writer: at(t, db, "writer", hosts)}
			check := runToEnd(t, db, options{readonly: o.readonly, writer: o.writer, args: []string{"check-config"}})
			require.Equal(t, 2, check.code)
			noSecret(t, "check-config", check.stdout+check.stderr, password, escaped)
			if name == "a server that is silent" {
				return // serving answers only after its patience; the messages are the same
			}
			s := start(t, db, o)
			for _, r := range matrix {
				got := s.call(r.tool, r.sound())
				require.True(t, got.isError)
				noSecret(t, r.tool, string(got.text)+got.message, password, escaped)
			}
			noSecret(t, "the page", string(s.get("/api/plans?all=1").body)+string(s.get("/").body)+string(s.get("/api/history").body), password, escaped, s.secret())
			noSecret(t, "stderr", s.log(), password, escaped)
		})
	}
	t.Run("a URL that cannot be read", func(t *testing.T) {
		t.Parallel()
		for _, raw := range []string{"postgres://writer:" + password + "@127.0.0.1:5432/x", "postgres://writer:p#" + password + "@[::1/x", "host=x password='" + password, "user=writer password=" + password + " port=abc", password} {
			for _, inFile := range []bool{true, false} {
				o := options{readonly: "-", writer: "-", env: map[string]string{}}
				if inFile {
					o.config = map[string]any{"database": map[string]any{"readonlyConnectionString": raw, "writerConnectionString": raw}}
				} else {
					o.env = map[string]string{"DATABASE_URL_READONLY": raw, "DATABASE_URL_WRITER": raw}
				}
				r := runToEnd(t, nil, o)
				require.Equal(t, 2, r.code, "%q: %s", raw, r.stderr)
				noSecret(t, raw, r.stdout+r.stderr, "S3cr3t-pw")
			}
		}
	})
	t.Run("when all is well", func(t *testing.T) {
		t.Parallel()
		db := world(t)
		s := start(t, db, everyPlanWaits())
		secret := s.secret()
		require.GreaterOrEqual(t, len(secret), 32)
		p := s.preview("delete_rows", writers()[0].write.args(1))
		for _, r := range matrix {
			got := s.call(r.tool, r.sound())
			noSecret(t, r.tool, string(got.text), append(s.secrets, secret)...)
		}
		for _, path := range []string{"/", "/api/plans?all=1", "/api/history", "/plans/" + p.Token, "/api/plans/" + p.Token, "/static/app.js"} {
			noSecret(t, path, string(s.get(path).body), append(s.secrets, secret)...)
		}
		noSecret(t, "the audit table", fmt.Sprint(db.Query(t, "SELECT l::text FROM mcp_audit.log l")), append(s.secrets, secret)...)
		noSecret(t, "the activity of the database", fmt.Sprint(db.Query(t, "SELECT a::text FROM pg_stat_activity a")), append(s.secrets, secret)...)
		if runtime.GOOS == "linux" {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid))
			require.NoError(t, err)
			noSecret(t, "the arguments", string(line), append(s.secrets, secret)...)
		}
		// A token of the deployment's own is not printed at all but in the one line.
		own := start(t, db, options{config: map[string]any{"approvalServer": map[string]any{"authToken": "a-token-of-the-deployment"}}})
		require.Equal(t, "a-token-of-the-deployment", own.secret())
	})
}

func noSecret(t testing.TB, where, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if s != "" {
			require.NotContains(t, text, s, where)
		}
	}
}

// S21: waiting calls are bounded, and while they wait everybody else is answered.
func TestS21WaitingIsBounded(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, everyPlanWaits())
	p := s.preview("delete_rows", writers()[0].write.args(1))
	calls := make([]*pending, 100)
	for i := range calls {
		calls[i] = s.begin("execute_plan", p.echo())
	}
	answered := func() (n int) {
		for _, c := range calls {
			if c.answered() {
				n++
			}
		}
		return n
	}
	eventually(t, "all but 8 calls are answered", func() bool { return answered() >= 92 })
	s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
	s.execute(func() preview {
		q := s.preview("delete_rows", writers()[0].write.args(2))
		s.approve(q.Token)
		return q
	}())
	require.Equal(t, 92, answered(), "exactly 8 wait")
	s.approve(p.Token)
	won := 0
	for _, c := range calls {
		r := c.reply()
		if !r.isError {
			won++
			continue
		}
		r.refused(t, refusal.TooManyWaiting, refusal.UsedToken, refusal.AlreadyExecuting)
	}
	require.Equal(t, 1, won)
	require.Equal(t, 1, executedRows(t, db, p.Token))
}

// S21: so many plans, and no more.
func TestS21OpenPlansAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 3}}})
	w := writers()[0].write
	for n := 1; n <= 3; n++ {
		s.preview("delete_rows", w.args(n))
	}
	s.call("delete_rows", w.args(4)).refused(t, refusal.TooManyPlans)
	s.preview("delete_rows", w.args(3)) // the same again joins its plan
}

// S21: a query with far more rows than may be returned costs no memory.
func TestS21ABigQueryIsFlat(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("reads the peak of memory from /proc")
	}
	s := start(t, world(t), options{config: map[string]any{"query": map[string]any{"statementTimeoutMs": 60000}}})
	s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
	before := peak(t, s)
	for _, sql := range []string{
		"SELECT g, repeat('x', 1000) FROM generate_series(1, 500000) g",
		"SELECT g, repeat('x', 1000000) FROM generate_series(1, 500) g",
	} {
		var got struct {
			Rows      []json.RawMessage `json:"rows"`
			Truncated bool              `json:"truncated"`
		}
		r := s.call("query", args{"statement": sql, "reason": "t"})
		r.ok(t, &got)
		require.True(t, got.Truncated)
		require.NotEmpty(t, got.Rows)
		require.Less(t, len(r.text), 3<<20)
	}
	// All of it would be 500 MB; the race detector multiplies what there is.
	require.Less(t, peak(t, s)-before, 200<<10, "kB more than before")
}

// peak is the most memory the process ever had, in kB.
func peak(t testing.TB, s *server) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err)
			return kb
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// S22: a mistake in the configuration refuses the start and names what is wrong.
func TestS22LoudAboutMistakes(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	for _, c := range []struct {
		name  string
		file  string
		env   map[string]string
		names string
	}{
		{name: "misspelt", file: `{"write": {"hardMaxRow": 5}}`, names: "write.hardMaxRow"},
		{name: "misspelt section", file: `{"wrte": {}}`, names: "wrte"},
		{name: "other letters", file: `{"write": {"hardmaxrows": 5}}`, names: "write.hardmaxrows"},
		{name: "a string for a number", file: `{"write": {"hardMaxRows": "5"}}`, names: "write.hardMaxRows"},
		{name: "a string for a boolean", file: `{"approvalServer": {"requireAuth": "false"}}`, names: "approvalServer.requireAuth"},
		{name: "null", file: `{"audit": {"required": null}}`, names: "audit.required"},
		{name: "twice", file: `{"write": {"planTtlMs": 5, "planTtlMs": 50}}`, names: "planTtlMs"},
		{name: "negative", file: `{"write": {"planTtlMs": -1}}`, names: "write.planTtlMs"},
		{name: "a fraction", file: `{"write": {"hardMaxRows": 10.5}}`, names: "write.hardMaxRows"},
		{name: "impossible together", file: `{"write": {"hardMaxRows": 5, "approvalRequiredAboveRows": 6}}`, names: "write.hardMaxRows"},
		{name: "the audit table writable", file: `{"allowlist": {"write": {"tables": ["mcp_audit.log"]}}}`, names: "allowlist.write"},
		{name: "the audit schema writable", file: `{"allowlist": {"write": {"schemas": ["mcp_audit"]}}}`, names: "allowlist.write"},
		{name: "the catalog writable", file: `{"allowlist": {"write": {"schemas": ["pg_catalog"]}}}`, names: "allowlist.write"},
		{name: "not a name", file: `{"allowlist": {"write": {"tables": ["a.b.c.d"]}}}`, names: "allowlist.write"},
		{name: "trailing text", file: `{} {}`, names: "config.json"},
		{name: "a list", file: `[]`, names: "config.json"},
		{name: "an unknown word", file: `{"approvalServer": {"openBrowser": "perhaps"}}`, names: "approvalServer.openBrowser"},
		{name: "a mask of no column", file: `{"mask": [{"column": "a.b", "as": "null"}]}`, names: "mask[0].column"},
		{name: "a variable that is no number", file: `{}`, env: map[string]string{"SW_HARD_MAX_ROWS": "abc"}, names: "SW_HARD_MAX_ROWS"},
		{name: "a variable out of range", file: `{}`, env: map[string]string{"SW_PLAN_TTL_MS": "-5"}, names: "write.planTtlMs"},
		{name: "a variable that is no boolean", file: `{}`, env: map[string]string{"SW_AUDIT_REQUIRED": "maybe"}, names: "SW_AUDIT_REQUIRED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{nil, {"serve"}, {"check-config"}} {
				r := runToEnd(t, db, options{rawConfig: &c.file, env: c.env, args: args})
				require.Equal(t, 2, r.code, "%v: %s %s", args, r.stdout, r.stderr)
				require.Contains(t, r.stdout+r.stderr, c.names)
				if len(args) == 0 || args[0] == "serve" {
					require.Empty(t, r.stdout)
				}
			}
		})
	}
	t.Run("no connection string", func(t *testing.T) {
		t.Parallel()
		empty := "{}"
		for _, o := range []options{{rawConfig: &empty, readonly: "-"}, {rawConfig: &empty, writer: "-"}} {
			r := runToEnd(t, db, o)
			require.Equal(t, 2, r.code, "%s", r.stderr)
			require.Contains(t, r.stderr, "ConnectionString")
			require.Contains(t, r.stderr, "DATABASE_URL_")
		}
	})
	t.Run("a role that must not be used", func(t *testing.T) {
		t.Parallel()
		for _, attribute := range []string{"SUPERUSER", "BYPASSRLS", "IN ROLE pg_write_all_data", "IN ROLE pg_execute_server_program"} {
			_, dsn := db.Role(t, attribute)
			for _, o := range []options{{readonly: dsn}, {writer: dsn}} {
				s := start(t, db, func() options { o.silent = true; return o }())
				s.anyExit = true
				s.awaitEnd(patience)
				require.Equal(t, 2, s.exit, "%s: %s", attribute, s.log())
				s.secretsStayIn("", s.log())
			}
		}
		s := start(t, db, options{readonly: db.Writer, silent: true})
		s.anyExit = true
		s.awaitEnd(patience)
		require.Equal(t, 2, s.exit, "the same role twice: %s", s.log())
	})
	t.Run("no file is an empty write allowlist", func(t *testing.T) {
		t.Parallel()
		db := world(t)
		s := start(t, db, options{noConfig: true, env: map[string]string{"SW_APPROVAL_SERVER_PORT": "0", "SW_APPROVAL_SERVER_OPEN_BROWSER": "never"}})
		for _, r := range writers() {
			require.True(t, s.call(r.tool, r.sound()).isError, r.tool)
		}
		require.Contains(t, strings.ToLower(s.log()), "no configuration file")
		s.call("query", args{"statement": "SELECT count(*) FROM app.item", "reason": "t"}).ok(t, nil)
	})
}
