package tests

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// S19: stdout carries JSON-RPC and nothing else, in every way of starting and whatever comes in.
// Every other test is held to it too, when its server is stopped.
func TestS19StdoutIsJSONRPCOnly(t *testing.T) {
	t.Parallel()
	bad := `{"write": {"hardMaxRow": 5}}`
	torn := `{"write": `
	// Starts that must fail say so on stderr.
	for name, o := range map[string]options{
		"an unknown key":     {rawConfig: &bad},
		"no JSON":            {rawConfig: &torn},
		"no such file":       {args: []string{"--config", "/nowhere/config.json"}},
		"no connection":      {readonly: "-", writer: "-"},
		"a URL that is none": {env: map[string]string{"DATABASE_URL_WRITER": "postgres://["}},
		"an unknown command": {args: []string{"no-such-command"}},
		"an unknown flag":    {args: []string{"--no-such-flag"}},
	} {
		t.Run("start with "+name, func(t *testing.T) {
			t.Parallel()
			r := runToEnd(t, world(t), o)
			require.Equal(t, 2, r.code, "%s", r.stderr)
			require.Empty(t, r.stdout)
			require.NotEmpty(t, r.stderr)
		})
	}
	// Starts that work, each with a whole conversation.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port
	for name, o := range map[string]options{
		"no configuration file": {noConfig: true, env: map[string]string{"SW_APPROVAL_SERVER_PORT": "0", "SW_APPROVAL_SERVER_OPEN_BROWSER": "never"}},
		"an empty object":       {rawConfig: new(string)},
		"the port taken":        {config: map[string]any{"approvalServer": map[string]any{"port": port}}},
		"no page":               {config: map[string]any{"approvalServer": map[string]any{"enabled": false}}},
		"every warning":         {config: map[string]any{"approvalServer": map[string]any{"requireAuth": false, "exposeRawPayload": true}, "database": map[string]any{"migrationRole": "nobody", "allowPrivilegedRoles": true}}},
		"the database down":     {readonly: "postgres://readonly:pw@127.0.0.1:1/x", writer: "postgres://writer:pw@127.0.0.1:1/x"},
		"the serve command":     {args: []string{"serve"}},
	} {
		if o.rawConfig != nil {
			text := "{}"
			o.rawConfig = &text
			o.env = map[string]string{"SW_APPROVAL_SERVER_PORT": "0", "SW_APPROVAL_SERVER_OPEN_BROWSER": "never"}
		}
		t.Run("start with "+name, func(t *testing.T) {
			t.Parallel()
			s := start(t, world(t), o)
			require.Nil(t, s.request("tools/list", args{}).wait().Error)
			for _, r := range matrix {
				s.call(r.tool, r.sound())
			}
			if name == "the port taken" {
				require.NotEqual(t, fmt.Sprint(port), s.pageURL().Port())
				require.Contains(t, s.log(), "taken")
				p := s.preview("run_migration", args{"statement": "CREATE TABLE app.made_1 (id integer)", "reason": "t"})
				require.Contains(t, p.ApprovalURL, s.pageURL().Host)
				s.approve(p.Token)
			}
			if name == "no page" {
				r := s.call("run_migration", args{"statement": "CREATE TABLE app.made_1 (id integer)", "reason": "t"})
				r.refused(t, refusal.ApprovalUnavailable)
			}
		})
	}
	t.Run("notices of the server", func(t *testing.T) {
		t.Parallel()
		db := world(t)
		s := start(t, db, options{})
		s.execute(s.preview("insert_rows", args{"table": "app.noisy", "columns": []any{"id"}, "rows": []any{[]any{5}}, "reason": "t"}))
		s.execute(s.preview("delete_rows", args{"table": "app.noisy", "where": "id = 5", "reason": "t"}))
		p := s.preview("run_migration", args{"statement": "CREATE TABLE IF NOT EXISTS app.item (id integer)", "reason": "t"})
		s.approve(p.Token)
		s.execute(p)
	})
	t.Run("what a client may send", func(t *testing.T) {
		t.Parallel()
		s := start(t, world(t), options{})
		for _, line := range []string{
			"", " ", "\t", "x", "{", "}", "[]", "[1,2]", "42", "null", "true", `"text"`, "{}", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":"a"}`,
			`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":"b","method":42}`, `{"jsonrpc":"2.0","id":"c","method":"no/such/method"}`, `{"jsonrpc":"2.0","id":"d","method":"tools/call"}`, `{"jsonrpc":"2.0","id":"e","method":"tools/call","params":[]}`,
			`{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":1}}`, `{"jsonrpc":"2.0","id":"g","method":"tools/call","params":{"name":"query","arguments":"x"}}`,
			`{"jsonrpc":"2.0","id":"h","result":{}}`, `{"jsonrpc":"2.0","id":"i","error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99999}}`, `[{"jsonrpc":"2.0","id":"j","method":"ping"}]`, "\xff\xfe", "\x00", "\ufeff{}", strings.Repeat("[", 100_000), `{"a":` + strings.Repeat(`{"a":`, 20_000),
			`{"jsonrpc":"2.0","id":"k","method":"ping"}` + "\r",
		} {
			s.sendLine(line)
		}
		require.Nil(t, s.request("ping", args{}).wait().Error)
		s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
	})
	t.Run("a line of 20 MB", func(t *testing.T) {
		t.Parallel()
		s := start(t, world(t), options{})
		big := s.request("tools/call", map[string]any{"name": "query", "arguments": args{"statement": "SELECT '" + strings.Repeat("x", 20<<20) + "'", "reason": "t"}}).wait()
		require.NotNil(t, big.Error)
		require.Contains(t, big.Error.Message, "bytes")
		s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
	})
	t.Run("big answers", func(t *testing.T) {
		t.Parallel()
		s := start(t, world(t), options{})
		for _, sql := range []string{
			"SELECT repeat('x', 30000000)", "SELECT g, repeat('x', 100000) FROM generate_series(1, 50) g", `SELECT E'a\nb\r\u2028\u0001"\\' AS "x\ny"`, "SELECT 'NaN'::float8, 'Infinity'::float4, ARRAY['NaN'::float8]",
			"SELECT 1 AS a, 2 AS a, 3 AS \"\"\"\"", "SELECT",
		} {
			s.call("query", args{"statement": sql, "reason": "t"})
		}
	})
}

// A chain of 60 kB kills the parser's C code if anything hands it over unmeasured: in every
// argument of every tool it is a refusal, and the process lives.
func TestDeepExpression(t *testing.T) {
	t.Parallel()
	chain := strings.Repeat("1+", 30_000) + "1"
	deep := []string{
		chain, chain + " > 0", "SELECT " + chain, strings.Repeat("(", 30_000) + "1" + strings.Repeat(")", 30_000), "SELECT 1 WHERE " + strings.Repeat("NOT ", 20_000) + "true",
		"SELECT 1" + strings.Repeat(" UNION SELECT 1", 6_000), "CREATE TABLE app.deep (id integer DEFAULT " + chain + ")", "SELECT " + strings.Repeat("-", 1) + strings.Repeat(" - ", 20_000) + "1",
		"SELECT 1" + strings.Repeat("::int", 15_000), "x" + strings.Repeat("[1]", 20_000) + " = 1", strings.Repeat("a.", 30_000) + "a", strings.Repeat(`"`, 60_000), strings.Repeat("CASE WHEN true THEN ", 3_000) + "1" + strings.Repeat(" END", 3_000),
	}
	for _, r := range matrix {
		t.Run(r.tool, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			s := start(t, db, options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 1000}}})
			for _, p := range r.places {
				for i, text := range deep {
					got := s.call(r.tool, p.with(text))
					// Where it is a plain value or a reason it is only long.
					if p.name == "statement" && r.tool != "execute_plan" || p.name == "where" {
						require.True(t, got.isError, "%s.%s takes %d", r.tool, p.name, i)
					}
				}
			}
			s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
		})
	}
}

// A database that is down does not stop the handshake, and the calls recover by themselves.
func TestDatabaseDownAtStart(t *testing.T) {
	t.Parallel()
	db := world(t)
	proxy := newProxy(t, db)
	address := proxy.listener.Addr().String()
	o := proxy.proxied(db, options{})
	proxy.stop()
	s := start(t, db, o)
	require.Nil(t, s.request("tools/list", args{}).wait().Error)
	for _, r := range matrix {
		got := s.call(r.tool, r.sound())
		if r.tool == "execute_plan" {
			require.True(t, got.isError)
			continue
		}
		got.refused(t, refusal.DatabaseUnavailable)
	}
	proxy.listen(address)
	for _, r := range matrix {
		got := s.call(r.tool, r.sound())
		if r.tool == "execute_plan" {
			got.refused(t, refusal.UnknownToken)
			continue
		}
		got.ok(t, nil)
	}
	// And again when every connection is lost while idle.
	proxy.cutAll()
	for _, r := range matrix {
		if r.tool != "execute_plan" {
			s.call(r.tool, r.sound()).ok(t, nil)
		}
	}
	db.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sw-test-%' AND datname = current_database()")
	for _, r := range matrix {
		if r.tool != "execute_plan" {
			s.call(r.tool, r.sound()).ok(t, nil)
		}
	}
}

// Two servers on one machine: two pages, and a decision lands where its plan is.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	db := world(t)
	a, b := start(t, db, everyPlanWaits()), start(t, db, everyPlanWaits())
	require.NotEqual(t, a.pageURL().Host, b.pageURL().Host)
	require.NotEqual(t, a.secret(), b.secret())
	del := writers()[0].write.args
	pa, pb := a.preview("delete_rows", del(1)), b.preview("delete_rows", del(1))
	require.Contains(t, pa.ApprovalURL, a.pageURL().Host)
	require.Contains(t, pb.ApprovalURL, b.pageURL().Host)
	wa, wb := a.begin("execute_plan", pa.echo()), b.begin("execute_plan", pb.echo())
	require.Equal(t, http.StatusNotFound, a.post("/api/plans/"+pb.Token+"/approve", args{}).status)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, b.at("/api/plans/"+pb.Token+"/approve"), strings.NewReader("{}"))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.secret())
	require.Equal(t, http.StatusUnauthorized, do(t, req).status)
	a.call("execute_plan", pb.echo()).refused(t, refusal.UnknownToken)
	a.approve(pa.Token)
	wa.reply().ok(t, nil)
	require.Equal(t, []string{pb.Token}, b.waiting())
	require.False(t, wb.answered())
	a.finish()
	// The other one goes on; its rows are gone meanwhile.
	b.approve(pb.Token)
	wb.reply().refused(t, refusal.RowsetChanged)
	require.Equal(t, 1, executedRows(t, db, ""))
}
