package sqlguard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

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

// paramsFor gives as many values as the highest $n of a text.
func paramsFor(text string) []json.RawMessage {
	n := 0
	for i := 1; i < 10; i++ {
		if strings.Contains(text, fmt.Sprintf("$%d", i)) && !strings.Contains(text, fmt.Sprintf("'$%d'", i)) {
			n = i
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
	cat := newFake()
	for _, where := range lines(t, "testdata/where/accept.txt") {
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
	cat := newFake()
	for _, line := range lines(t, "testdata/where/refuse.txt") {
		code, where, ok := strings.Cut(line, "\t")
		require.True(t, ok, line)
		where = strings.ReplaceAll(where, `\n`, "\n")
		d, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where})
		require.Error(t, err, "%s became %v", where, d)
		t.Run(where, func(t *testing.T) { requireCode(t, refusal.Code(code), err) })
		_, err = openGuard().Update(context.Background(), cat, UpdateSpec{
			Table: "customers", Where: where, Set: []SetValue{{Column: "name", Value: json.RawMessage(`"x"`)}},
		})
		require.Error(t, err, where)
	}
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

func TestConstantTrue(t *testing.T) {
	t.Parallel()
	cat := newFake()
	raw := func(vs ...string) (out []json.RawMessage) {
		for _, v := range vs {
			out = append(out, json.RawMessage(v))
		}
		return out
	}
	always := map[string][]json.RawMessage{
		"true": nil, "TRUE": nil, "(true)": nil, "((true))": nil, "'t'": nil, "'true'::bool": nil, "'yes'": nil, "1::bool": nil,
		"not false": nil, "not not true": nil, "1=1": nil, "1 = 1.0": nil, "1 < 2": nil, "2 >= 2": nil, "1 <> 2": nil, "'a'='a'": nil,
		"'a' <> 'b'": nil, "1 + 1 = 2": nil, "-1 < 0": nil, "true or id = 5": nil, "id = 5 or 1=1": nil, "true and true": nil,
		"id = id": nil, "customers.id = id": nil, "public.customers.id = public.customers.id": nil, "id >= id": nil, "id <= id": nil, "not id <> id": nil,
		"id is not null": nil, "not id is null": nil, "id is not distinct from id": nil, "email is not distinct from email": nil,
		"email is null or email is not null": nil, "active or not active": nil, "not active or active": nil,
		"id > 5 or id <= 5": nil, "id = 5 or id <> 5": nil, "active is not unknown": nil, "true is true": nil, "null is null": nil,
		"null is unknown": nil, "(1=2) is false": nil, "coalesce(null, true)": nil, "case when true then true end": nil,
		"case when id = 1 then true else true end": nil, "1 in (1, 2)": nil, "id in (id)": nil, "1 not in (2, 3)": nil, "id = any(array[id])": nil,
		"1 between 0 and 2": nil, "id between id and id": nil, "name like '%'": nil, "name ilike '%%'": nil, "name ~ '.*'": nil, "id::text like '%'": nil,
		"exists (select 1)": nil, "exists (select)": nil, "(select true)": nil, "lower(name) = lower(name)": nil, "id + 1 = id + 1": nil,
		"'' = ''": nil, "true = true": nil, "true <> false": nil, "/* */ true -- x": nil, "not (1=2) and 3>2": nil,
		"$1 = $1":                      raw("5"),
		"$1":                           raw("true"),
		"$1::bool":                     raw(`"t"`),
		"$1 = 1":                       raw("1"),
		"$1 = $2":                      raw("1", "1.0"),
		"1 = 1 and $1 = $1":            raw(`"x"`),
		"$1::text is null or id = $1":  raw("null"),
		"($1 is null) or (status =$1)": raw("null"),
	}
	for where, params := range always {
		_, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where, Params: params})
		require.Error(t, err, where)
		r, _ := refusal.As(err)
		require.Equal(t, refusal.NoWhereClause, r.Code, where)
		s, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where, ConfirmFullTable: true})
		if len(params) > 0 {
			require.Error(t, err, where)
			continue
		}
		require.NoError(t, err, where)
		require.Equal(t, "DELETE FROM public.customers", s.SQL(), "never WHERE true")
		require.Empty(t, s.Where())
	}
	sometimes := map[string][]json.RawMessage{
		"false": nil, "null": nil, "1=2": nil, "1 > 2": nil, "not true": nil, "email = email": nil, "email is not null": nil, "email like '%'": nil,
		"id = tenant_id": nil, "id <> id": nil, "id > 5 or id < 5": nil, "active": nil, "not active": nil, "true and id = 1": nil, "id = 1": nil,
		"email > 'a' or email <= 'a'": nil, "random() = random()": nil, "touch(id) = touch(id)": nil, "exists (select 1 from orders)": nil,
		"exists (select 1 where false)": nil, "exists (select 1 limit 0)": nil, "'a' < 'B'": nil, "case when id = 1 then true end": nil,
		"case when id = 1 then true else false end": nil, "name like 'a%'": nil, "name not like '%'": nil, "orders.id = orders.id": nil,
		"1 not in (1, 2)": nil, "id not in (id)": nil, "row(id, email) is not null": nil, "1e400 = 1e400 and id = 1": nil,
		"'1' = '1.0'": nil, "null = null": nil, "null or id = 1": nil,
		"$1 = $1":                     raw("null"),
		"$1":                          raw("false"),
		"id = $1":                     raw("1"),
		"$1::text is null or id = $1": raw("5"),
	}
	for where, params := range sometimes {
		s, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where, Params: params})
		require.NoError(t, err, where)
		require.NotEmpty(t, s.Where(), where)
	}
}
