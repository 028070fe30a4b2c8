package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cast by way of a value's text (WITH INOUT) runs no function that could be looked for: it works on a masked
// value like any other, also as (row).type and where nobody wrote it, and what it complains of holds the value.
func TestMaskedColumnsAreNotCast(t *testing.T) {
	t.Parallel()
	db := maskWorld(t)
	for _, text := range []string{
		"SELECT encode(u.bytea, 'escape') FROM app.users u WHERE id = 1", "SELECT encode(u, 'escape') FROM app.users u WHERE id = 1",
		"SELECT u.xml FROM app.users u WHERE id = 1", "SELECT encode(two::bytea, 'escape') FROM app.pairs WHERE id = 1", "SELECT encode(p.bytea, 'escape') FROM app.people p",
	} {
		got := strings.ToLower(fmt.Sprint(db.Query(t, text)))
		require.True(t, slices.ContainsFunc(maskSecrets, func(secret string) bool { return strings.Contains(got, secret) }), "%s is an attack: %s", text, got)
	}
	db.Exec(t, "CREATE CAST (json AS int4) WITH INOUT AS IMPLICIT")
	s := start(t, db, maskConfig(map[string]any{"audit": map[string]any{"reads": true}}))
	for _, param := range []any{"5", 5, "(x,1)", "x", nil} {
		for _, text := range []string{"SELECT id FROM app.pairs WHERE two = $1", "SELECT id, $1 = two AS same FROM app.pairs", "SELECT two FROM app.pairs WHERE two = $1 OR id = 1"} {
			s.call("query", map[string]any{"statement": text, "params": []any{param}, "reason": "a test"})
		}
		s.call("delete_rows", map[string]any{"table": "app.pairs", "where": "two = $1", "params": []any{param}, "reason": "a test"})
		s.call("update_rows", map[string]any{"table": "app.pairs", "set": map[string]any{"two": param}, "where": "id = 1", "reason": "a test"})
		s.call("insert_rows", map[string]any{"table": "app.pairs", "columns": []string{"id", "two"}, "rows": [][]any{{9, param}}, "reason": "a test"})
	}
	// json has no = of its own: that of integers is taken, by the cast.
	r := s.call("query", map[string]any{"statement": "SELECT id FROM app.letters WHERE body = $1", "params": []any{"5"}, "reason": "a test"})
	require.Contains(t, r.message, `invalid input syntax for type integer: "…"`, r.text)
	r = s.call("delete_rows", map[string]any{"table": "app.letters", "where": "body = $1", "params": []any{"5"}, "reason": "a test"})
	require.Contains(t, r.message, `invalid input syntax for type integer: "…"`, r.text)
	var a struct {
		Rows []map[string]any `json:"rows"`
	}
	s.call("query", map[string]any{"statement": "SELECT two FROM app.pairs ORDER BY id", "reason": "a test"}).ok(t, &a)
	require.Regexp(t, `^hash:[0-9a-f]{16}$`, a.Rows[0]["two"])
	require.Nil(t, a.Rows[1]["two"])
	for _, set := range []map[string]any{
		{"table": "app.pairs", "set_expressions": map[string]any{"id": "two"}},
		{"table": "app.pairs", "set_expressions": map[string]any{"id": "pairs.two::int"}},
		{"table": "app.pairs", "set_expressions": map[string]any{"id": "(SELECT p.two FROM app.pairs p LIMIT 1)"}},
		{"table": "app.users", "set_expressions": map[string]any{"name": "encode(users, 'escape')"}},
		{"table": "app.users", "set_expressions": map[string]any{"name": "users.bytea::text"}},
		{"table": "app.users", "set_expressions": map[string]any{"name": "users.xml"}},
		{"table": "app.users", "set_expressions": map[string]any{"name": "(email::pair).a"}},
	} {
		set["where"], set["reason"], set["set"] = "id = 1", "a test", map[string]any{}
		r := s.call("update_rows", set)
		require.Equal(t, "MASKED_COLUMN", r.code, "%v: %s", set, r.text)
	}
	nothingMasked(t, s)
}
