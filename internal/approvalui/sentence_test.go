package approvalui_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func dml(tool, statement string, affected int64, tables ...plan.Table) plan.Preview {
	p := plan.Preview{Tool: tool, Target: "public.products", AffectedRows: affected, Payload: plan.Payload{Statement: statement}}
	for _, t := range tables {
		p.BlastRadius.Tables = append(p.BlastRadius.Tables, t)
		p.BlastRadius.TotalRows += t.Rows()
	}
	return p
}

func ddl(target, statement string, facts plan.Facts) plan.Preview {
	return plan.Preview{Tool: "run_migration", Target: target, Payload: plan.Payload{Statement: statement}, Facts: &facts}
}

func TestSay(t *testing.T) {
	t.Parallel()
	set := func(p plan.Preview, cols []string, params ...string) plan.Preview {
		p.SetColumns = cols
		for _, v := range params {
			p.Payload.Params = append(p.Payload.Params, json.RawMessage(v))
		}
		return p
	}
	unknown := dml("delete_rows", "DELETE FROM public.products WHERE a = $1", 8, plan.Table{Name: "public.products", Deleted: 8, Named: true})
	unknown.BlastRadius.Unknown = []string{"track_counts is off"}
	many := dml("delete_rows", "DELETE FROM public.products WHERE a = $1", 8, plan.Table{Name: "public.products", Deleted: 8, Named: true},
		plan.Table{Name: "a", Deleted: 1000}, plan.Table{Name: "b", Deleted: 2000}, plan.Table{Name: "c", Deleted: 3000}, plan.Table{Name: "d", Deleted: 3120})
	for name, c := range map[string]struct {
		p                       plan.Preview
		main, then, index, deed string
	}{
		"cascade": {
			cascade(),
			"Delete 8 rows from public.customers.", "320 rows in public.orders and 512 in public.order_items go with them.", "Delete 840 rows, 8 of them in public.customers", "delete 840 rows",
		},
		"whole table": {
			dml("delete_rows", "DELETE FROM public.products", 2000, plan.Table{Name: "public.products", Deleted: 2000, Named: true}),
			"Delete all 2,000 rows from public.products.", "", "Delete 2,000 rows from public.products", "delete 2,000 rows",
		},
		"where inside a sub-select is not the statement's": {
			dml("delete_rows", "DELETE FROM public.products WHERE id IN (SELECT id FROM x WHERE y)", 2, plan.Table{Name: "public.products", Deleted: 2, Named: true}),
			"Delete 2 rows from public.products.", "", "Delete 2 rows from public.products", "delete 2 rows",
		},
		"one row takes one": {
			dml("delete_rows", "DELETE FROM public.products WHERE id = 1", 1, plan.Table{Name: "public.products", Deleted: 1, Named: true}, plan.Table{Name: "public.orders", Deleted: 1}),
			"Delete 1 row from public.products.", "1 row in public.orders goes with it.", "Delete 2 rows, 1 of them in public.products", "delete 2 rows",
		},
		"a table that refers to itself": {
			dml("delete_rows", "DELETE FROM public.products WHERE id = 1", 1, plan.Table{Name: "public.products", Deleted: 5, Named: true}),
			"Delete 1 row from public.products.", "4 more rows in public.products go with it.", "Delete 5 rows, 1 of them in public.products", "delete 5 rows",
		},
		"many tables": {
			many,
			"Delete 8 rows from public.products.", "9,120 rows in 4 other tables go with them.", "Delete 9,128 rows, 8 of them in public.products", "delete 9,128 rows",
		},
		"one column": {
			repricing(),
			"Set price to 9.90 in 240 rows of public.products.", "", "Update 240 rows of public.products", "update 240 rows",
		},
		"a trigger": {
			archive(),
			"Set status to archived in 4,706 rows of public.orders.", "4,706 rows are added to public.order_log along the way.", "Change 9,412 rows, 4,706 of them in public.orders", "change 9,412 rows",
		},
		"an expression": {
			set(dml("update_rows", "UPDATE public.products SET price = price * $1 WHERE id > 5", 3, plan.Table{Name: "public.products", Updated: 3, Named: true}), []string{"price"}, "2"),
			"Change price in 3 rows of public.products.", "", "Update 3 rows of public.products", "update 3 rows",
		},
		"a parameter with a tail is an expression": {
			set(dml("update_rows", "UPDATE public.products SET price = $1 + 5 WHERE id > 5", 3, plan.Table{Name: "public.products", Updated: 3, Named: true}), []string{"price"}, "2"),
			"Change price in 3 rows of public.products.", "", "Update 3 rows of public.products", "update 3 rows",
		},
		"no value": {
			set(dml("update_rows", "UPDATE public.products SET price = $1", 3, plan.Table{Name: "public.products", Updated: 3, Named: true}), []string{"price"}, "null"),
			"Set price to NULL in all 3 rows of public.products.", "", "Update 3 rows of public.products", "update 3 rows",
		},
		"a long value stays out of the sentence": {
			set(dml("update_rows", "UPDATE public.products SET note = $1 WHERE a", 3, plan.Table{Name: "public.products", Updated: 3, Named: true}), []string{"note"}, `"0123456789012345678901234567890123456789x"`),
			"Change note in 3 rows of public.products.", "", "Update 3 rows of public.products", "update 3 rows",
		},
		"several columns": {
			set(dml("update_rows", "UPDATE public.products SET price = $1, stock = $2, a = $3, b = $4 WHERE x", 240, plan.Table{Name: "public.products", Updated: 240, Named: true}), []string{"price", "stock", "a", "b"}, "1", "2", "3", "4"),
			"Change price, stock and 2 more columns in 240 rows of public.products.", "", "Update 240 rows of public.products", "update 240 rows",
		},
		"an update that deletes elsewhere": {
			set(dml("update_rows", "UPDATE public.products SET a = $1 WHERE x", 2, plan.Table{Name: "public.products", Updated: 2, Named: true}, plan.Table{Name: "public.cache", Deleted: 7}), []string{"a"}, "1"),
			"Set a to 1 in 2 rows of public.products.", "7 rows in public.cache are deleted along the way.", "Change 9 rows, 2 of them in public.products", "change 9 rows",
		},
		"an insert": {
			importRows(),
			"Add 400 rows to public.products.", "", "Add 400 rows to public.products", "add 400 rows",
		},
		"nothing": {
			dml("delete_rows", "DELETE FROM public.products WHERE f()", 0),
			"Nothing changes: no row matches.", "", "Delete in public.products: no row matches", "run it, no row matches",
		},
		"unknown effect": {
			unknown,
			"Delete 8 rows from public.products.", "What else changes could not be counted.", "Delete 8 rows from public.products", "delete at least 8 rows",
		},
		"drop a column": {
			dropColumn(),
			"Drop the column total_amount from public.orders.", "View public.monthly_revenue is dropped with it.", "Drop the column total_amount from public.orders", "drop the column",
		},
		"drop a table": {
			ddl("public.orders", `drop table if exists orders cascade`, plan.Facts{Drops: []plan.Drop{{Type: "table", Name: "public.orders"}, {Type: "view", Name: "a"}, {Type: "view", Name: "b"}}}),
			"Drop the table public.orders.", "View a and view b are dropped with it.", "Drop the table public.orders", "drop the table",
		},
		"add a column": {
			ddl("public.orders", "ALTER TABLE public.orders ADD COLUMN note varchar(20) DEFAULT 'a, b'", plan.Facts{}),
			"Add the column note to public.orders.", "", "Add the column note to public.orders", "add the column",
		},
		"build an index": {
			ddl("public.orders", "CREATE UNIQUE INDEX IF NOT EXISTS o_idx ON public.orders USING btree (a, b)", plan.Facts{}),
			"Build the index o_idx on public.orders.", "", "Build the index o_idx on public.orders", "build the index",
		},
		"rename": {
			ddl("public.orders", `ALTER TABLE orders RENAME "Old" TO new`, plan.Facts{}),
			`Rename the column "Old" of public.orders to new.`, "", `Rename the column "Old" of public.orders to new`, "rename the column",
		},
		"two actions have no template": {
			ddl("public.orders", "ALTER TABLE public.orders ADD COLUMN a int, DROP COLUMN b", plan.Facts{Lost: []plan.Lost{{Relation: "public.orders", Column: "b", NonNullValues: 5}}, Drops: []plan.Drop{{Type: "column", Name: "public.orders.b"}}}),
			"Change the definition of public.orders.", "Column public.orders.b is dropped.", "Change the definition of public.orders", "change the definition",
		},
		"an unknown form": {
			ddl("public.orders", "COMMENT ON TABLE public.orders IS 'x'", plan.Facts{}),
			"Change the definition of public.orders.", "", "Change the definition of public.orders", "change the definition",
		},
		"an unknown tool": {
			dml("merge_rows", "MERGE", 5, plan.Table{Name: "public.products", Updated: 5, Named: true}),
			"Change 5 rows of public.products.", "5 rows in public.products change along the way.", "Change 5 rows of public.products", "change 5 rows",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := approvalui.Say(c.p)
			require.Equal(t, c.main, s.Main.String())
			require.Equal(t, c.then, s.Then.String())
			require.Equal(t, c.index, s.Index.String())
			require.Equal(t, c.deed, s.Deed)
		})
	}
}

// TestNamesAreNeverOurWords: whatever a name or a value holds, it stays in a segment of its own.
func TestNamesAreNeverOurWords(t *testing.T) {
	t.Parallel()
	p := dropColumn()
	p.Target = `public."orders. Nothing is lost"`
	p.Payload.Statement = `ALTER TABLE public."orders. Nothing is lost" DROP COLUMN "x"" from y"`
	for _, s := range approvalui.Say(p).Main {
		if s.Kind == approvalui.Words {
			require.NotContains(t, s.Text, "Nothing is lost")
			require.NotContains(t, s.Text, "from y")
		}
	}
	require.Equal(t, approvalui.Confirm{Kind: "name", Expect: `x" from y`}, approvalui.ConfirmFor(p, 1000))
}

func TestConfirmFor(t *testing.T) {
	t.Parallel()
	big := repricing()
	big.AffectedRows, big.BlastRadius.TotalRows = 1001, 5
	edge := repricing()
	edge.AffectedRows, edge.BlastRadius.TotalRows = 1000, 1000
	for name, c := range map[string]struct {
		p    plan.Preview
		want approvalui.Confirm
	}{
		"at the limit":            {edge, approvalui.Confirm{Kind: "none"}},
		"above it":                {big, approvalui.Confirm{Kind: "rows", Expect: "1001"}},
		"every table counts":      {archive(), approvalui.Confirm{Kind: "rows", Expect: "9412"}},
		"a column":                {dropColumn(), approvalui.Confirm{Kind: "name", Expect: "total_amount"}},
		"a table":                 {ddl("public.orders", "DROP TABLE orders", plan.Facts{}), approvalui.Confirm{Kind: "name", Expect: "public.orders"}},
		"a loss without template": {ddl("public.orders", "ALTER TABLE orders ADD a int, DROP b", plan.Facts{Lost: []plan.Lost{{Relation: "public.orders", Column: "b"}}}), approvalui.Confirm{Kind: "name", Expect: "b"}},
		"a drop without template": {ddl("public.orders", "DROP FUNCTION f()", plan.Facts{Drops: []plan.Drop{{Type: "function", Name: "public.f()"}}}), approvalui.Confirm{Kind: "name", Expect: "public.f()"}},
		"nothing dropped":         {ddl("public.orders", "ALTER TABLE orders ADD a int", plan.Facts{}), approvalui.Confirm{Kind: "none"}},
	} {
		require.Equal(t, c.want, approvalui.ConfirmFor(c.p, 1000), name)
	}
	require.False(t, approvalui.Confirm{Kind: "something new"}.Accepts(""), "what is not known is not accepted")
}

// TestTheMostImportantNameIsAsked: of all that a migration drops, the name to type is that of what is lost
// most, never of a part that nobody knows by its name.
func TestTheMostImportantNameIsAsked(t *testing.T) {
	t.Parallel()
	drop := func(kv ...string) (out []plan.Drop) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, plan.Drop{Type: kv[i], Name: kv[i+1]})
		}
		return out
	}
	lost := func(relation, column string, n int64) []plan.Lost {
		return []plan.Lost{{Relation: relation, Column: column, NonNullValues: n}}
	}
	for name, c := range map[string]struct {
		statement string
		facts     plan.Facts
		want      string
	}{
		"a table before its index":             {"DROP TABLE a, b", plan.Facts{Drops: drop("index", "public.a_key", "view", "public.v", "table", "public.b")}, "public.b"},
		"two tables: the one that is named":    {"DROP TABLE x, public.b CASCADE", plan.Facts{Drops: drop("table", "public.a", "table", "public.b")}, "public.b"},
		"a view before a column without value": {"ALTER TABLE orders ADD x int, DROP a CASCADE", plan.Facts{Drops: drop("index", "public.i", "view", "public.v", "column", "public.orders.a"), Lost: lost("public.orders", "a", 0)}, "public.v"},
		"a column with values before a view":   {"ALTER TABLE orders ADD x int, DROP a CASCADE", plan.Facts{Drops: drop("index", "public.i", "view", "public.v", "column", "public.orders.a"), Lost: lost("public.orders", "a", 7)}, "a"},
		"values too many to count are values":  {"ALTER TABLE orders ADD x int, DROP a CASCADE", plan.Facts{Drops: drop("view", "public.v", "column", "public.orders.a"), Lost: lost("public.orders", "a", -1)}, "a"},
		"a type takes a column with values":    {"DROP TYPE public.mood CASCADE", plan.Facts{Drops: drop("type", "public.mood", "column", "public.person.feels"), Lost: lost("public.person", "feels", 9)}, "feels"},
		"a type that takes nothing":            {"DROP TYPE public.mood", plan.Facts{Drops: drop("type", "public.mood")}, "public.mood"},
		"what the form says":                   {"ALTER TABLE orders DROP COLUMN total CASCADE", plan.Facts{Drops: drop("index", "public.i", "column", "public.orders.total"), Lost: lost("public.orders", "total", 9)}, "total"},
		"an index that is named":               {"DROP INDEX public.orders_day", plan.Facts{Drops: drop("index", "public.orders_day")}, "public.orders_day"},
		"an index that goes along":             {"ALTER TABLE orders ADD x int, ALTER y TYPE text", plan.Facts{Drops: drop("index", "public.orders_x_idx1")}, "public.orders"},
		"a constraint of a made-up name":       {"ALTER TABLE orders ADD x int, ALTER y TYPE text", plan.Facts{Drops: drop("index", "public.i", "constraint", "public.orders.orders_check1", "default", "public.orders.y")}, "public.orders"},
		"a constraint that is named":           {"ALTER TABLE orders DROP CONSTRAINT orders_check1, ADD x int", plan.Facts{Drops: drop("index", "public.a", "constraint", "public.orders.orders_check1")}, "public.orders.orders_check1"},
		"a default":                            {"ALTER TABLE orders ALTER y DROP DEFAULT", plan.Facts{Drops: drop("default", "public.orders.y")}, "y"},
		"a function before a trigger":          {"DROP FUNCTION f(int) CASCADE", plan.Facts{Drops: drop("trigger", "public.orders.t", "function", "public.f(integer)")}, "public.f(integer)"},
		"a kind of tomorrow before an index":   {"DROP GADGET g CASCADE", plan.Facts{Drops: drop("index", "public.i", "gadget", "public.g")}, "public.g"},
		"nothing":                              {"ALTER TABLE orders ADD x int, ADD y int", plan.Facts{}, ""},
	} {
		want := approvalui.Confirm{Kind: "name", Expect: c.want}
		if c.want == "" {
			want = approvalui.Confirm{Kind: "none"}
		}
		require.Equal(t, want, approvalui.ConfirmFor(ddl("public.orders", c.statement, c.facts), 1000), name)
	}
}

// TestLevels looks at the level and the band as the API gives them.
func TestLevels(t *testing.T) {
	t.Parallel()
	half := dml("delete_rows", "DELETE FROM public.products WHERE a", 10, plan.Table{Name: "public.products", Deleted: 10, Named: true, RowsEstimate: new(int64(20))})
	less := dml("delete_rows", "DELETE FROM public.products WHERE a", 9, plan.Table{Name: "public.products", Deleted: 9, Named: true, RowsEstimate: new(int64(20))})
	big := dml("delete_rows", "DELETE FROM public.products WHERE a", 1001, plan.Table{Name: "public.products", Deleted: 1001, Named: true})
	unknown := repricing()
	unknown.BlastRadius.Unknown = []string{"a trigger empties a table"}
	note := repricing()
	note.Warnings = []plan.Warning{{Code: plan.WarnSeqScan, Message: "public.products is read from end to end."}}
	odd := repricing()
	odd.Warnings = []plan.Warning{{Code: "A_NEW_CODE", Message: "something"}}
	slow := ddl("public.orders", "ALTER TABLE orders ADD a int", plan.Facts{Locks: []plan.Lock{{Relation: "public.orders", Mode: "AccessExclusiveLock", HeldMS: 1200}}})
	secured := ddl("public.orders", "ALTER TABLE orders ENABLE ROW LEVEL SECURITY", plan.Facts{})
	secured.Warnings = []plan.Warning{{Code: plan.WarnRowSecurity, Message: "Row security is switched on for public.orders, which has no policy."}}
	partly := repricing()
	partly.Warnings = []plan.Warning{{Code: plan.WarnRowSecurity, Message: "Row security is active on public.products."}}
	quick := ddl("public.orders", "ALTER TABLE orders ADD a int", plan.Facts{Locks: []plan.Lock{{Relation: "public.orders", Mode: "AccessExclusiveLock", HeldMS: 14}}})
	emptied := ddl("public.orders", "ALTER TABLE public.orders DROP COLUMN a", plan.Facts{Lost: []plan.Lost{{Relation: "public.orders", Column: "a"}}})
	for name, c := range map[string]struct {
		p     plan.Preview
		level string
		band  string
	}{
		"a calm update":                        {repricing(), "none", ""},
		"a cascade on the allowlist":           {func() plan.Preview { p := cascade(); p.Warnings = nil; return p }(), "none", ""},
		"a table that is not on the allowlist": {cascade(), "check", ""},
		"values lost":                          {dropColumn(), "loud", "A whole column is lost."},
		"an empty column dropped":              {emptied, "none", ""},
		"half a table":                         {half, "loud", "Half a table or more is deleted."},
		"less than half":                       {less, "none", ""},
		"a large delete":                       {big, "loud", "A large delete."},
		"unknown effect":                       {unknown, "loud", "The effect is not known."},
		"a note":                               {note, "note", ""},
		"row security hides rows from us":      {partly, "note", ""},
		"row security hides rows from others":  {secured, "check", ""},
		"a code that is not known":             {odd, "check", ""},
		"a long lock":                          {slow, "check", ""},
		"a short lock":                         {quick, "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.add(c.p)
			_, body, _ := b.ask("GET", "/api/plans/"+string(p.Token), "")
			card := body["plan"].(map[string]any)
			require.Equal(t, c.level, card["level"])
			if c.band == "" {
				require.Nil(t, card["band"])
			} else {
				require.Equal(t, c.band, card["band"].(map[string]any)["lead"])
			}
		})
	}
}

// TestVoices: a recipe begins with Safer and says what to do, what it is safer than being a fact on the card
// already; a short lock is no warning, and what a long one held is a check, with all of its words.
func TestVoices(t *testing.T) {
	t.Parallel()
	for held, want := range map[float64][]string{
		14:   {"safer Do it in two steps.", "note public.big is rewritten."},
		1200: {"check public.orders is rewritten. Do it in two steps.", "check public.big is rewritten.", "check public.orders is locked."},
	} {
		b := setup(t)
		p := ddl("public.orders", "ALTER TABLE orders ADD a int", plan.Facts{Rewrites: []string{"public.orders", "public.big"}, Locks: []plan.Lock{{Relation: "public.orders", Mode: "AccessExclusiveLock", HeldMS: held}}})
		p.Warnings = []plan.Warning{
			{Code: plan.WarnRewritesTable, Message: "public.orders is rewritten. Do it in two steps.", Safer: "Do it in two steps."},
			{Code: plan.WarnRewritesTable, Message: "public.big is rewritten."},
			{Code: plan.WarnBlocksWrites, Message: "public.orders is locked."},
		}
		made := b.add(p)
		_, body, _ := b.ask("GET", "/api/plans/"+string(made.Token), "")
		var got []string
		for _, w := range body["plan"].(map[string]any)["warnings"].([]any) {
			w := w.(map[string]any)
			line := w["voice"].(string) + " "
			for _, part := range w["text"].([]any) {
				line += part.(map[string]any)["v"].(string)
			}
			got = append(got, line)
		}
		require.Equal(t, want, got)
	}
}

// TestValuesKeepTheirDigits: what the browser shows is text that was made here.
func TestValuesKeepTheirDigits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := cascade()
	p.SampleRows = []plan.Row{{
		{Column: "big", Value: json.RawMessage("9007199254740993")},
		{Column: "j", Value: json.RawMessage(`{"a":1.10,"b":1e400}`)},
		{Column: "n", Value: json.RawMessage("null")},
		{Column: "s", Value: json.RawMessage(`"NULL"`)},
	}}
	p.Payload.Params = []json.RawMessage{json.RawMessage("12345678901234567890.10"), json.RawMessage(`[1,2,"x"]`)}
	made := b.add(p)
	_, body, _ := b.ask("GET", "/api/plans/"+string(made.Token), "")
	card := body["plan"].(map[string]any)
	require.Equal(t, []any{
		map[string]any{"t": "number", "v": "9007199254740993"},
		map[string]any{"t": "json", "v": `{"a":1.10,"b":1e400}`},
		map[string]any{"t": "null", "v": ""},
		map[string]any{"t": "text", "v": "NULL"},
	}, card["sample_rows"].(map[string]any)["rows"].([]any)[0])
	params := card["params"].([]any)
	require.Equal(t, "12345678901234567890.10", params[0].(map[string]any)["cell"].(map[string]any)["v"])
	require.Equal(t, "array of 3 values", params[1].(map[string]any)["type"])
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := repricing()
	p.Changes = nil
	want := []string{}
	for _, c := range []struct{ before, after, diff string }{
		{`"24.90"`, `"9.90"`, "\u221260 %"},
		{`"9.50"`, `"9.90"`, "+4.2 %"},
		{`"1299.00"`, `"9.90"`, "\u221299 %"},
		{`null`, `"9.90"`, "was empty"},
		{`"1"`, `null`, "becomes empty"},
		{`0`, `5`, "was 0"},
		{`"-10"`, `"10"`, "+200 %"},
		{`"1000000"`, `"1"`, "\u2212>99 %"},
		{`"1e999999999"`, `"2"`, ""},
		{`"a"`, `"b"`, ""},
		{`true`, `false`, ""},
	} {
		p.Changes = append(p.Changes, plan.Change{Key: row("id", len(want)), Before: plan.Row{{Column: "v", Value: json.RawMessage(c.before)}}, After: plan.Row{{Column: "v", Value: json.RawMessage(c.after)}}})
		want = append(want, c.diff)
	}
	made := b.add(p)
	_, body, _ := b.ask("GET", "/api/plans/"+string(made.Token), "")
	for i, r := range body["plan"].(map[string]any)["changes"].(map[string]any)["rows"].([]any) {
		require.Equal(t, want[i], r.(map[string]any)["pairs"].([]any)[0].(map[string]any)["diff"], p.Changes[i])
	}
}
