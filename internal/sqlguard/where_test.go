package sqlguard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// lines reads a corpus file: one case per line, # starts a comment.
func lines(t testing.TB, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "# ") {
			out = append(out, s.Text())
		}
	}
	return out
}

// paramsFor gives as many values as the highest $n of a text, as far as there are ten.
func paramsFor(text string) []json.RawMessage {
	n := 0
	if tokens, err := pg.Scan(text); err == nil {
		for _, token := range tokens.Tokens {
			var number int
			if token.Token == pg.Token_PARAM && int(token.End) <= len(text) {
				_, _ = fmt.Sscanf(text[token.Start:token.End], "$%d", &number)
			}
			n = max(n, min(number, 10))
		}
	}
	out := make([]json.RawMessage, n)
	for i := range out {
		out[i] = json.RawMessage(fmt.Sprintf(`"v%d"`, i+1))
	}
	return out
}

func requireCode(t *testing.T, code refusal.Code, err error) {
	t.Helper()
	require.Error(t, err)
	r, ok := refusal.As(err)
	require.True(t, ok, "not a refusal: %v", err)
	require.Equal(t, code, r.Code, r.Message)
	require.NotEmpty(t, r.Hint, "%s has no hint", r.Message)
}

func TestWhereAcceptedUnchanged(t *testing.T) {
	t.Parallel()
	cat, seen := newFake(), map[string]bool{}
	all := lines(t, "testdata/where/accept.txt")
	require.GreaterOrEqual(t, len(all), 500)
	for _, where := range all {
		require.False(t, seen[where], "%s is there twice", where)
		seen[where] = true
		params := paramsFor(where)
		d, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where, Params: params})
		require.NoError(t, err, "%s", where)
		require.Equal(t, where, d.Where())
		require.Equal(t, "DELETE FROM public.customers WHERE "+where, d.SQL())
		require.Equal(t, len(params), d.WhereParams())

		u, err := openGuard().Update(context.Background(), cat, UpdateSpec{
			Table: "customers", Where: where, Params: params,
			Set: []SetValue{{Column: "name", Value: json.RawMessage(`"x"`)}},
		})
		require.NoError(t, err, "%s", where)
		require.Equal(t, fmt.Sprintf("UPDATE public.customers SET name = $%d WHERE %s", len(params)+1, where), u.SQL())
	}
}

func TestWhereRefused(t *testing.T) {
	t.Parallel()
	cat, attacks, seen := newFake(), 0, map[string]bool{}
	for _, line := range lines(t, "testdata/where/refuse.txt") {
		code, where, ok := strings.Cut(line, "\t")
		require.True(t, ok, line)
		require.False(t, seen[line], "%s is there twice", line)
		seen[line] = true
		if code != string(refusal.NoWhereClause) {
			attacks++
		}
		where = strings.ReplaceAll(where, `\n`, "\n")
		d, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where})
		require.Error(t, err, "%s became %v", where, d)
		t.Run(where, func(t *testing.T) { requireCode(t, refusal.Code(code), err) })
		_, err = openGuard().Update(context.Background(), cat, UpdateSpec{
			Table: "customers", Where: where, Set: []SetValue{{Column: "name", Value: json.RawMessage(`"x"`)}},
		})
		require.Error(t, err, where)
	}
	require.GreaterOrEqual(t, attacks, 100)
}

func TestWhereLosesCommentsAndLineBreaksOnly(t *testing.T) {
	t.Parallel()
	cat := newFake()
	for given, want := range map[string]string{
		"id = 1 -- the first":                      "id = 1",
		"\tid\n=\r\n  1 ":                          "id = 1",
		"id /* a */ = /* b /* nested */ */ 1":      "id = 1",
		"id=/**/1":                                 "id= 1",
		"name = 'a\nb'":                            "name = 'a\nb'",
		"name = 'a -- b' -- c":                     "name = 'a -- b'",
		"name = $$a /* b */$$":                     "name = $$a /* b */$$",
		"name = 'x'/* */AND/* */email IS NULL--":   "name = 'x' AND email IS NULL",
		`"odd /* name */" = 1 or "a--b" = 2 --end`: `"odd /* name */" = 1 or "a--b" = 2`,
		"id = 5/*-*/-1":                            "id = 5 -1",
	} {
		d, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: given})
		require.NoError(t, err, given)
		require.Equal(t, want, d.Where())
	}
}
