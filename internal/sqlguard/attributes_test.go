package sqlguard

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// x.touch is a column only where x has one: that another table of the text has such a column says
// nothing. public.touch is a volatile function, touched.touch a column.
func TestAttributeNotationHonoursTheQualifier(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"select touched.touch from touched", "select t.touch from touched t", "select t.touch, o.id from touched t, orders o",
		"select public.touched.touch from public.touched", "select t.touch, (select o.id from orders o where o.id = t.id) from touched t",
		"select t.ctid, t.xmin, t.tableoid from touched t", "select t.touch from (touched t join orders o on o.id = t.id)",
	} {
		cat := newFake()
		_, err := openGuard().Read(context.Background(), cat, sql, nil)
		require.NoError(t, err, sql)
		require.Equal(t, 1, cat.asked, sql)
	}
	for _, sql := range []string{
		"select o.touch from orders o, touched t", "select o.touch from orders o join touched t on t.id = o.id", "select touched.touch from orders touched, touched t",
		"select s.touch from (select * from orders) s, touched t", "select o.touch from orders o where exists (select t.touch from touched t)",
		"with touched as (select * from orders) select touched.touch from touched", "select (select t.touch from orders t) from touched t",
		"select j.touch from (orders o cross join touched t) j", "select (o).touch from orders o, touched t", "select o.touch from touched t, lateral (select t.touch) s, orders o",
		"select unnamed.touch from touched t", "select public.orders.touch from orders, touched", "select f.touch from touched t, generate_series(1, 2) f",
		"select o.touch from orders o(id, customer_id), touched t", "select v.touch from touched t, (values (1)) v",
	} {
		_, err := openGuard().Read(context.Background(), newFake(), sql, nil)
		require.Error(t, err, sql)
		requireCode(t, refusal.FunctionNotAllowed, err)
	}
	for where, want := range map[string][]string{
		"touched.touch is null": {}, "touch is null": {}, "exists (select 1 from orders o where o.touch is null)": {"public.touch"},
		"exists (select 1 from orders touched where touched.touch is null)": {"public.touch"},
	} {
		s, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "touched", Where: where})
		require.NoError(t, err, where)
		require.ElementsMatch(t, want, s.Volatile(), where)
	}
}

// What the parser here reads as SQL/JSON of Postgres 16 is a call of a function of that name to an
// older server.
func TestSyntaxOfNewerServers(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{
		"json_array(1, 2)", "json_array(select 1)", "json_object('a': 1)", "json_arrayagg(id)", "json_objectagg(id: name)", "data is json", "data is not json object",
		"coalesce(null, json_array(1))", "(select json_array(1))",
	} {
		for version, ok := range map[int]bool{140005: false, 150018: false, 160000: true, 180001: true} {
			cat := newFake()
			cat.version = version
			var errs []error
			_, err := openGuard().Read(context.Background(), cat, "select "+expr+" from customers", nil)
			errs = append(errs, err)
			_, err = openGuard().Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: "(" + expr + ") is null"})
			errs = append(errs, err)
			_, err = openGuard().Update(context.Background(), cat, UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{"name", expr}}})
			errs = append(errs, err)
			_, err = openGuard().Migration(context.Background(), cat, "create view app.v as select "+expr+" from customers")
			errs = append(errs, err)
			for _, err := range errs {
				if ok {
					require.NoError(t, err, "%s on %d", expr, version)
					continue
				}
				require.Error(t, err, "%s on %d", expr, version)
				requireCode(t, refusal.InvalidInput, err)
				r, _ := refusal.As(err)
				require.Contains(t, r.Message, "before Postgres 16")
			}
		}
	}
	cat := newFake() // a view of an older server that calls a function of its own of that name
	cat.relations[Name{"public", "old_json"}] = Relation{OID: 19100, Schema: "public", Name: "old_json", Kind: 'v', ViewDef: "SELECT json_array(1) AS a;"}
	_, err := openGuard().Read(context.Background(), cat, "select * from old_json", nil)
	requireCode(t, refusal.InvalidInput, err)
}
