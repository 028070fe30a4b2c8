package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

func TestNearNames(t *testing.T) {
	t.Parallel()
	have := []sqlguard.Name{
		{Schema: "app", Name: "orders"},
		{Schema: "app", Name: "order_items"},
		{Schema: "sales", Name: "orders"},
		{Schema: "app", Name: "Product"},
		{Schema: "app", Name: "customers"},
		{Schema: "app", Name: "id"},
		{Schema: "app", Name: "orders"},
		{Schema: "Old", Name: "ledger 2019"},
	}
	for _, c := range []struct {
		schema, name string
		want         []string
	}{
		{"app", "order", []string{"app.orders", "sales.orders", "app.order_items"}},
		{"", "oders", []string{"app.orders", "sales.orders"}},
		{"sales", "ordres", []string{"sales.orders", "app.orders"}},
		{"app", "product", []string{`app."Product"`}},
		{"app", "PRODUCTS", []string{`app."Product"`}},
		{"app", "customer", []string{"app.customers"}},
		{"", "cust", []string{"app.customers"}},
		{"", "ledger_2019", []string{`"Old"."ledger 2019"`}},
		{"app", "xy", nil},
		{"app", "invoices", nil},
		{"app", "it", nil},
	} {
		require.Equal(t, c.want, sqlguard.NearNames(sqlguard.Name{Schema: c.schema, Name: c.name}, have), c.name)
	}
	require.Empty(t, sqlguard.NearNames(sqlguard.Name{Name: "x"}, nil))
	require.True(t, sqlguard.Alike("nme", "name"))
	require.True(t, sqlguard.Alike("product", `"Product"`))
	require.False(t, sqlguard.Alike("sale", "bare"))
	require.False(t, sqlguard.Alike("id", "…"))
}

func TestNearColumns(t *testing.T) {
	t.Parallel()
	rel := func(name string, columns ...string) sqlguard.Relation {
		r := sqlguard.Relation{Schema: "app", Name: name}
		for _, c := range columns {
			r.Columns = append(r.Columns, sqlguard.Column{Name: c})
		}
		return r
	}
	a, b := rel("a", "id", "name", "Price"), rel("b", "id", "name", "note")
	require.Equal(t, []string{"name"}, sqlguard.NearColumns("nme", []sqlguard.Relation{a}))
	require.Equal(t, []string{`"Price"`}, sqlguard.NearColumns("price", []sqlguard.Relation{a}))
	require.Equal(t, []string{"id", "name", `"Price"`}, sqlguard.NearColumns("zzzzzz", []sqlguard.Relation{a}), "all of one table")
	require.Equal(t, []string{"name (of app.a and app.b)", "note (of app.b)"}, sqlguard.NearColumns("nme", []sqlguard.Relation{a, b}))
	require.Equal(t, []string{`"Price" (of app.a)`}, sqlguard.NearColumns("price", []sqlguard.Relation{a, b}))
	require.Empty(t, sqlguard.NearColumns("zzzzzz", []sqlguard.Relation{a, b}), "not all of many")
}

func TestWrittenAt(t *testing.T) {
	t.Parallel()
	const text = `select äö, p.Name, "My ""Col""", s.t."C x", 1 + x.`
	for position, want := range map[int]string{
		8: "äö", 12: "name", 14: "name", 20: `My "Col"`, 34: "C x", 36: "C x", 44: "", 48: "", 0: "", -3: "", 500: "", 7: "",
	} {
		require.Equal(t, want, sqlguard.WrittenAt(text, position), position)
	}
}

func TestAllowlistEntries(t *testing.T) {
	t.Parallel()
	list, err := sqlguard.ParseAllowlist([]string{"b", `"A"`}, nil)
	require.NoError(t, err)
	schemas, tables := list.Entries()
	require.Equal(t, []string{"A", "b"}, schemas)
	require.Empty(t, tables)
	list, err = sqlguard.ParseAllowlist([]string{"b"}, []string{"b.z", "b.a", `a."Z"`})
	require.NoError(t, err)
	schemas, tables = list.Entries()
	require.Empty(t, schemas, "tables win")
	require.Equal(t, []sqlguard.Name{{Schema: "a", Name: "Z"}, {Schema: "b", Name: "a"}, {Schema: "b", Name: "z"}}, tables)
}
