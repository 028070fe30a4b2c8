package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// attempt is a call of a tool, with what it must answer: a status of a preview or a code.
type attempt struct {
	name string
	tool string
	args args
	want string
}

// previews is every kind of preview: that fits, that waits, that is refused before, at and behind
// every step of it, rows and definitions.
func previews() []attempt {
	return []attempt{
		{"delete", "delete_rows", args{"table": "app.parent", "where": "id <= 5", "reason": "t"}, "previewed"},
		{"delete cascades", "delete_rows", args{"table": "app.parent", "where": "id <= 90", "reason": "t"}, "awaiting_approval"},
		{"delete everything", "delete_rows", args{"table": "app.child", "confirm_full_table": true, "reason": "t"}, "awaiting_approval"},
		{"delete nothing", "delete_rows", args{"table": "app.item", "where": "id = -1", "reason": "t"}, "previewed"},
		{"delete with a trigger", "delete_rows", args{"table": "app.audited", "where": "id < 10", "reason": "t"}, "previewed"},
		{"delete above the cap", "delete_rows", args{"table": "app.child", "where": "v > 0", "reason": "t"}, "HARD_MAX_ROWS_EXCEEDED"},
		{"delete without where", "delete_rows", args{"table": "app.child", "reason": "t"}, "NO_WHERE_CLAUSE"},
		{"delete from a view", "delete_rows", args{"table": "app.parents", "where": "id <= 3", "reason": "t"}, "previewed"},
		{"delete divides by zero", "delete_rows", args{"table": "app.item", "where": "1 / (id - 1) > 0", "reason": "t"}, "WRITE_FAILED"},
		{"delete with a volatile function", "delete_rows", args{"table": "app.item", "where": "id = 3 AND app.boom() = 1", "reason": "t"}, "awaiting_approval"},
		{"delete with a volatile function that lies", "delete_rows", args{"table": "app.item", "where": "id = 3 AND app.quiet_boom() = 1", "reason": "t"}, ""},
		{"delete takes too long", "delete_rows", args{"table": "app.item", "where": "pg_sleep(5) IS NOT NULL", "reason": "t"}, "STATEMENT_TIMEOUT"},
		{"delete elsewhere", "delete_rows", args{"table": "secret.hidden", "where": "id = 1", "reason": "t"}, "TABLE_NOT_WRITABLE"},
		{"update", "update_rows", args{"table": "app.parent", "set": args{"note": "new"}, "where": "grp = $1", "params": []any{3}, "reason": "t"}, "previewed"},
		{"update an expression", "update_rows", args{"table": "app.parent", "set": args{}, "set_expressions": args{"price": "price * 1.05"}, "where": "id < 200", "reason": "t"}, "awaiting_approval"},
		{"update the key", "update_rows", args{"table": "app.child", "set": args{}, "set_expressions": args{"id": "id + 100000"}, "where": "v < 20", "reason": "t"}, "previewed"},
		{"update breaks a check", "update_rows", args{"table": "app.item", "set": args{"qty": -1}, "where": "id = 1", "reason": "t"}, "WRITE_FAILED"},
		{"update breaks a foreign key", "update_rows", args{"table": "app.child", "set": args{"parent_id": 999999}, "where": "id = 1", "reason": "t"}, "WRITE_FAILED"},
		{"update with a trigger", "update_rows", args{"table": "app.audited", "set": args{"v": 7}, "where": "id < 10", "reason": "t"}, "previewed"},
		{"update a wrong type", "update_rows", args{"table": "app.item", "set": args{"qty": "many"}, "where": "id = 1", "reason": "t"}, ""},
		{"insert", "insert_rows", args{"table": "app.item", "columns": []any{"name", "doc"}, "rows": []any{[]any{"a", args{"x": 1}}, []any{"b", nil}}, "reason": "t"}, "previewed"},
		{"insert a duplicate", "insert_rows", args{"table": "app.parent", "columns": []any{"id", "name"}, "rows": []any{[]any{1, "a"}}, "reason": "t"}, "WRITE_FAILED"},
		{"insert what only fails at commit", "insert_rows", args{"table": "app.late", "columns": []any{"id", "parent_id"}, "rows": []any{[]any{1, 999999}}, "reason": "t"}, "WRITE_FAILED"},
		{"insert what a deferred trigger multiplies", "insert_rows", args{"table": "app.lazy", "columns": []any{"id"}, "rows": []any{[]any{1}}, "reason": "t"}, "awaiting_approval"},
		{"insert with notices", "insert_rows", args{"table": "app.noisy", "columns": []any{"id"}, "rows": []any{[]any{3}}, "reason": "t"}, "previewed"},
		{"create a table", "run_migration", args{"statement": "CREATE TABLE app.fresh (id bigint PRIMARY KEY, at timestamptz DEFAULT now())", "reason": "t"}, "awaiting_approval"},
		{"add a column", "run_migration", args{"statement": "ALTER TABLE app.parent ADD COLUMN extra text DEFAULT 'x' NOT NULL", "reason": "t"}, "awaiting_approval"},
		{"drop a column", "run_migration", args{"statement": "ALTER TABLE app.parent DROP COLUMN price", "reason": "t"}, "awaiting_approval"},
		{"rewrite a table", "run_migration", args{"statement": "ALTER TABLE app.child ALTER COLUMN v TYPE bigint", "reason": "t"}, "awaiting_approval"},
		{"create an index", "run_migration", args{"statement": "CREATE INDEX parent_name ON app.parent (name)", "reason": "t"}, "awaiting_approval"},
		{"drop a table", "run_migration", args{"statement": "DROP TABLE app.child", "reason": "t"}, "awaiting_approval"},
		{"drop what others need", "run_migration", args{"statement": "DROP TABLE app.parent", "reason": "t"}, "WRITE_FAILED"},
		{"a migration that fails", "run_migration", args{"statement": "ALTER TABLE app.parent ADD CONSTRAINT few CHECK (id < 10)", "reason": "t"}, "WRITE_FAILED"},
		{"a migration elsewhere", "run_migration", args{"statement": "DROP TABLE secret.hidden", "reason": "t"}, "TABLE_NOT_WRITABLE"},
		{"read", "query", args{"statement": "SELECT * FROM app.parent", "reason": "t"}, ""},
		{"explain", "explain_plan", args{"statement": "SELECT * FROM app.parent", "reason": "t"}, ""},
		{"describe", "describe_schema", args{}, ""},
	}
}

// S01: a preview leaves no trace in data, definitions and grants; nor does anything that fails, and
// nor do the tools that read. The positions of sequences are the documented exception.
func TestS01PreviewLeavesNoTrace(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{
		"write": map[string]any{"hardMaxRows": 899, "statementTimeoutMs": 500, "maxOpenPlans": 1000},
	}})
	before, dumped := snapshot(t, db), dump(t, db)
	tools := map[string]bool{}
	for _, p := range previews() {
		tools[p.tool] = true
		if p.name == "delete everything" { // 900 rows are above this test's cap; one row less is not
			p.args = args{"table": "app.child", "where": "v <= 899", "reason": "t"}
		}
		r := s.call(p.tool, p.args)
		var got preview
		if !r.isError {
			r.ok(t, &got)
		}
		if p.want != "" {
			require.Equal(t, p.want, got.Status+r.code, "%s: %s %s", p.name, r.message, r.text)
		}
		require.Equal(t, before, snapshot(t, db), "%s left a trace", p.name)
		s.idle()
	}
	// A plan that ends without a yes leaves none either.
	for _, token := range s.waiting() {
		require.Equal(t, 200, s.reject(token, "no").status)
	}
	require.Equal(t, before, snapshot(t, db), "a rejection left a trace")
	require.Equal(t, dumped, dump(t, db))
	for _, r := range matrix {
		require.True(t, tools[r.tool] || r.tool == "execute_plan", "%s is not among the previews", r.tool)
	}
	// The comparison sees what it is for.
	db.Exec(t, "UPDATE app.item SET name = name WHERE id = 1")
	require.NotEqual(t, before, snapshot(t, db))
}

// A deferred trigger's rows and a volatile function's count before anyone decides (S05, by way of
// the binary; the core has the whole list).
func TestS01WhatAPreviewSawIsNamed(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{})
	for _, p := range previews() {
		switch p.name {
		case "insert what a deferred trigger multiplies":
			got := s.preview(p.tool, p.args)
			require.EqualValues(t, 1, got.Affected)
			require.EqualValues(t, 501, got.Radius.Total)
		case "delete with a volatile function":
			got := s.preview(p.tool, p.args)
			require.True(t, got.warned("SIDE_EFFECTS") || got.warned("UNSTABLE_WHERE"), "%v", got.Warnings)
		case "delete with a volatile function that lies":
			r := s.call(p.tool, p.args)
			if !r.isError {
				var got preview
				r.ok(t, &got)
				require.Equal(t, "awaiting_approval", got.Status)
				require.GreaterOrEqual(t, got.Radius.Total, int64(150), "the rows that it changed")
			} else {
				require.NotEqual(t, string(refusal.InternalError), r.code)
			}
		}
	}
}

// idle requires that no transaction of the server is open (S18), at once: the answer was given. The
// checks of a new connection may still run beside it.
func (s *server) idle() {
	s.t.Helper()
	within(s.t, patience, "no statement of the server runs", func() bool {
		active := false
		for _, b := range s.backends() {
			require.False(s.t, strings.HasPrefix(b[0], "idle in transaction"), "a transaction is open behind an answer: %s", strings.Join(b, ": "))
			active = active || b[0] != "idle"
		}
		return !active
	})
}
