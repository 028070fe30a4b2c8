package sqlguard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// What a preview builds is built again from its own text and params: the same bytes, the same params,
// the same judgement.
func TestAgainIsTheSameStatement(t *testing.T) {
	t.Parallel()
	cat := newFake()
	g := openGuard()
	ctx := context.Background()
	same := func(s *Statement, err error) {
		t.Helper()
		require.NoError(t, err)
		again, err := g.Again(ctx, cat, s.SQL(), s.Params())
		require.NoError(t, err, "%s", s.SQL())
		require.Equal(t, s, again, "%s", s.SQL())
	}
	for i, where := range lines(t, "testdata/where/accept.txt") {
		params := paramsFor(where)
		same(g.Delete(ctx, cat, DeleteSpec{Table: "customers", Where: where, Params: params}))
		if i%5 != 0 {
			continue // an UPDATE's condition is taken apart by the same function
		}
		for _, spec := range []UpdateSpec{
			{Set: []SetValue{{"name", json.RawMessage(`"x"`)}}},
			{Set: []SetValue{{"name", json.RawMessage(`"$1, email = 2 WHERE"`)}, {"email", json.RawMessage(`null`)}}},
			{SetExpressions: []SetExpr{{"name", "upper(name)"}, {"email", "CASE WHEN id = 1 THEN 'a, b = c' ELSE (SELECT 'x' WHERE 1 = 2) END"}}},
			{Set: []SetValue{{"email", json.RawMessage(`9007199254740993`)}}, SetExpressions: []SetExpr{{"name", "DEFAULT"}}},
			{SetExpressions: []SetExpr{{"name", "(ARRAY['a', 'b'])[1]"}}, Set: []SetValue{{"email", json.RawMessage(`[1,"a"]`)}}},
		} {
			spec.Table, spec.Where, spec.Params = "customers", where, params
			same(g.Update(ctx, cat, spec))
		}
	}
	// A parameter of the agent's that stands alone as a SET expression is no plain value.
	for _, where := range []string{"id = $1", "id = 1"} {
		n := len(paramsFor(where))
		same(g.Update(ctx, cat, UpdateSpec{
			Table: "customers", Where: where, Params: paramsFor(fmt.Sprintf("$%d", n+1)), SetExpressions: []SetExpr{{"name", fmt.Sprintf("$%d", n+1)}},
		}))
		same(g.Update(ctx, cat, UpdateSpec{
			Table: "customers", Where: where, Params: paramsFor(fmt.Sprintf("$%d", n+1)), SetExpressions: []SetExpr{{"name", fmt.Sprintf("$%d", n+1)}},
			Set: []SetValue{{"email", json.RawMessage(`1`)}},
		}))
	}
	same(g.Delete(ctx, cat, DeleteSpec{Table: "customers", ConfirmFullTable: true}))
	same(g.Update(ctx, cat, UpdateSpec{Table: "customers", Set: []SetValue{{"name", json.RawMessage(`1`)}}, ConfirmFullTable: true}))
	same(g.Insert(ctx, cat, InsertSpec{Table: "customers", Columns: []string{"name", "email"}, Rows: [][]json.RawMessage{
		{json.RawMessage(`"a"`), json.RawMessage(`null`)}, {json.RawMessage(`{"a":1}`), json.RawMessage(`1.50`)},
	}}))
	row := []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"b"`)}
	same(g.Insert(ctx, cat, InsertSpec{Table: "customers", Columns: []string{"name", "email"}, Rows: slices.Repeat([][]json.RawMessage{row}, maxParams/2)}))
	same(g.Migration(ctx, cat, "ALTER TABLE customers ADD COLUMN note text"))
}

// What no preview writes is refused, and what is refused when it is asked for is refused again.
func TestAgainRefusesOtherText(t *testing.T) {
	t.Parallel()
	one := []json.RawMessage{json.RawMessage("1")}
	for text, params := range map[string][]json.RawMessage{
		"DELETE FROM public.customers USING public.orders WHERE true":                     nil,
		"DELETE FROM public.customers WHERE id = 1 RETURNING *":                           nil,
		"DELETE FROM ONLY public.customers WHERE id = 1":                                  nil,
		"DELETE FROM public.customers c WHERE c.id = 1":                                   nil,
		"DELETE FROM customers WHERE id = 1":                                              nil,
		"DELETE FROM public.customers WHERE id = $1":                                      nil,
		"DELETE FROM public.customers WHERE id = 1":                                       one,
		"WITH x AS (DELETE FROM public.orders) DELETE FROM public.customers WHERE id = 1": nil,
		"DELETE FROM public.customers WHERE id = 1; DELETE FROM public.orders":            nil,
		"UPDATE public.customers SET name = $1 FROM public.orders WHERE true":             one,
		"UPDATE public.customers SET (name, email) = ($1, 2)":                             one,
		"UPDATE public.customers SET name = $1 WHERE id = 1 RETURNING id":                 one,
		"UPDATE public.customers SET name = 'a' , email = 'b'":                            nil,
		"INSERT INTO public.customers (name) SELECT $1":                                   one,
		"INSERT INTO public.customers (name) VALUES ($1) ON CONFLICT DO NOTHING":          one,
		"INSERT INTO public.customers (name) VALUES ($1) RETURNING id":                    one,
		"INSERT INTO public.customers (name) VALUES ('x')":                                one,
		"INSERT INTO public.customers VALUES ($1)":                                        one,
		"INSERT INTO public.customers (name, email) VALUES ($1)":                          one,
		"INSERT INTO public.customers (name) OVERRIDING SYSTEM VALUE VALUES ($1)":         one,
		"INSERT INTO public.customers DEFAULT VALUES":                                     nil,
		"SELECT 1": nil,
		"COMMIT":   nil,
		"":         nil,
		"DELETE FROM public.customers WHERE pg_terminate_backend(1)":                            nil,
		"DELETE FROM secret.hidden WHERE id = 1":                                                nil,
		"UPDATE public.customers SET name = set_config('role', 'postgres', false) WHERE id = 1": nil,
	} {
		s, err := tightGuard().Again(context.Background(), newFake(), text, params)
		require.Error(t, err, "%s became %v", text, s)
		_, ok := refusal.As(err)
		require.True(t, ok, "%s: not a refusal: %v", text, err)
	}
}
