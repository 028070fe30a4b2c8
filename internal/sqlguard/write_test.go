package sqlguard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

func raws(vs ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(vs))
	for i, v := range vs {
		out[i] = json.RawMessage(v)
	}
	return out
}

func TestUpdateBuilds(t *testing.T) {
	t.Parallel()
	s, err := openGuard().Update(context.Background(), newFake(), UpdateSpec{
		Table: "products", Where: "id = $1 AND name <> $2", Params: raws("7", `"x"`),
		Set:            []SetValue{{"price", json.RawMessage("9007199254740993")}, {"stock", json.RawMessage("null")}},
		SetExpressions: []SetExpr{{"note", "lower(note) -- c"}, {"name", " default "}},
	})
	require.NoError(t, err)
	require.Equal(t, "UPDATE public.products SET price = $3, stock = $4, note = lower(note), name = DEFAULT WHERE id = $1 AND name <> $2", s.SQL())
	require.Equal(t, raws("7", `"x"`, `"9007199254740993"`, "null"), s.Params())
	require.Equal(t, []string{"price", "stock", "note", "name"}, s.SetColumns())
	require.Equal(t, "id = $1 AND name <> $2", s.Where())
	require.Equal(t, 2, s.WhereParams())
	require.Equal(t, Update, s.Class())
	require.False(t, s.UnstableWhere())
	require.Equal(t, "products", s.Target().Name)

	s, err = openGuard().Update(context.Background(), newFake(), UpdateSpec{
		Table: "products", Where: "id = $1", Params: raws("7", "1.05"), SetExpressions: []SetExpr{{"price", "price * $2"}},
	})
	require.NoError(t, err)
	require.Equal(t, "UPDATE public.products SET price = price * $2 WHERE id = $1", s.SQL())
	require.Equal(t, 1, s.WhereParams())

	s, err = openGuard().Update(context.Background(), newFake(), UpdateSpec{
		Table: "products", ConfirmFullTable: true, Params: raws("2"), Set: []SetValue{{"stock", json.RawMessage("0")}}, SetExpressions: []SetExpr{{"price", "price * $1"}},
	})
	require.NoError(t, err)
	require.Equal(t, "UPDATE public.products SET stock = $2, price = price * $1", s.SQL())
	require.Equal(t, 0, s.WhereParams())
}

func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	set := func(vs ...string) (out []SetValue) {
		for _, v := range vs {
			out = append(out, SetValue{v, json.RawMessage("1")})
		}
		return out
	}
	exprs := func(vs ...string) (out []SetExpr) {
		for i := 0; i+1 < len(vs); i += 2 {
			out = append(out, SetExpr{vs[i], vs[i+1]})
		}
		return out
	}
	for name, c := range map[string]struct {
		code refusal.Code
		spec UpdateSpec
	}{
		"nothing to set":          {refusal.InvalidArguments, UpdateSpec{Where: "id = 1"}},
		"no where":                {refusal.NoWhereClause, UpdateSpec{Set: set("price")}},
		"unknown column":          {refusal.InvalidInput, UpdateSpec{Where: "id = 1", Set: set("prise")}},
		"twice":                   {refusal.InvalidArguments, UpdateSpec{Where: "id = 1", Set: set("price", "price")}},
		"twice folded":            {refusal.InvalidArguments, UpdateSpec{Where: "id = 1", Set: set("price", "PRICE")}},
		"value and expression":    {refusal.InvalidArguments, UpdateSpec{Where: "id = 1", Set: set("price"), SetExpressions: exprs("price", "1")}},
		"generated":               {refusal.InvalidInput, UpdateSpec{Where: "id = 1", Set: set("total")}},
		"identity always":         {refusal.InvalidInput, UpdateSpec{Where: "id = 1", Set: set("serial_no")}},
		"empty expression":        {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", " -- x")}},
		"second column":           {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1, stock = 0")}},
		"second column, brackets": {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1), stock = (0")}},
		"own where":               {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1 WHERE true")}},
		"own where, comment":      {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1 WHERE true --")}},
		"from":                    {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1 FROM orders")}},
		"semicolon":               {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1; DROP TABLE orders")}},
		"bare select":             {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "SELECT 1")}},
		"alias":                   {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "1 AS x")}},
		"default inside":          {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "DEFAULT + 1")}},
		"default in brackets":     {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "(DEFAULT)")}},
		"hidden table":            {refusal.TableNotAllowlisted, UpdateSpec{Where: "id = 1", SetExpressions: exprs("note", "(SELECT rolpassword FROM pg_authid LIMIT 1)")}},
		"function":                {refusal.FunctionNotAllowed, UpdateSpec{Where: "id = 1", SetExpressions: exprs("note", "pg_read_file('x')")}},
		"writes inside":           {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("note", "(WITH d AS (DELETE FROM orders RETURNING 1) SELECT 1 FROM d)")}},
		"gap in where":            {refusal.InvalidInput, UpdateSpec{Where: "id = $2", Params: raws("1", "2"), SetExpressions: exprs("price", "$1")}},
		"unused param":            {refusal.InvalidInput, UpdateSpec{Where: "id = $1", Params: raws("1", "2"), Set: set("price")}},
		"where closes":            {refusal.InvalidInput, UpdateSpec{Where: "id = 1) OR (true", Set: set("price")}},
		"reserved name":           {refusal.InvalidInput, UpdateSpec{Where: "id = 1", SetExpressions: exprs("price", "sw_m.price")}},
	} {
		c.spec.Table = "products"
		s, err := openGuard().Update(context.Background(), newFake(), c.spec)
		require.Error(t, err, "%s became %v", name, s)
		t.Run(name, func(t *testing.T) { requireCode(t, c.code, err) })
	}
}

func TestInsertBuilds(t *testing.T) {
	t.Parallel()
	s, err := openGuard().Insert(context.Background(), newFake(), InsertSpec{
		Table: "app.Product", Columns: []string{"Id", "weird col"},
		Rows: [][]json.RawMessage{raws("1", "null"), raws("-9007199254740992", `{"a":[1]}`)},
	})
	require.NoError(t, err)
	require.Equal(t, `INSERT INTO app."Product" ("Id", "weird col") VALUES ($1, $2), ($3, $4)`, s.SQL())
	require.Equal(t, raws("1", "null", `"-9007199254740992"`, `{"a":[1]}`), s.Params())
	require.Equal(t, []string{"Id", "weird col"}, s.Columns())
	require.Equal(t, 2, s.Rows())
}

func TestInsertRefuses(t *testing.T) {
	t.Parallel()
	rows := func(n, width int) (out [][]json.RawMessage) {
		for range n {
			row := make([]json.RawMessage, width)
			for i := range row {
				row[i] = json.RawMessage("1")
			}
			out = append(out, row)
		}
		return out
	}
	for name, c := range map[string]struct {
		code refusal.Code
		spec InsertSpec
	}{
		"no columns":      {refusal.InvalidArguments, InsertSpec{Rows: rows(1, 0)}},
		"no rows":         {refusal.InvalidArguments, InsertSpec{Columns: []string{"name"}}},
		"short row":       {refusal.InvalidArguments, InsertSpec{Columns: []string{"name", "price"}, Rows: rows(1, 1)}},
		"long row":        {refusal.InvalidArguments, InsertSpec{Columns: []string{"name"}, Rows: rows(2, 2)}},
		"unknown column":  {refusal.InvalidInput, InsertSpec{Columns: []string{"nam"}, Rows: rows(1, 1)}},
		"twice":           {refusal.InvalidArguments, InsertSpec{Columns: []string{"name", "name"}, Rows: rows(1, 2)}},
		"generated":       {refusal.InvalidInput, InsertSpec{Columns: []string{"total"}, Rows: rows(1, 1)}},
		"identity always": {refusal.InvalidInput, InsertSpec{Columns: []string{"serial_no"}, Rows: rows(1, 1)}},
		"too many":        {refusal.InvalidInput, InsertSpec{Columns: []string{"name", "price", "note"}, Rows: rows(21846, 3)}},
		"markup":          {refusal.InvalidInput, InsertSpec{Columns: []string{`name) SELECT 1 --`}, Rows: rows(1, 1)}},
	} {
		c.spec.Table = "products"
		s, err := openGuard().Insert(context.Background(), newFake(), c.spec)
		require.Error(t, err, "%s became %v", name, s)
		t.Run(name, func(t *testing.T) {
			requireCode(t, c.code, err)
			if name == "too many" {
				r, _ := refusal.As(err)
				require.Contains(t, r.Message, "65535")
				require.Contains(t, r.Hint, "21845")
			}
		})
	}
	s, err := openGuard().Insert(context.Background(), newFake(), InsertSpec{Table: "products", Columns: []string{"name", "price", "note"}, Rows: rows(21845, 3)})
	require.NoError(t, err)
	require.Len(t, s.Params(), 65535)
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for table, code := range map[string]refusal.Code{
		"customers": "", "public.customers": "", `"public"."customers"`: "", " PUBLIC.Customers ": "", "app.t": "",
		"app.Product": "", `app."Product"`: "", "active_customers": "",
		"mat": refusal.TableNotWritable, "ext": refusal.TableNotWritable, "ids": refusal.TableNotWritable, "idx": refusal.TableNotWritable,
		"fparts": refusal.TableNotWritable, "order_totals": refusal.TableNotWritable, "salaries_view": refusal.TableNotWritable,
		"secret.salaries": refusal.TableNotWritable, "mcp_audit.log": refusal.TableNotWritable, "pg_class": refusal.TableNotWritable,
		"pg_catalog.pg_authid": refusal.TableNotWritable, "information_schema.tables": refusal.TableNotWritable,
		"pg_toast.pg_toast_16385": refusal.TableNotWritable, "clash": refusal.TableNotWritable,
		"custmers": refusal.InvalidTableName, "": refusal.InvalidTableName, "a.b.c": refusal.InvalidTableName,
		"customers; drop table orders": refusal.InvalidTableName, "customers where true": refusal.InvalidTableName,
		"only customers": refusal.InvalidTableName, "customers*": refusal.InvalidTableName, `"customers`: refusal.InvalidTableName,
		`U&"customers"`: refusal.InvalidTableName, "public.": refusal.InvalidTableName, ".customers": refusal.InvalidTableName,
		`"public.customers"`: refusal.InvalidTableName, "customers -- x": refusal.InvalidTableName, "customers\x00": refusal.InvalidTableName,
		"sw_m": refusal.InvalidTableName, strings.Repeat("a", 64): refusal.InvalidTableName, "(select 1)": refusal.InvalidTableName,
		"customers c": refusal.InvalidTableName, "1customers": refusal.InvalidTableName, "\xff": refusal.InvalidTableName,
	} {
		_, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: table, Where: "id = 1"})
		if strings.Contains(table, "Product") {
			_, err = openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: table, Where: `"Id" = 1`})
		}
		if code == "" {
			require.NoError(t, err, table)
			continue
		}
		t.Run(table, func(t *testing.T) { requireCode(t, code, err) })
	}
	_, err := New(Policy{}).Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: "id = 1"})
	requireCode(t, refusal.TableNotWritable, err)
}

// A view must not be a way around the write allowlist: what is below it counts.
func TestViewNeedsItsTables(t *testing.T) {
	t.Parallel()
	g := New(Policy{Write: mustList(nil, []string{"public.active_customers"})})
	_, err := g.Delete(context.Background(), newFake(), DeleteSpec{Table: "active_customers", Where: "id = 1"})
	requireCode(t, refusal.TableNotWritable, err)
	g = New(Policy{Write: mustList(nil, []string{"public.active_customers", "public.customers"})})
	s, err := g.Delete(context.Background(), newFake(), DeleteSpec{Table: "active_customers", Where: "id = 1"})
	require.NoError(t, err)
	require.Equal(t, byte('v'), s.Target().Kind)
}

func TestVolatileIsReported(t *testing.T) {
	t.Parallel()
	for where, want := range map[string][]string{
		"id = 1":                               {},
		"created_at < now()":                   {},
		"random() < 0.5":                       {"pg_catalog.random"},
		"touch(id) and app.boom() is null":     {"app.boom", "public.touch"},
		"id in (select id from boom_view)":     {"app.boom"},
		"id == 1":                              {"public.eqeq"},
		"name = 'x'::weird":                    {"public.weird_from_text"},
		"customers.touch":                      {"public.touch"},
		"(select true from over_boom limit 1)": {"app.boom"},
	} {
		s, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: where})
		require.NoError(t, err, where)
		require.ElementsMatch(t, want, s.Volatile(), where)
		require.Equal(t, len(want) > 0, s.UnstableWhere(), where)
	}
	s, err := openGuard().Update(context.Background(), newFake(), UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{"name", "app.boom()"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"app.boom"}, s.Volatile())
	require.False(t, s.UnstableWhere(), "the value of a SET has no part in which rows are chosen")
	for _, where := range []string{"random() < 0.5", "id = 1 AND touch(id) IS NULL"} {
		s, err = openGuard().Update(context.Background(), newFake(), UpdateSpec{Table: "customers", Where: where, SetExpressions: []SetExpr{{"name", "upper(name)"}}})
		require.NoError(t, err)
		require.True(t, s.UnstableWhere(), where)
	}
	s, err = openGuard().Update(context.Background(), newFake(), UpdateSpec{Table: "customers", ConfirmFullTable: true, SetExpressions: []SetExpr{{"name", "app.boom()"}}})
	require.NoError(t, err)
	require.False(t, s.UnstableWhere())
}

func TestReadsElsewhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"id = 1":                      false,
		"lower(name) = 'x'":           false,
		"created_at < now()":          false,
		"random() < 0.5":              false,
		"name ~~~ 'x'":                false, // an extension's IMMUTABLE one
		"status = 'x'::mood":          false,
		"id IN (VALUES (1), (2))":     true,
		"EXISTS (SELECT FROM orders)": true,
		"id = ANY (ARRAY(SELECT order_id FROM order_items))": true,
		"title_of(id) = 'x'":     true,
		"title_of(name) IS NULL": true,
		"customers.title_of = 1": true,
		"id == 1":                true,
		"name = 'x'::weird":      true,
	} {
		s, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: text})
		require.NoError(t, err, text)
		require.Equal(t, want, s.ReadsElsewhere(), text)
		s, err = openGuard().Update(context.Background(), newFake(), UpdateSpec{Table: "customers", Where: text, Set: []SetValue{{"name", []byte(`"x"`)}}})
		require.NoError(t, err, text)
		require.Equal(t, want, s.ReadsElsewhere(), text)
		s, err = openGuard().Update(context.Background(), newFake(), UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{"active", text}}})
		require.NoError(t, err, text)
		require.Equal(t, want, s.ReadsElsewhere(), "as a value: "+text)
	}
	s, err := openGuard().Insert(context.Background(), newFake(), InsertSpec{Table: "app.t", Columns: []string{"id"}, Rows: [][]json.RawMessage{{[]byte("1")}}})
	require.NoError(t, err)
	require.False(t, s.ReadsElsewhere())
	s, err = openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", ConfirmFullTable: true})
	require.NoError(t, err)
	require.False(t, s.ReadsElsewhere())
}

// What a judgement relied upon is listed, so that it can be asserted where the statement runs: a view
// replaced in between is TestStaleViewIsNotRun.
func TestFactsHoldWhatWasUsed(t *testing.T) {
	t.Parallel()
	cat := newFake()
	rel := func(schema, name string) wire.Fact {
		return wire.Fact{Kind: wire.FactRelation, Key: strconv.Itoa(int(cat.relations[Name{schema, name}].OID)), Version: "R" + name}
	}
	fn := func(n string) wire.Fact { return wire.Fact{Kind: wire.FactFunction, Key: n, Version: "F" + n} }
	op := func(n string) wire.Fact { return wire.Fact{Kind: wire.FactOperator, Key: n, Version: "O" + n} }
	typ := func(n string) wire.Fact { return wire.Fact{Kind: wire.FactType, Key: n, Version: "T" + n} }
	path := wire.Fact{Kind: wire.FactPath, Version: "path"}

	s, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: "id in (select id from over_boom where lower('x') < name::weird) and customers.touch is null"})
	require.NoError(t, err)
	require.ElementsMatch(t, []wire.Fact{
		path, rel("public", "customers"), rel("public", "over_boom"), rel("public", "boom_view"), // through a view too
		fn("lower"), fn("touch"), fn("boom"), op("="), op("<"), typ("weird"),
	}, s.Facts())
	require.True(t, slices.IsSortedFunc(s.Facts(), func(a, b wire.Fact) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) }))

	s, err = openGuard().Update(context.Background(), cat, UpdateSpec{Table: "customers", Where: "id > 1", SetExpressions: []SetExpr{{"name", "upper(name)"}}})
	require.NoError(t, err)
	require.ElementsMatch(t, []wire.Fact{path, rel("public", "customers"), fn("upper"), op(">")}, s.Facts())

	s, err = openGuard().Insert(context.Background(), cat, InsertSpec{Table: "app.t", Columns: []string{"id"}, Rows: [][]json.RawMessage{{[]byte("1")}}})
	require.NoError(t, err)
	require.Equal(t, []wire.Fact{rel("app", "t")}, s.Facts())

	s, err = openGuard().Read(context.Background(), cat, "SELECT fit(1)", nil)
	requireCode(t, refusal.FunctionNotAllowed, err) // fit(1) may be a cast to a type whose check is volatile
	require.Nil(t, s)
	s, err = openGuard().Read(context.Background(), cat, "SELECT mood(status), 'public.orders'::regclass FROM active_customers", nil)
	require.NoError(t, err)
	require.ElementsMatch(t, []wire.Fact{path, rel("public", "active_customers"), rel("public", "customers"), fn("mood"), typ("mood")}, s.Facts())

	s, err = tightGuard().Read(context.Background(), cat, "SELECT 'public.orders'::regclass", nil)
	require.NoError(t, err)
	require.Contains(t, s.Facts(), rel("public", "orders"), "a name in a literal that the allowlist was asked about")

	s, err = openGuard().Read(context.Background(), cat, "SELECT relname FROM pg_catalog.pg_class", nil)
	require.NoError(t, err)
	require.Contains(t, s.Facts(), path)

	s, err = openGuard().Migration(context.Background(), cat, "CREATE TABLE app.n AS SELECT round(1.5) FROM orders")
	require.NoError(t, err)
	require.ElementsMatch(t, []wire.Fact{path, rel("public", "orders"), fn("round")}, s.Facts())
}

// A name that is a cast and no function costs no second question.
func TestCastNotationAsksOnce(t *testing.T) {
	t.Parallel()
	cat := newFake()
	_, err := openGuard().Read(context.Background(), cat, "SELECT mood('x')", nil)
	require.NoError(t, err)
	require.Equal(t, 1, cat.asked)
}

func TestClosureHoldsWhatIsBelow(t *testing.T) {
	t.Parallel()
	cat := newFake()
	s, err := openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "active_customers", Where: "id in (select customer_id from orders)"})
	require.NoError(t, err)
	for _, n := range []string{"active_customers", "customers", "orders"} {
		require.Contains(t, s.LockClosure(), cat.relations[Name{"public", n}].OID, n)
	}
}

func TestQuoteIdent(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a": "a", "a_1": "a_1", "A": `"A"`, "select": `"select"`, "a b": `"a b"`, `a"b`: `"a""b"`, "": `""`, "1a": `"1a"`,
		"user": `"user"`, "name": "name", "ü": `"ü"`, "json_table": `"json_table"`, "a$b": `"a$b"`, "status": "status",
	} {
		require.Equal(t, want, QuoteIdent(in))
		if in == "" {
			continue
		}
		n, err := ParseName(QuoteIdent(in))
		require.NoError(t, err)
		require.Equal(t, in, n.Name, "read back")
	}
	require.Equal(t, `app."T x"`, QuoteName("app", "T x"))
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Name{
		"T": {"", "t"}, "App.T": {"app", "t"}, `"App"."T"`: {"App", "T"}, `"a.b".c`: {"a.b", "c"}, `"a""b"`: {"", `a"b`},
		" a.b ": {"a", "b"}, "Ünï": {"", "Ünï"}, "u.and": {"u", "and"}, "a$1": {"", "a$1"},
	} {
		got, err := ParseName(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
}

func TestAllowlist(t *testing.T) {
	t.Parallel()
	a, err := ParseAllowlist([]string{"Public", `"App"`}, nil)
	require.NoError(t, err)
	require.True(t, a.Allows("public", "x"))
	require.True(t, a.Allows("App", "x"))
	require.False(t, a.Allows("app", "x"))
	require.Equal(t, `"App".*, public.*`, a.String())
	a, err = ParseAllowlist([]string{"public"}, []string{`app."A.b"`, "public.T"})
	require.NoError(t, err)
	require.True(t, a.Allows("app", "A.b"))
	require.True(t, a.Allows("public", "t"))
	require.False(t, a.Allows("public", "other"), "tables win over schemas")
	require.True(t, Allowlist{}.Empty())
	for _, bad := range [][2][]string{{{"a.b"}, nil}, {nil, {"t"}}, {nil, {"a.b.c"}}, {{""}, nil}, {{"a b"}, nil}} {
		_, err := ParseAllowlist(bad[0], bad[1])
		require.Error(t, err, "%v", bad)
	}
	for _, bad := range [][2][]string{
		{{"mcp_audit"}, nil},
		{{"pg_catalog"}, nil},
		{{"information_schema"}, nil},
		{{"pg_toast"}, nil},
		{{"pg_temp_3"}, nil},
		{nil, {"mcp_audit.log"}},
		{{"public", "PG_CATALOG"}, {"public.t"}},
	} {
		_, err := ParseWriteAllowlist(bad[0], bad[1])
		require.Error(t, err, "%v", bad)
	}
	_, err = ParseWriteAllowlist([]string{"public"}, []string{"app.t"})
	require.NoError(t, err)
	// The audit trail is readable only when listed by name.
	require.False(t, New(Policy{}).CanRead("mcp_audit", "log"))
	require.True(t, New(Policy{Read: mustList([]string{"mcp_audit"}, nil)}).CanRead("mcp_audit", "log"))
	require.False(t, New(Policy{Read: mustList([]string{"pg_catalog"}, nil)}).CanRead("pg_catalog", "pg_authid"))
	require.False(t, New(Policy{Write: mustList([]string{"mcp_audit"}, nil)}).CanWrite("mcp_audit", "log"))
}

func TestResolveTable(t *testing.T) {
	t.Parallel()
	rel, err := openGuard().ResolveTable(context.Background(), newFake(), "Orders")
	require.NoError(t, err)
	require.Equal(t, "public.orders", rel.target().String())
	_, err = tightGuard().ResolveTable(context.Background(), newFake(), "secret.salaries")
	requireCode(t, refusal.TableNotAllowlisted, err)
	_, err = openGuard().ResolveTable(context.Background(), newFake(), "ordrs")
	requireCode(t, refusal.InvalidTableName, err)
}

// A catalog that cannot be asked is a fault, not a refusal.
func TestCatalogFaults(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func() error{
		"read": func() error {
			_, err := openGuard().Read(context.Background(), brokenCatalog{}, "select 1 from t", nil)
			return err
		},
		"delete": func() error {
			_, err := openGuard().Delete(context.Background(), brokenCatalog{}, DeleteSpec{Table: "t"})
			return err
		},
		"migration": func() error {
			_, err := openGuard().Migration(context.Background(), brokenCatalog{}, "drop table t")
			return err
		},
	} {
		err := f()
		require.ErrorContains(t, err, "no connection", name)
		_, ok := refusal.As(err)
		require.False(t, ok, name)
	}
}

type brokenCatalog struct{}

func (brokenCatalog) Lookup(context.Context, Lookup, bool) (*Facts, error) {
	return nil, fmt.Errorf("no connection")
}
