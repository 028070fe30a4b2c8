package audit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
)

// TestRedactKeepsNoValue: shapes only, whatever the value (S15).
func TestRedactKeepsNoValue(t *testing.T) {
	t.Parallel()
	params := []json.RawMessage{
		json.RawMessage(`"S3cr3t-ß"`), json.RawMessage(`42`), json.RawMessage(`true`), json.RawMessage(`null`),
		json.RawMessage(`[1,"S3cr3t"]`), json.RawMessage(` {"S3cr3t": 1}`), nil,
	}
	got := string(audit.Redact(params))
	require.JSONEq(t, `[{"type":"string","length":8},{"type":"number"},{"type":"boolean"},{"type":"null"},
		{"type":"array","length":2},{"type":"object","length":1},{"type":"null"}]`, got)
	require.NotContains(t, got, "S3cr3t")
	require.NotContains(t, got, "42")
	require.Equal(t, "[]", string(audit.Redact(nil)))
}

// TestStorable: no text can switch the record off (S15).
func TestStorable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, encoding, want string }{
		{"plain", "UTF8", "plain"},
		{"a\x00b", "UTF8", `a\u{0}b`},
		{"naïve €", "UTF8", "naïve €"},
		{"naïve €", "LATIN1", `na\u{EF}ve \u{20AC}`},
		{"bad \xff utf-8", "UTF8", "bad \uFFFD utf-8"},
	} {
		require.Equal(t, c.want, audit.Storable(c.in, 1000, c.encoding))
	}
	long := audit.Storable(strings.Repeat("é", 1<<20), 1000, "UTF8")
	require.Less(t, len(long), 1100)
	require.True(t, utf8.ValidString(long))
	require.Contains(t, long, "2097152 bytes in all")
}

// TestStepIsOneInsert: every column of the contract is written, and no parameter's value.
func TestStepIsOneInsert(t *testing.T) {
	t.Parallel()
	n := int64(8)
	s := audit.Event{
		Tool: "delete_rows", Reason: "why", Statement: "DELETE FROM t WHERE a = $1", Params: []json.RawMessage{json.RawMessage(`"S3cr3t"`)},
		PreviewRows: &n, PlanToken: "tok", Status: audit.Executed, CallerID: "me", BlastRadius: json.RawMessage(`{"total_rows":8}`),
	}.Step("UTF8")
	require.Equal(t, 13, len(s.Params))
	require.Equal(t, 1, strings.Count(s.SQL, "INSERT INTO"))
	for i, p := range s.Params {
		require.NotContains(t, string(p), "S3cr3t", "parameter %d", i)
	}
	require.Nil(t, s.Params[5], "no actual rows is NULL")
	require.Nil(t, s.Params[12], "no error code is NULL")
}
