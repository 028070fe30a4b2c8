package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// ledger is partitioned twice over, book is inherited from twice over; deep and note are the lowest.
const aboveSQL = `CREATE TABLE ledger (id int, tenant int, v int) PARTITION BY RANGE (id);
	CREATE TABLE mid PARTITION OF ledger FOR VALUES FROM (0) TO (1000) PARTITION BY RANGE (id);
	CREATE TABLE deep PARTITION OF mid FOR VALUES FROM (0) TO (500);
	INSERT INTO ledger SELECT g, g % 3, 0 FROM generate_series(1, 300) g;
	CREATE TABLE book (id int, tenant int, v int); CREATE TABLE page () INHERITS (book); CREATE TABLE note () INHERITS (page);
	CREATE INDEX note_v ON note (v); CREATE INDEX deep_v ON deep (v);
	INSERT INTO note SELECT g, g % 3, 0 FROM generate_series(1, 300) g;
	CREATE TABLE free (id int PRIMARY KEY, v int); INSERT INTO free VALUES (1, 0);
	CREATE FUNCTION reach() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE app.deep SET v = 9 WHERE id = 1; UPDATE app.note SET v = 9 WHERE id = 1; RETURN NULL; END';
	CREATE TRIGGER reach AFTER UPDATE ON free FOR EACH STATEMENT EXECUTE FUNCTION reach();`

func aboveBundle(t *testing.T, rules ...toolpolicy.Rule) *bundle {
	t.Helper()
	return setup(t, aboveSQL, func(o *writecore.Options) { o.Limits.Rules = rules })
}

// A rule for a table holds for what inherits from it and for its partitions, whichever of them a statement
// names or reaches.
func TestRulesOfAncestors(t *testing.T) {
	t.Parallel()
	below := map[string][]string{"app.ledger": {"app.mid", "app.deep"}, "app.book": {"app.page", "app.note"}}
	roots := []string{"app.ledger", "app.book"}
	set := func(column string) []sqlguard.SetValue {
		return []sqlguard.SetValue{{Column: column, Value: []byte("9")}}
	}
	t.Run("deny", func(t *testing.T) {
		t.Parallel()
		b := aboveBundle(t, on(t, toolpolicy.Rule{Deny: true}, roots...))
		denied := func(err error) {
			t.Helper()
			require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1 does not allow")
		}
		for _, root := range roots {
			for _, table := range below[root] {
				_, err := b.delete(table, "id = 1")
				denied(err)
				_, err = b.update(table, set("v"), nil, "id = 1")
				denied(err)
				_, err = b.insert(table, []string{"id"}, raws("7"))
				denied(err)
				_, err = b.migrate("ALTER TABLE " + table + " ALTER COLUMN v SET DEFAULT 3")
				denied(err)
			}
		}
		for _, sql := range []string{"DROP INDEX app.note_v", "ALTER INDEX app.deep_v RENAME TO other"} {
			_, err := b.migrate(sql)
			denied(err)
		}
		_, err := b.update("app.free", setV("1"), nil, "id = 1")
		denied(err)
		_, err = b.migrate("ALTER TABLE app.free ADD COLUMN x int")
		require.NoError(t, err)
	})
	for _, one := range roots {
		t.Run("deny by effect "+one, func(t *testing.T) {
			t.Parallel()
			b := aboveBundle(t, on(t, toolpolicy.Rule{Deny: true}, one))
			_, err := b.update("app.free", setV("1"), nil, "id = 1")
			require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1 does not allow update on")
		})
	}
	t.Run("columns", func(t *testing.T) {
		t.Parallel()
		b := aboveBundle(t, on(t, toolpolicy.Rule{ReadonlyColumns: []string{"id"}, WhereColumns: []string{"tenant"}}, roots...))
		for _, root := range roots {
			for _, table := range below[root] {
				_, err := b.update(table, set("id"), nil, "tenant = 1 AND id = 1")
				require.Contains(t, requireCode(t, err, refusal.RuleDenied), "the column id", table)
				_, err = b.insert(table, []string{"id"}, raws("7"))
				require.Contains(t, requireCode(t, err, refusal.RuleDenied), "the column id", table)
				_, err = b.update(table, set("v"), nil, "id = 1")
				require.Contains(t, requireCode(t, err, refusal.RuleDenied), "restrict the column tenant", table)
				_, err = b.update(table, set("v"), nil, "tenant = 1 AND id = 1")
				require.NoError(t, err, table)
			}
		}
	})
	t.Run("thresholds", func(t *testing.T) {
		t.Parallel()
		b := aboveBundle(t, on(t, toolpolicy.Rule{ApprovalAbove: new(int64(200)), HardMax: new(int64(250))}, roots...))
		for _, table := range []string{"app.mid", "app.deep", "app.note"} {
			free, err := b.update(table, set("v"), nil, "id <= 200")
			require.NoError(t, err)
			require.Equal(t, plan.Previewed, free.Plan.State, table)
			asked, err := b.update(table, set("v"), nil, "id <= 201")
			require.NoError(t, err)
			require.Equal(t, plan.AwaitingApproval, asked.Plan.State, table)
			_, err = b.update(table, set("v"), nil, "id <= 251")
			require.Contains(t, requireCode(t, err, refusal.HardMaxRowsExceeded), "Rule 1, for "+table)
		}
	})
	t.Run("always, and the first rule over all the names", func(t *testing.T) {
		t.Parallel()
		b := aboveBundle(t, on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.ledger", "app.page"), on(t, toolpolicy.Rule{Deny: true}, "app.deep", "app.note"))
		for _, table := range []string{"app.mid", "app.deep", "app.note"} {
			r, err := b.delete(table, "id = 1")
			require.NoError(t, err, table)
			require.Equal(t, plan.AwaitingApproval, r.Plan.State, table)
			require.Contains(t, r.Plan.Why, "rule 1: "+table+" always asks")
		}
		b = aboveBundle(t, on(t, toolpolicy.Rule{ApprovalAbove: new(int64(5))}, "app.deep"), on(t, toolpolicy.Rule{Deny: true}, "app.ledger"))
		_, err := b.delete("app.deep", "id = 1")
		require.NoError(t, err, "a rule for the partition that stands first")
		_, err = b.delete("app.mid", "id = 1")
		requireCode(t, err, refusal.RuleDenied)
	})
}

// What a table inherits from is asserted with the statement: one that comes under a parent with a rule between
// the look at the catalog and the run is judged anew, and a plan made before does not run.
func TestAncestorsAreAsserted(t *testing.T) {
	t.Parallel()
	for name, under := range map[string]string{
		"partition": "ALTER TABLE app.cut ATTACH PARTITION app.later FOR VALUES FROM (0) TO (10)", "inheritance": "ALTER TABLE app.later INHERIT app.heir",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "CREATE TABLE later (id int, v int); INSERT INTO later VALUES (1, 0); CREATE TABLE heir (id int, v int); CREATE TABLE cut (id int, v int) PARTITION BY RANGE (id);",
				func(o *writecore.Options) {
					o.Limits.Rules = toolpolicy.Rules{on(t, toolpolicy.Rule{Deny: true}, "app.heir", "app.cut")}
				})
			r, err := b.delete("app.later", "id = 1")
			require.NoError(t, err)
			b.db.Exec(t, under)
			_, err = b.execute(r)
			require.Error(t, err, "the plan was made before")
			_, err = b.delete("app.later", "id = 1")
			require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1")
			require.Equal(t, "1", b.one("SELECT count(*) FROM app.later"))
		})
	}
}

// A write through a view onto a table whose rule is about columns must name the table.
func TestColumnRulesBelowViews(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]toolpolicy.Rule{
		"readonly": {ReadonlyColumns: []string{"id"}}, "where": {WhereColumns: []string{"tenant"}},
	} {
		for _, root := range []string{"app.ledger", "app.book", "app.deep", "app.note"} {
			t.Run(name+" "+root, func(t *testing.T) {
				t.Parallel()
				b := setup(t, aboveSQL+`CREATE VIEW over_deep AS SELECT id AS n, tenant, v FROM deep; CREATE VIEW over_note AS SELECT id AS n, tenant, v FROM note; CREATE VIEW twice AS SELECT * FROM over_note;
					CREATE VIEW twice_deep AS SELECT * FROM over_deep; CREATE VIEW over_free AS SELECT * FROM free;
					GRANT ALL ON ledger, mid, deep, book, page, note, free TO migrator;`,
					func(o *writecore.Options) { o.Limits.Rules = toolpolicy.Rules{on(t, rule, root)} })
				views := []string{"app.over_deep", "app.twice_deep"}
				if root == "app.book" || root == "app.note" {
					views = []string{"app.over_note", "app.twice"}
				}
				for _, view := range views {
					_, err := b.update(view, []sqlguard.SetValue{{Column: "n", Value: []byte("9")}}, nil, "n = 1 AND tenant = 1")
					require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1 is about single columns of", view)
					r, _ := refusal.As(err)
					require.Contains(t, r.Hint, "itself as the table")
				}
				_, err := b.delete("app.over_free", "id = 1")
				require.NoError(t, err)
			})
		}
	}
}
