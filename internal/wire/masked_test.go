package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// While columns are masked, of what the server says only known sentences are shown, without what is quoted.
func TestMaskedErrors(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`duplicate key value violates unique constraint "users_pkey"`:                    `duplicate key value violates unique constraint "…"`,
		`null value in column "email" of relation "users" violates not-null constraint`:  `null value in column "…" violates not-null constraint`,
		`new row for relation "users" violates check constraint "users_check"`:           `new row for relation "…"`,
		`insert or update on table "a" violates foreign key constraint "b"`:              `insert or update on table "…"`,
		`update or delete on table "a" violates foreign key constraint "b" on table "c"`: `update or delete on table "…"`,
		`invalid input syntax for type integer: "secret"`:                                `invalid input syntax for type integer: "…"`,
		`invalid input syntax for type timestamp with time zone: "a "secret" b"`:         `invalid input syntax for type timestamp with time zone: "…"`,
		`value "99999999999" is out of range for type integer`:                           `value "…" is out of range for type integer`,
		`value too long for type character varying(5)`:                                   `value too long for type character varying(5)`,
		`division by zero`: `division by zero`,
		`could not determine data type of parameter $1`: `could not determine data type of parameter $1`,
		`permission denied for table users`:             `permission denied for table users`,
		`relation "users_idx" already exists, skipping`: `relation "…" already exists, skipping`,

		`the mail is secret`: "",
		`secret`:             "",
		`invalid input syntax for type integer: secret`:     "",
		`division by zero secret`:                           "",
		"division by zero\nsecret":                          "",
		`secret "x" secret`:                                 "",
		`invalid input syntax for type integer: "x" secret`: "",
		`value too long for type secret1`:                   "",
		`malformed array literal: "secret`:                  "",
		`Ung\u00fcltige Eingabesyntax: \u00bbsecret\u00ab`:  "",
	} {
		got := wire.MaskedSentence(message)
		require.NotContains(t, got, "secret", message)
		if want == "" {
			require.Contains(t, got, "left out", message)
		} else {
			require.Equal(t, want, got)
		}
		for _, state := range []string{"22P02", "23514", "P0001", "42501", "XX999", "00000"} {
			r := wire.Refuse(&wire.ServerError{SQLState: state, Message: message, Constraint: "secret", Table: "secret", Column: "secret"}, wire.RefuseOptions{Masks: true})
			require.NotContains(t, r.Message+r.Hint, "secret", "%s: %s", state, message)
		}
	}
	// With a place in the text it is about the agent's own words.
	at := &wire.ServerError{SQLState: "42703", Message: `column "secret" does not exist`, Position: 8}
	require.Equal(t, at, wire.Masked(at))
	require.Nil(t, wire.Masked(nil))
	require.True(t, strings.HasPrefix(wire.Masked(&wire.ServerError{SQLState: "P0001", Message: "x"}).Message, "What the server says"))
}
