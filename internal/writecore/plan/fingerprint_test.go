package plan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// The form is fixed: plans of a journal are found again by it. The value was worked out apart from
// this code, as SHA-256 over the parts with their lengths.
func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	f, err := plan.FingerprintOf(payload("DELETE FROM app.t WHERE id = $1", "1", `{"b":1,"a":[1.5e3]}`))
	require.NoError(t, err)
	require.Equal(t, plan.Fingerprint("d116e26508a0634ab1475b9a8505fc829f428ccfc4a8f94fee865488d970eb59"), f)
}

// Text cannot move from one part to the next.
func TestFingerprintKeepsPartsApart(t *testing.T) {
	t.Parallel()
	seen := map[plan.Fingerprint]plan.Payload{}
	for _, p := range []plan.Payload{
		payload("a"), payload(`a"1"`), payload("a", `"1"`), payload("a", "1"), payload("a", "1", "1"), payload("a", "11"), payload("a", "[1,1]"),
		payload("a", "[1]", "[1]"), payload("a", "null"), payload("a", `""`), payload("a", "[]"), payload("a", "{}"), payload("a", "true"),
		payload("a", "false"), payload("a", `"true"`), payload("a", "9007199254740992"), payload("a", "9007199254740993"), payload("A"), payload(""),
		payload("a", "0"), payload("a", `"9007199254740992.0"`), payload("a b"), payload("a  b"), payload("a", `"\u0000"`), payload("\x00a"),
	} {
		f, err := plan.FingerprintOf(p)
		require.NoError(t, err)
		other, clash := seen[f]
		require.False(t, clash, "%v and %v", p, other)
		seen[f] = p
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	seen := map[plan.Token]bool{}
	for range 1000 {
		token := plan.NewToken()
		require.Len(t, token, 22)
		require.False(t, seen[token])
		seen[token] = true
	}
}

// FuzzFingerprint: any change of the payload changes the fingerprint, and nothing else does. The
// oracle splits the statement's ends off itself and compares params as values.
func FuzzFingerprint(f *testing.F) {
	for _, s := range []string{"DELETE FROM t", " DELETE FROM t\n", "DELETE FROM t;", "", "\xff"} {
		for _, p := range []string{"1", "1.0", `"1"`, "9007199254740993", `"9007199254740993"`, "9007199254740992", `{"a":1,"b":2}`, `{"b":2,"a":1.0}`, "null", "x"} {
			f.Add(s, []byte(p), []byte("null"), "DELETE FROM t", []byte("1"), []byte("null"))
		}
	}
	f.Fuzz(func(t *testing.T, s1 string, a1, b1 []byte, s2 string, a2, b2 []byte) {
		var values [4][]byte
		for i, raw := range [][]byte{a1, b1, a2, b2} {
			var err error
			if values[i], err = strictjson.Canonical(strictjson.SafeNumber(raw)); err != nil {
				_, err := plan.FingerprintOf(plan.Payload{Statement: s1, Params: []json.RawMessage{raw}})
				require.True(t, refusal.Is(err, refusal.InvalidInput))
				return
			}
		}
		equal := strings.Trim(s1, " \t\n\v\f\r") == strings.Trim(s2, " \t\n\v\f\r") &&
			bytes.Equal(values[0], values[2]) && bytes.Equal(values[1], values[3])
		f1, err := plan.FingerprintOf(plan.Payload{Statement: s1, Params: []json.RawMessage{a1, b1}})
		require.NoError(t, err)
		f2, err := plan.FingerprintOf(plan.Payload{Statement: s2, Params: []json.RawMessage{a2, b2}})
		require.NoError(t, err)
		require.Equal(t, equal, f1 == f2)
		f3, err := plan.FingerprintOf(plan.Payload{Statement: s1, Params: []json.RawMessage{a1}})
		require.NoError(t, err)
		require.NotEqual(t, f1, f3)
	})
}
