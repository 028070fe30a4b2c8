package wire_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

func TestRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state string
		code  refusal.Code // "" = the fallback
		hint  string
	}{
		{"42703", "", "describe_schema"},
		{"42P01", refusal.InvalidTableName, "describe_schema"},
		{"42P18", "", "$1::text"},
		{"42883", "", "cast"},
		{"42501", "", "GRANT"},
		{"42601", "", "one statement"},
		{"25006", "", "READ ONLY"},
		{"428C9", "", "leave the column out"},
		{"22P02", "", "$1::text"},
		{"22001", "", "type"},
		{"22021", refusal.InvalidInput, "U+0000"},
		{"23505", "", "key"},
		{"23503", "", "foreign keys"},
		{"23000", "", "constraint"},
		{"40001", "", "others"},
		{"40P01", "", "others"},
		{"08P01", refusal.InvalidInput, "$1..$n"},
		{"08006", refusal.DatabaseUnavailable, "again"},
		{"57P01", refusal.DatabaseUnavailable, "again"},
		{"57P03", refusal.DatabaseUnavailable, "again"},
		{"53300", refusal.DatabaseUnavailable, "connection"},
		{"53200", "", "resource"},
		{"28000", refusal.DatabaseUnavailable, "role"},
		{"P0001", "", "trigger"},
		{"ZZZZZ", "", "message"},
	} {
		for _, fallback := range []refusal.Code{refusal.QueryFailed, refusal.ExplainFailed, refusal.WriteFailed} {
			r := wire.Refuse(&wire.ServerError{SQLState: c.state, Message: "said so"}, wire.RefuseOptions{Fallback: fallback})
			want := c.code
			if want == "" {
				want = fallback
			}
			require.Equal(t, want, r.Code, c.state)
			require.Equal(t, "said so (SQLSTATE "+c.state+")", r.Message)
			require.Contains(t, r.Hint, c.hint, c.state)
		}
	}
}

func TestRefuseTimeouts(t *testing.T) {
	t.Parallel()
	o := wire.RefuseOptions{Fallback: refusal.WriteFailed, TimeoutSetting: "write.statementTimeoutMs", LockSetting: "write.lockTimeoutMs"}
	r := wire.Refuse(&wire.ServerError{SQLState: "57014", Message: "annulation"}, o)
	require.Equal(t, refusal.StatementTimeout, r.Code)
	require.Contains(t, r.Message, "write.statementTimeoutMs")
	r = wire.Refuse(&wire.ServerError{SQLState: "55P03"}, o)
	require.Equal(t, refusal.LockTimeout, r.Code)
	require.Contains(t, r.Message, "write.lockTimeoutMs")
	o.Cancelled = true
	r = wire.Refuse(&wire.ServerError{SQLState: "57014"}, o)
	require.Equal(t, refusal.WriteFailed, r.Code)
	require.Contains(t, r.Message, "cancelled")
	require.Equal(t, refusal.QueryFailed, wire.Refuse(&wire.ServerError{SQLState: "42601"}, wire.RefuseOptions{}).Code)
}

func TestRefuseSaysLittle(t *testing.T) {
	t.Parallel()
	r := wire.Refuse(&wire.ServerError{SQLState: "42601", Message: "syntax error", Position: 7, Table: "hidden_table", Column: "c", Constraint: "k"},
		wire.RefuseOptions{Fallback: refusal.QueryFailed})
	require.Equal(t, "syntax error (SQLSTATE 42601, at character 7 of the statement)", r.Message)
	require.NotContains(t, r.Message+r.Hint, "hidden_table")

	for _, state := range []string{"58P01", "58030", "XX000", "XX001", "F0000"} {
		r = wire.Refuse(&wire.ServerError{SQLState: state, Message: `could not open file "/var/lib/postgresql/x"`}, wire.RefuseOptions{Fallback: refusal.QueryFailed})
		require.NotContains(t, r.Message, "/var", "a path of the server's host")
		require.Contains(t, r.Message, state)
	}

	r = wire.Refuse(&wire.ServerError{SQLState: "22P02", Message: "invalid: " + strings.Repeat("ä", 5000)}, wire.RefuseOptions{})
	require.Less(t, len(r.Message), 1200)
	require.True(t, utf8.ValidString(r.Message))
	r = wire.Refuse(&wire.ServerError{SQLState: "22P02", Message: "bad \xff byte"}, wire.RefuseOptions{})
	require.True(t, utf8.ValidString(r.Message))
}

func TestRefuseHidesValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    wire.ServerError
		want string
	}{
		{wire.ServerError{SQLState: "22P02", Message: `invalid input syntax for type integer: "a "quoted" secret"`}, `invalid input syntax for type integer: "…"`},
		{wire.ServerError{SQLState: "22P02", Message: `invalid input syntax for type integer: "abc"`, Position: 7}, `type integer: "abc"`},
		{wire.ServerError{SQLState: "23514", Message: `check constraint "c" of relation "t" is violated by some row`, Constraint: "c"}, "(constraint c)"},
		{wire.ServerError{SQLState: "P0001", Message: "it is secret"}, "left out"},
		{wire.ServerError{SQLState: "42P01", Message: `relation "secret" does not exist`}, `relation "…" does not exist`},
		{wire.ServerError{SQLState: "42P01", Message: `relation "typo" does not exist`, Position: 15}, `relation "typo" does not exist`},
		{wire.ServerError{SQLState: "22012", Message: "division by zero"}, "division by zero"},
	} {
		got := wire.Refuse(&c.e, wire.RefuseOptions{HideValues: true})
		require.Contains(t, got.Message, c.want)
		require.NotContains(t, got.Message, "secret")
	}
}
