package tests

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// begins tells whether a frame opens a transaction, however it is written.
func begins(f frame) bool { return f.kind == 'P' && carries(f, "BEGIN") }

// said is a Parse message with another statement.
func said(f frame, sql string) []byte {
	parts := bytes.SplitN(f.body, []byte{0}, 3)
	return bytes.Join([][]byte{parts[0], []byte(sql), parts[2]}, []byte{0})
}

// Field case 43: a proxy in between that forbids BEGIN, or takes it and opens nothing. No preview is possible
// then, so there is no write either: nothing is ever changed, each call says what is wrong, and when the proxy
// lets transactions through, the same server goes on.
func TestFieldC43AProxyForbidsBegin(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(f frame, isFront bool) []byte{
		"it answers with an error": func(f frame, isFront bool) []byte {
			if isFront && begins(f) {
				return said(f, "CREATE ASSERTION no_transactions_here CHECK (true)") // 0A000, at any Postgres
			}
			return nil
		},
		"it takes it and opens nothing": func(f frame, isFront bool) []byte {
			switch {
			case isFront && begins(f):
				return said(f, "SET application_name TO DEFAULT") // a tag and no rows, as BEGIN
			case !isFront && f.tag() == "SET":
				return []byte("BEGIN\x00")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			proxy := newProxy(t, db)
			s := start(t, db, proxy.proxied(db, options{}))
			plan := s.preview("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"})
			before := snapshot(t, db)
			proxy.mu.Lock()
			proxy.alter = alter
			proxy.mu.Unlock()
			for tool, a := range map[string]args{
				"query":           {"statement": "SELECT count(*) FROM app.item", "reason": "t"},
				"explain_plan":    {"statement": "SELECT * FROM app.item", "reason": "t"},
				"describe_schema": {"table": "app.item"},
				"delete_rows":     {"table": "app.item", "where": "id = 2", "reason": "t"},
				"update_rows":     {"table": "app.item", "set": args{"name": "x"}, "where": "id = 2", "reason": "t"},
				"insert_rows":     {"table": "app.item", "columns": []string{"name"}, "rows": [][]any{{"x"}}, "reason": "t"},
				"run_migration":   {"statement": "CREATE TABLE app.never (id integer)", "reason": "t"},
				"execute_plan":    plan.echo(),
			} {
				r := s.call(tool, a)
				require.Equal(t, string(refusal.DatabaseUnavailable), r.code, tool)
				require.Contains(t, r.message, "transaction", tool)
			}
			// A function with its owner's rights, which only READ ONLY keeps from writing.
			r := s.call("query", args{"statement": "SELECT app.boom()", "reason": "t"})
			r.refused(t, refusal.DatabaseUnavailable)
			proxy.mu.Lock()
			proxy.alter = nil
			proxy.mu.Unlock()
			require.Equal(t, before, snapshot(t, db), "something was changed")
			s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
			s.execute(s.preview("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"}))
		})
	}
}

// What a client leaves out, it may also write as null: a nil map of Go is that.
func TestNullIsNoArgument(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{})
	s.call("describe_schema", nil).ok(t, nil)
	require.Equal(t, s.call("query", args{}).text, s.call("query", nil).text)
	for method, params := range map[string]any{
		"tools/list": nil, "prompts/list": nil, "resources/list": nil, "resources/templates/list": nil, "ping": nil,
		"prompts/get": args{"name": "review_migration", "arguments": nil},
	} {
		m := s.request(method, params).wait()
		if method == "prompts/get" {
			require.NotNil(t, m.Error)
			require.Contains(t, m.Error.Message, "statement")
			continue
		}
		require.Nil(t, m.Error, method)
	}
}
