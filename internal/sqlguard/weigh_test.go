package sqlguard

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// growing are queries that Postgres copies parts of; n is how deep. Each has filled gigabytes in a
// backend when it was deep enough.
var growing = map[string]func(n int) string{
	"between left":      func(n int) string { return "select " + nest(n, "(", "1", " between 0 and 2)::int") },
	"not between":       func(n int) string { return "select " + nest(n, "(", "1", " not between 0 and 2)::int") },
	"between symmetric": func(n int) string { return "select " + nest(n, "(", "1", " between symmetric 0 and 2)::int") },
	"symmetric bounds":  func(n int) string { return "select " + nest(n, "(1 between symmetric ", "1", " and 2)::int") },
	"in columns":        func(n int) string { return "select " + nest(n, "(", "id", " in (id,id,id))::int") + " from customers" },
	"not in columns": func(n int) string {
		return "select " + nest(n, "(", "id", " not in (id,id,id))::int") + " from customers"
	},
	"row in": func(n int) string {
		return "select " + nest(n, "((", "id", ",1) in ((1,2),(3,4),(5,6)))::int") + " from customers"
	},
	"from": func(n int) string { return nest(n, "select a+a as a from (", "select id as a from customers", ") s") },
	"from, three times": func(n int) string {
		return nest(n, "select a+b+a as b, b+a as a from (", "select id as a, id as b from customers", ") s")
	},
	"from, star": func(n int) string {
		return nest(n, "select * from (select a+a as a from (", "select id as a from customers", ") s) s")
	},
	"from, whole row": func(n int) string {
		return nest(n, "select (s is null) or (s is null) as a from (", "select id as a from customers", ") s")
	},
	"from, renamed": func(n int) string {
		return nest(n, "select s.x||s.x from (", "select name from customers", ") as s(x)")
	},
	"from, join": func(n int) string {
		return nest(n, "select s.a+s.a as a from orders o join (", "select id as a from customers", ") s on s.a = o.id")
	},
	"from, joined alias": func(n int) string {
		return nest(n, "select j.a+j.a as a from (orders o cross join (", "select id as a from customers", ") s) j")
	},
	"from, values": func(n int) string { return nest(n, "select a+a as a from (", "values (1)", ") s(a)") },
	"from, lateral": func(n int) string {
		return nest(n, "select s.a+s.a as a from orders o, lateral (", "select o.id as a", ") s")
	},
	"pushed, distinct": func(n int) string {
		return "select * from " + nest(n, "(select distinct a+a as a from ", "(select id as a from customers) s", ") s") + " where a > 0"
	},
	"pushed, group": func(n int) string {
		return "select * from " + nest(n, "(select a+a as a from ", "(select id as a from customers) s", " group by a+a) s") + " where a > 0"
	},
	"pushed, order": func(n int) string {
		return "select * from " + nest(n, "(select a+a as a from ", "(select id as a from customers) s", " order by 1) s") + " where a > 0"
	},
	"pushed, except": func(n int) string {
		return "select * from " + nest(n, "(select a+a as a from ", "(select id as a from customers) s", " except select 1) s") + " where a > 0"
	},
	"cte": func(n int) string { return chain(n, "c%d as (select a+a as a from c%d)") },
	"cte in its own": func(n int) string {
		return "select * from (" + nest(n, "with c as (", "select id as a from customers", ") select a+a as a from c") + ") x where a > 0"
	},
	"cte not materialized": func(n int) string {
		return chain(n, "c%d as not materialized (select x.a+y.a as a from c%d x, c%[2]d y)")
	},
	"exists": func(n int) string {
		out := "select 1 from customers t0 where "
		for i := range n {
			out += fmt.Sprintf("(t0.id=1 or exists (select 1 from customers t%d where t%[1]d.id=t%d.id and ", i+1, i)
		}
		return out + "true" + strings.Repeat("))", n)
	},
	"row star": func(n int) string { return "select " + nest(n, "(row(", "1,2,3,4", ")).*") },
	"view":     func(n int) string { return nest(n, "select id+id as id from (", "select id from doubling", ") s") },
	"values in exists": func(n int) string {
		return "select " + nest(n, "exists (values (", "1", "))")
	},
}

// wide are queries whose cost is the square of their width, or more.
var wide = map[string]func(n int) string{
	"rollup": func(n int) string { return "select 1 from customers group by rollup(" + over(n, "abs(id+%d),") + "1)" },
	"cube":   func(n int) string { return "select 1 from customers group by cube(" + over(n, "abs(id+%d),") + "1)" },
	"product": func(n int) string {
		return "select 1 from customers group by rollup(" + over(n, "abs(id+%d),") + "1), rollup(" + over(n, "abs(id-%d),") + "1)"
	},
	"windows": func(n int) string {
		return "select 1" + over(n, ", count(*) over (partition by tenant_id order by id + %d)") + " from customers"
	},
}

func nest(n int, before, core, after string) string {
	return strings.Repeat(before, n) + core + strings.Repeat(after, n)
}

// chain is n CTEs, each over the one before.
func chain(n int, form string) string {
	out := "with c0 as (select id as a from customers)"
	for i := range n {
		out += ", " + fmt.Sprintf(form, i+1, i)
	}
	return out + fmt.Sprintf(" select a from c%d", n)
}

func over(n int, form string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

var doubling = nest(10, "SELECT a + a AS a FROM (", "SELECT id AS a FROM customers", ") s")

// growingCatalog has a view that is a chain of its own.
func growingCatalog() *fakeCatalog {
	cat := newFake()
	cat.relations[Name{"public", "doubling"}] = Relation{
		OID: 19000, Schema: "public", Name: "doubling", Kind: 'v', Columns: []Column{col("id", "bigint", false)},
		ViewDef: doubling + ";", Closure: []uint32{19000},
	}
	return cat
}

// TestGrowthIsBounded: a few levels are everyday, many are refused, whatever makes Postgres copy.
func TestGrowthIsBounded(t *testing.T) {
	t.Parallel()
	cat := growingCatalog()
	for name, text := range growing {
		_, err := openGuard().Read(context.Background(), cat, text(2), nil)
		require.NoError(t, err, name)
		for _, n := range []int{40, 90} {
			_, err = openGuard().Read(context.Background(), cat, text(n), nil)
			require.Error(t, err, "%s, %d levels", name, n)
			requireCode(t, refusal.InvalidInput, err)
		}
	}
}

// The same in every other place that takes SQL.
func TestGrowthIsBoundedEverywhere(t *testing.T) {
	t.Parallel()
	ctx, cat := context.Background(), growingCatalog()
	deep := nest(40, "(", "id", " between 0 and 2)::int")
	query := growing["from"](40)
	_, err := openGuard().Delete(ctx, cat, DeleteSpec{Table: "customers", Where: deep + " = 1"})
	requireCode(t, refusal.InvalidInput, err)
	_, err = openGuard().Delete(ctx, cat, DeleteSpec{Table: "customers", Where: "id in (" + query + ")"})
	requireCode(t, refusal.InvalidInput, err)
	_, err = openGuard().Update(ctx, cat, UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{"tenant_id", deep}}})
	requireCode(t, refusal.InvalidInput, err)
	for _, ddl := range []string{
		"create view app.v as " + query, "create table app.x as " + query, "create table app.x (id int, check (" + deep + " = 1))",
		"create index on customers ((" + deep + "))", "alter table customers add column x int default " + nest(40, "(", "1", " between 0 and 2)::int"),
	} {
		_, err = openGuard().Migration(ctx, cat, ddl)
		requireCode(t, refusal.InvalidInput, err)
	}
	// A view's body is copied to each use, also where the view is the target.
	cat.relations[Name{"public", "doubled"}] = Relation{
		OID: 19001, Schema: "public", Name: "doubled", Kind: 'v', Columns: []Column{col("id", "bigint", false)}, Updatable: 28,
		ViewDef: "SELECT id + (SELECT max(id) FROM customers) AS id FROM doubling;", Closure: []uint32{19001},
	}
	_, err = openGuard().Delete(ctx, cat, DeleteSpec{Table: "doubled", Where: "id = 1"})
	require.NoError(t, err)
	_, err = openGuard().Delete(ctx, cat, DeleteSpec{Table: "doubled", Where: "id = 1" + strings.Repeat(" and id <> 2", 30)})
	requireCode(t, refusal.InvalidInput, err)
}

// What people write is far below the bound.
func TestGrowthOfEverydayText(t *testing.T) {
	t.Parallel()
	ctx, cat := context.Background(), growingCatalog()
	for name, text := range map[string]string{
		"long list":    "select id from customers where id in (1" + strings.Repeat(", 2", 20_000) + ")",
		"long values":  "select * from (values (1, 'a')" + strings.Repeat(", (2, 'b')", 5_000) + ") v(id, name)",
		"many columns": "select " + strings.Repeat("id + tenant_id, ", 600) + "1 from customers",
		"many unions":  "select id from customers" + strings.Repeat(" union all select id from orders", 60),
		"many joins":   "select 1 from customers c" + strings.Repeat(" join orders on orders.customer_id = c.id and orders.status in (c.status, c.name)", 30),
		"report": `with recent as (select * from orders where placed_at > now() - interval '30 days'),
			per_customer as (select customer_id, count(*) as n, sum(amount) as total, max(placed_at) as last_at from recent group by customer_id),
			ranked as (select p.*, rank() over (order by total desc) as place, ntile(10) over (order by total) as decile, total / n as average from per_customer p),
			labelled as (select r.*, case when r.average > 100 and r.n > 3 then 'A' when r.average > 50 or r.n > 10 then 'B' else 'C' end as label,
				coalesce(r.total, 0) - coalesce(lag(r.total) over (order by r.place), 0) as gap from ranked r),
			scored as (select l.*, (l.total * 0.5 + l.average * 0.3 + l.n * 0.2) as score from labelled l where l.label between 'A' and 'B')
			select c.name, s.label, s.score, s.score / nullif(s.total, 0) as part, trunc(s.gap, 2) from scored s join customers c on c.id = s.customer_id
			where s.score > 10 and s.score < 1000 and exists (select 1 from order_items i join orders o on o.id = i.order_id where o.customer_id = c.id)
			order by s.score desc limit 20`,
		"flat chain": "select a, b, a + b as c, a * 2 + b * 3 as d, case when a > b then a else b end as e from (select x + y as a, x - y as b from " +
			"(select p * 2 + q as x, p + q * 2 as y from (select id + tenant_id as p, id - tenant_id as q from customers) s1) s2) s3 where a between 1 and 100 or b in (a, 1)",
		"nested exists": "select 1 from customers c where exists (select 1 from orders o where o.customer_id = c.id and exists (select 1 from order_items i where i.order_id = o.id and exists (select 1 from products p where p.id = i.id)))",
		"grouping sets": "select 1 from customers group by cube(id, tenant_id, name, status, active), rollup(email, created_at), grouping sets ((id), (id, name), ())",
		"one window":    "select 1" + strings.Repeat(", sum(id) over (partition by tenant_id order by id)", 500) + " from customers",
		"windows":       "select 1" + over(60, ", sum(id) over (partition by tenant_id order by id + %d)") + " from customers",
		"long group by": "select 1 from customers group by " + strings.Repeat("abs(id), ", 200) + "id",
		"rows":          "select row(id, row(name, row(email, array[row(status)]))), array_agg(row(id)) from customers group by 1",
	} {
		_, err := openGuard().Read(ctx, cat, text, nil)
		require.NoError(t, err, name)
	}
}

// Limits of single parts: lists that Postgres sorts by are looked through in the square of their
// length before it says that they are too long; joins are planned in more than that.
func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return "1" + strings.Repeat(", abs(id)", n-1) }
	for name, text := range map[string]string{
		"select list":      "select " + list(maxTargets+1) + " from customers",
		"star of star":     "select * from (" + nest(11, "select *, * from (", "select 1 as a", ") s") + ") s",
		"group by":         "select 1 from customers group by " + list(maxTargets+1),
		"order by":         "select 1 from customers order by " + list(maxTargets+1),
		"distinct on":      "select distinct on (" + list(maxTargets+1) + ") 1 from customers",
		"partition by":     "select 1 from customers window w as (partition by " + list(maxTargets+1) + ")",
		"order by in over": "select count(*) over (order by " + list(maxTargets+1) + ") from customers",
		"order in call":    "select array_agg(id order by " + list(maxTargets+1) + ") from customers",
		"cube":             "select 1 from customers group by cube(" + list(12) + ")",
		"rollup":           "select 1 from customers group by rollup(" + list(400) + ")",
		"product":          "select 1 from customers group by rollup(" + list(60) + "), rollup(" + list(60) + ")",
		"cube and list":    "select 1 from customers group by cube(" + list(9) + "), " + list(100),
		"sets of cubes":    "select 1 from customers group by grouping sets (cube(" + list(11) + "), cube(" + list(11) + "))",
		"row in cube":      "select 1 from customers group by cube((" + list(50) + "), (" + list(50) + "), 1, 2, 3, 4, 5, 6, 7, 8)",
		"over":             "select 1" + over(200, ", count(*) over (order by id + %d)") + " from customers",
		"windows":          "select 1 from customers window w as (partition by " + list(1000) + ")" + strings.Repeat(", x as (w)", 1000),
		"from":             "select 1 from customers" + strings.Repeat(", orders", maxSources),
		"joins":            "select 1 from customers" + strings.Repeat(" cross join orders", maxSources),
		"sub-selects":      "select 1" + strings.Repeat(", (select 1 from orders)", maxSources+1),
		"views":            "select 1 from doubling" + strings.Repeat(", doubling", maxSources/2),
		"values":           "select 1 from customers" + strings.Repeat(", (values (1), (2)) v", maxSources),
		"functions":        "select 1 from customers" + strings.Repeat(", generate_series(1, 2)", maxSources),
		"ctes copied":      "with c as not materialized (select 1 from orders, orders o2, orders o3) select 1 from c" + strings.Repeat(", c", 70),
		"rows":             "select " + nest(maxQuoting+1, "row(", "1", ")"),
		"arrays of rows":   "select " + nest(maxQuoting/2+1, "array[row(", "1", ")]"),
		"whole rows":       nest(maxQuoting+1, "select t as c from (", "select 1 as c", ") t"),
		"rows in where":    "select 1 from customers where " + nest(maxQuoting+1, "row(", "id", ")") + " is null",
		"whole, in where":  "select 1 from (" + nest(maxQuoting, "select t as c from (", "select 1 as c", ") t") + ") t where t::text = ''",
	} {
		_, err := openGuard().Read(context.Background(), growingCatalog(), text, nil)
		require.Error(t, err, name)
		requireCode(t, refusal.InvalidInput, err)
	}
	for name, text := range map[string]string{
		"select list": "select " + list(maxTargets) + " from customers",
		"rows":        "select " + nest(maxQuoting, "row(", "1", ")"),
		"from":        "select 1 from customers" + strings.Repeat(", orders", maxSources-1),
	} {
		_, err := openGuard().Read(context.Background(), growingCatalog(), text, nil)
		require.NoError(t, err, name)
	}
}

// Weighing must not be what it guards against: each node is looked at once.
func TestWeighingIsLinear(t *testing.T) {
	t.Parallel()
	ctes := "with c as (select 1)"
	for i := range 900 {
		ctes += fmt.Sprintf(", c%d as (select (select 1), (values (1)))", i)
	}
	texts := map[string]string{
		"many ctes":    ctes + " select 1",
		"many calls":   "select coalesce(null" + strings.Repeat(", abs(1)", 5_000) + ")",
		"many columns": "select 1 from customers c where coalesce(null" + strings.Repeat(", c.id", 7_000) + ") = 1",
		"many rows":    "select 1 from customers c where coalesce(null" + strings.Repeat(", c", 9_000) + ") is null",
		"deep levels":  "select " + nest(90, "(select ", "1", " limit 1)"),
	}
	for name, text := range growing {
		texts[name] = text(60)
	}
	cat := growingCatalog()
	facts, err := cat.Lookup(context.Background(), Lookup{Relations: []Name{{Name: "customers"}, {Name: "orders"}}}, false)
	require.NoError(t, err)
	for name, text := range texts {
		node, err := parseOne("text", text)
		require.NoError(t, err, name)
		w, _, own := weigh(newVerdict(facts).known, []proto.Message{node}, nil)
		require.Less(t, w.looked, 3*own, name) // a message and the Node around it, and lists
	}
}
