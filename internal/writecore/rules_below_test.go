package writecore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// ledger is partitioned twice over, book is inherited from twice over. Rows up to 300 lie in deep and note, 501 to
// 700 in side and page, 1001 to 1200 in rest and book itself.
const belowSQL = `CREATE TABLE free (id int PRIMARY KEY, v int); INSERT INTO free SELECT g, 0 FROM generate_series(1, 9) g;
	CREATE TABLE ledger (id int PRIMARY KEY, tenant int, v int, free int REFERENCES free ON DELETE CASCADE) PARTITION BY RANGE (id);
	CREATE TABLE mid PARTITION OF ledger FOR VALUES FROM (0) TO (1000) PARTITION BY RANGE (id);
	CREATE TABLE deep PARTITION OF mid FOR VALUES FROM (0) TO (500); CREATE TABLE side PARTITION OF mid FOR VALUES FROM (500) TO (1000);
	CREATE TABLE rest PARTITION OF ledger FOR VALUES FROM (1000) TO (2000);
	INSERT INTO ledger SELECT g, g % 3, 0, CASE WHEN g = 1 THEN 7 END FROM generate_series(1, 1200) g WHERE g <= 300 OR g BETWEEN 501 AND 700 OR g > 1000;
	CREATE TABLE book (id int, tenant int, v int); CREATE TABLE page () INHERITS (book); CREATE TABLE note () INHERITS (page);
	INSERT INTO note SELECT g, g % 3, 0 FROM generate_series(1, 300) g; INSERT INTO page SELECT g, g % 3, 0 FROM generate_series(501, 700) g;
	INSERT INTO book SELECT g, g % 3, 0 FROM generate_series(1001, 1200) g;
	CREATE VIEW over_ledger AS SELECT id AS n, tenant, v FROM ledger; CREATE VIEW over_book AS SELECT id AS n, tenant, v FROM book;
	GRANT ALL ON ALL TABLES IN SCHEMA app TO migrator;`

func belowBundle(t *testing.T, sql string, rules ...toolpolicy.Rule) *bundle {
	t.Helper()
	return setup(t, belowSQL+sql, func(o *writecore.Options) { o.Limits.Rules = rules })
}

// reaches is a trigger on free that runs a text.
func reaches(when, text string) string {
	return `CREATE FUNCTION reach() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $r$ BEGIN ` + text + `; RETURN NULL; END $r$;
		CREATE ` + when + ` EXECUTE FUNCTION reach();`
}

const (
	atOnce   = "TRIGGER reach AFTER UPDATE ON free FOR EACH STATEMENT"
	deferred = "CONSTRAINT TRIGGER reach AFTER UPDATE ON free DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
)

func only(ops ...toolpolicy.Operation) toolpolicy.Rule {
	return toolpolicy.Rule{Deny: true, Operations: ops}
}

// A rule for one partition or heir holds for its rows, whichever table above it a statement names, and however it
// comes there.
func TestRulesOfDescendants(t *testing.T) {
	t.Parallel()
	set := func(column, value string) []sqlguard.SetValue {
		return []sqlguard.SetValue{{Column: column, Value: []byte(value)}}
	}
	denied := func(t *testing.T, err error, what string) {
		t.Helper()
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), what)
	}
	for leaf, above := range map[string][]string{"app.deep": {"app.ledger", "app.mid"}, "app.note": {"app.book", "app.page"}, "app.mid": {"app.ledger"}, "app.page": {"app.book"}} {
		t.Run("deny "+leaf, func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, "", on(t, toolpolicy.Rule{Deny: true}, leaf))
			for _, table := range above {
				_, err := b.delete(table, "id = 1")
				denied(t, err, "Rule 1 does not allow delete on app.")
				_, err = b.update(table, set("v", "9"), nil, "id IN (1, 502, 1001)")
				if table == "app.mid" || table == "app.page" {
					_, err = b.update(table, set("v", "9"), nil, "id IN (1, 502)")
				}
				denied(t, err, "Rule 1 does not allow update on app.")
			}
			if above[0] == "app.ledger" {
				_, err := b.insert("app.ledger", []string{"id"}, raws("1901"), raws("401"))
				denied(t, err, "Rule 1 does not allow insert on app.deep")
			}
			for view, root := range map[string]string{"app.over_ledger": "app.ledger", "app.over_book": "app.book"} {
				if above[0] == root {
					_, err := b.delete(view, "n = 1")
					denied(t, err, "Rule 1 does not allow delete on app.")
				}
			}
			_, err := b.delete(above[0], "id = 1001")
			require.NoError(t, err, "no row of it")
			_, err = b.insert(above[0], []string{"id"}, raws("1901"))
			require.NoError(t, err)
			require.Equal(t, "0", b.one("SELECT (SELECT count(*) FROM app.ledger WHERE v <> 0) + (SELECT count(*) FROM app.book WHERE v <> 0)"))
		})
	}
	for name, c := range map[string]struct{ when, text string }{
		"trigger":       {atOnce, "UPDATE app.ledger SET v = 9 WHERE id = 1"},
		"deferred":      {deferred, "UPDATE app.ledger SET v = 9 WHERE id = 1"},
		"with":          {atOnce, "WITH gone AS (DELETE FROM app.ledger WHERE id = 1 RETURNING id) INSERT INTO app.book SELECT id FROM gone"},
		"on conflict":   {atOnce, "INSERT INTO app.ledger VALUES (1) ON CONFLICT (id) DO UPDATE SET v = 9"},
		"by its middle": {atOnce, "DELETE FROM app.mid WHERE id = 2"},
		"truncate":      {atOnce, "TRUNCATE app.ledger"},
		"moved":         {atOnce, "UPDATE app.ledger SET id = 1900 WHERE id = 1"},
	} {
		for _, rule := range []toolpolicy.Rule{{Deny: true}, only(toolpolicy.Update, toolpolicy.Delete)} {
			t.Run(fmt.Sprintf("reached %s %v", name, rule.Operations), func(t *testing.T) {
				t.Parallel()
				b := belowBundle(t, reaches(c.when, c.text), on(t, rule, "app.deep"))
				_, err := b.update("app.free", setV("1"), nil, "id = 1")
				denied(t, err, "on app.deep")
			})
		}
	}
	t.Run("a new heir is no change", func(t *testing.T) { // as triggers make them for each month
		t.Parallel()
		b := belowBundle(t, reaches(atOnce, "CREATE TABLE app.month (CHECK (id > 5000)) INHERITS (app.book); CREATE INDEX ON app.month (id); INSERT INTO app.month VALUES (5001); "+
			"CREATE TABLE app.more PARTITION OF app.ledger FOR VALUES FROM (5000) TO (6000); INSERT INTO app.ledger VALUES (5001)"),
			on(t, only(toolpolicy.Update, toolpolicy.Delete), "app.deep", "app.mid", "app.book"))
		r, err := b.update("app.free", setV("1"), nil, "id = 1")
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, r.Plan.State, "what it locks is not counted")
	})
	t.Run("merge", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{Deny: true}, "app.deep"))
		if b.one("SELECT current_setting('server_version_num')::int >= 150000") == "t" {
			b.db.Exec(t, "SET search_path = app; "+reaches(atOnce, "MERGE INTO app.ledger l USING app.free f ON l.id = f.id WHEN MATCHED THEN DELETE"))
		} else {
			b.db.Exec(t, "SET search_path = app; "+reaches(atOnce, "DELETE FROM app.ledger l USING app.free f WHERE l.id = f.id"))
		}
		_, err := b.update("app.free", setV("1"), nil, "id = 1")
		denied(t, err, "Rule 1 does not allow delete on app.deep")
	})
	t.Run("cascade", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, only(toolpolicy.Delete), "app.deep"))
		_, err := b.delete("app.free", "id = 7")
		denied(t, err, "Rule 1 does not allow delete on app.deep")
		_, err = b.delete("app.free", "id = 8")
		require.NoError(t, err)
	})
	t.Run("moved", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			from, to int
			op       toolpolicy.Operation
			denied   bool
		}{
			{1, 1900, toolpolicy.Update, true},
			{1, 1900, toolpolicy.Delete, true},
			{1, 1900, toolpolicy.Insert, false},
			{1001, 400, toolpolicy.Update, true},
			{1001, 400, toolpolicy.Insert, true},
			{1001, 400, toolpolicy.Delete, false},
			{501, 1900, toolpolicy.Update, false},
			{1, 400, toolpolicy.Delete, false},
			{1, 400, toolpolicy.Insert, false},
		} {
			b := belowBundle(t, "", on(t, only(c.op), "app.deep"))
			_, err := b.update("app.ledger", set("id", fmt.Sprint(c.to)), nil, fmt.Sprintf("id = %d", c.from))
			if !c.denied {
				require.NoError(t, err, "%v", c)
				continue
			}
			denied(t, err, fmt.Sprintf("Rule 1 does not allow %s on app.deep", c.op))
		}
		b := belowBundle(t, reaches(atOnce, "UPDATE app.ledger SET id = 1900 WHERE id = 1"), on(t, only(toolpolicy.Update), "app.ledger"))
		_, err := b.update("app.free", setV("1"), nil, "id = 1")
		denied(t, err, "Rule 1 does not allow update on app.") // the root's own rule: what moves a row is an UPDATE
	})
	t.Run("columns", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{ReadonlyColumns: []string{"id"}, WhereColumns: []string{"tenant"}}, "app.deep", "app.note"))
		for root, view := range map[string]string{"app.ledger": "app.over_ledger", "app.book": "app.over_book"} {
			_, err := b.update(root, set("v", "9"), nil, "id = 1")
			denied(t, err, "restrict the column tenant")
			_, err = b.delete(root, "id < 502")
			denied(t, err, "restrict the column tenant")
			_, err = b.update(root, set("id", "450"), nil, "tenant = 1 AND id = 1")
			denied(t, err, "the column id of app.")
			_, err = b.update(root, set("v", "9"), nil, "tenant = 1 AND id = 1")
			require.NoError(t, err)
			_, err = b.update(root, set("v", "9"), nil, "id = 1001")
			require.NoError(t, err, "no row of it")
			_, err = b.delete(view, "n = 1 AND tenant = 1")
			denied(t, err, "is a view over it")
			_, err = b.delete(view, "n = 1001")
			require.NoError(t, err)
			_, err = b.insert(root, []string{"id"}, raws("1901"))
			require.NoError(t, err)
		}
		_, err := b.insert("app.ledger", []string{"id"}, raws("401"))
		denied(t, err, "the column id of app.deep")
	})
	t.Run("thresholds", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{ApprovalAbove: new(int64(20)), HardMax: new(int64(50))}, "app.deep", "app.side", "app.note"))
		state := func(table, where string) plan.Plan {
			t.Helper()
			r, err := b.update(table, set("v", "9"), nil, where)
			require.NoError(t, err)
			return r.Plan
		}
		for _, root := range []string{"app.ledger", "app.book"} {
			require.Equal(t, plan.Previewed, state(root, "id <= 20 OR id > 1150").State)
			p := state(root, "id <= 21")
			require.Equal(t, plan.AwaitingApproval, p.State)
			require.Contains(t, p.Why, "rule 1 asks above 20 rows of app.")
			_, err := b.update(root, set("v", "9"), nil, "id <= 51")
			require.Contains(t, requireCode(t, err, refusal.HardMaxRowsExceeded), "Rule 1, for app.")
		}
		p := state("app.ledger", "id <= 11 OR id BETWEEN 501 AND 510") // together
		require.Equal(t, plan.AwaitingApproval, p.State)
		require.Contains(t, p.Why, "rule 1 asks above 20 rows of app.deep, app.side, and 21 change")

		b = belowBundle(t, "", on(t, toolpolicy.Rule{ApprovalAbove: new(int64(200))}, "app.deep"))
		require.Equal(t, plan.Previewed, state("app.deep", "id <= 150").State)
		require.Equal(t, plan.AwaitingApproval, state("app.ledger", "id <= 150").State, "from above it only adds")
	})
	t.Run("moved rows count once", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{HardMax: new(int64(10))}, "app.deep"))
		move := func(where string) error {
			_, err := b.update("app.ledger", nil, []sqlguard.SetExpr{{Column: "id", Expr: "id + 1300"}}, where)
			return err
		}
		require.NoError(t, move("id <= 10"))
		requireCode(t, move("id <= 11"), refusal.HardMaxRowsExceeded)
	})
	t.Run("always, and the first rule over all the names", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.deep"))
		r, err := b.delete("app.ledger", "id IN (1, 1001)")
		require.NoError(t, err)
		require.Equal(t, plan.AwaitingApproval, r.Plan.State)
		require.Contains(t, r.Plan.Why, "rule 1: app.deep always asks")
		b.approve(r)
		_, err = b.execute(r)
		require.NoError(t, err)
		r, err = b.delete("app.ledger", "id = 1002")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, r.Plan.State)

		b = belowBundle(t, "", on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.ledger"), on(t, toolpolicy.Rule{Deny: true}, "app.deep"))
		_, err = b.delete("app.ledger", "id = 1")
		require.NoError(t, err, "the root's rule stands first")
		b = belowBundle(t, "", on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.deep"), on(t, toolpolicy.Rule{Deny: true}, "app.ledger"))
		_, err = b.delete("app.ledger", "id = 1")
		denied(t, err, "Rule 2 does not allow delete on app.ledger") // what the table itself is denied stays so
	})
}

// What is not counted is taken for anything: without counters, each relation that was locked for writing.
func TestRulesOfDescendantsWithoutCounters(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "ALTER DATABASE "+db.Name+" SET track_counts = off")
	b := setupOn(t, db, belowSQL, func(o *writecore.Options) {
		o.Limits.Rules = toolpolicy.Rules{on(t, only(toolpolicy.Update), "app.deep")}
	})
	_, err := b.update("app.ledger", setV("1"), nil, "id = 1")
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "app.deep")
}

// Rules of partitions hold again when the plan runs: a partition may have come under another table, and a plan
// of the journal may have been previewed under other rules.
func TestDescendantsAreHeldAtExecute(t *testing.T) {
	t.Parallel()
	t.Run("under another table meanwhile", func(t *testing.T) {
		t.Parallel()
		for name, rule := range map[string]toolpolicy.Rule{"deny": {Deny: true}, "ask": {AlwaysAsk: true}} {
			b := belowBundle(t, "CREATE TABLE frozen PARTITION OF ledger FOR VALUES FROM (5000) TO (6000) PARTITION BY RANGE (id);", on(t, rule, "app.frozen"))
			r, err := b.delete("app.ledger", "id = 1")
			require.NoError(t, err)
			require.Equal(t, plan.Previewed, r.Plan.State)
			b.db.Exec(t, "BEGIN; ALTER TABLE app.ledger DETACH PARTITION app.frozen; ALTER TABLE app.ledger DETACH PARTITION app.mid; ALTER TABLE app.mid DETACH PARTITION app.deep;"+
				"ALTER TABLE app.frozen ATTACH PARTITION app.deep FOR VALUES FROM (0) TO (500); ALTER TABLE app.ledger ATTACH PARTITION app.frozen FOR VALUES FROM (0) TO (500); COMMIT")
			_, err = b.execute(r)
			require.Error(t, err, name)
			require.Equal(t, "1", b.one("SELECT count(*) FROM app.ledger WHERE id = 1"), name)
		}
	})
	for name, change := range map[string]string{
		"renamed": "ALTER TABLE deep RENAME TO frozen", "the one above renamed": "ALTER TABLE mid RENAME TO frozen; LOCK TABLE deep",
	} {
		t.Run(name+" behind the snapshot", func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, "", on(t, toolpolicy.Rule{Deny: true}, "app.frozen"))
			r, err := b.delete("app.ledger", "id = 1 AND EXISTS (SELECT FROM app.free)") // which reads elsewhere
			require.NoError(t, err)
			require.Contains(t, requireCode(t, b.during(r, change), refusal.RuleDenied), "Rule 1 does not allow delete on app.")
			require.Equal(t, "1", b.one("SELECT count(*) FROM app.ledger WHERE id = 1"))
		})
	}
	t.Run("where the rows go", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "CREATE TABLE other PARTITION OF ledger DEFAULT; CREATE TABLE later (LIKE ledger);", on(t, toolpolicy.Rule{Deny: true}, "app.later"))
		r, err := b.insert("app.ledger", []string{"id"}, raws("7001"))
		require.NoError(t, err)
		b.db.Exec(t, "ALTER TABLE app.later ALTER COLUMN id SET NOT NULL; ALTER TABLE app.ledger ATTACH PARTITION app.later FOR VALUES FROM (7000) TO (8000)")
		_, err = b.execute(r)
		require.Error(t, err)
		_, err = b.insert("app.ledger", []string{"id"}, raws("7001"))
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "app.later")
		require.Equal(t, "0", b.one("SELECT count(*) FROM app.ledger WHERE id = 7001"))
	})
	for name, c := range map[string]struct {
		rule toolpolicy.Rule
		code refusal.Code
	}{
		"deny":    {toolpolicy.Rule{Deny: true}, refusal.RuleDenied},
		"columns": {toolpolicy.Rule{WhereColumns: []string{"tenant"}}, refusal.RuleDenied},
		"cap":     {toolpolicy.Rule{HardMax: new(int64(0))}, refusal.HardMaxRowsExceeded},
		"ask":     {toolpolicy.Rule{AlwaysAsk: true}, refusal.RowsetChanged},
	} {
		t.Run("journal "+name, func(t *testing.T) {
			t.Parallel()
			l := journaled(t, belowSQL)
			r, err := l.delete("app.ledger", "id = $1", "1")
			require.NoError(t, err)
			free, err := l.delete("app.ledger", "id = $1", "1001")
			require.NoError(t, err)
			l.again(t, func(o *writecore.Options) { o.Limits.Rules = toolpolicy.Rules{on(t, c.rule, "app.deep")} })
			_, err = l.execute(r)
			requireCode(t, err, c.code)
			_, err = l.execute(free)
			require.NoError(t, err)
			require.Equal(t, "1", l.one("SELECT count(*) FROM app.ledger WHERE id IN (1, 1001)"))
		})
	}
}

// A migration is held against a deny of each table below what it names that it changes.
func TestMigrationsReachDescendants(t *testing.T) {
	t.Parallel()
	for leaf, root := range map[string]string{"app.deep": "app.ledger", "app.mid": "app.ledger", "app.note": "app.book", "app.page": "app.book"} {
		t.Run(leaf, func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, "DROP VIEW over_ledger, over_book; CREATE INDEX ledger_v ON ledger (v); CREATE INDEX book_v ON book (v); ALTER TABLE ledger ADD CONSTRAINT wide CHECK (v < 1000); ALTER TABLE book ADD CONSTRAINT wide CHECK (v < 1000);",
				on(t, only(toolpolicy.Migration), leaf))
			down := []string{
				"ALTER TABLE %s ADD COLUMN x int", "ALTER TABLE %s DROP COLUMN v", "ALTER TABLE %s RENAME COLUMN v TO w", "ALTER TABLE %s ALTER COLUMN v SET DEFAULT 3",
				"ALTER TABLE %s ALTER COLUMN v TYPE bigint", "ALTER TABLE %s ADD CONSTRAINT small CHECK (v < 1000)", "ALTER TABLE %s DROP CONSTRAINT wide", "DROP TABLE %s CASCADE",
				"ALTER TABLE %s ALTER COLUMN tenant SET STATISTICS 50",
			}
			if root == "app.ledger" {
				down = append(down, "CREATE INDEX by_tenant ON %s (tenant)", "DROP INDEX app.ledger_v",
					"ALTER TABLE app.mid ALTER COLUMN v SET DEFAULT 3", "ALTER TABLE %s ADD FOREIGN KEY (free) REFERENCES app.free")
			}
			for _, form := range down {
				sql := strings.ReplaceAll(form, "%s", root)
				_, err := b.migrate(sql)
				require.Error(t, err, sql)
				r, ok := refusal.As(err)
				require.True(t, ok, sql)
				if r.Code != refusal.RuleDenied { // what Postgres refuses by itself says nothing
					t.Errorf("%s: %s %s", sql, r.Code, r.Message)
				}
			}
			beside := []string{
				"CREATE TABLE app.more PARTITION OF app.ledger FOR VALUES FROM (2000) TO (3000)", "ALTER TABLE app.rest ALTER COLUMN v SET DEFAULT 3", "ALTER TABLE app.ledger DETACH PARTITION app.rest",
				"ALTER TABLE ONLY app.book ALTER COLUMN v SET DEFAULT 3", "CREATE INDEX only_book ON app.book (tenant)", "ALTER TABLE ONLY app.ledger ALTER COLUMN v SET DEFAULT 3",
				"ALTER TABLE app.book RENAME TO books", "ALTER TABLE app.free ADD COLUMN x int", "CREATE TABLE app.pointing (id int REFERENCES app.ledger)",
			}
			for _, sql := range beside {
				_, err := b.migrate(sql)
				require.NoError(t, err, sql)
			}
		})
	}
	t.Run("a view that goes along", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "CREATE VIEW over_free AS SELECT * FROM free;", on(t, toolpolicy.Rule{Deny: true}, "app.over_free"))
		_, err := b.migrate("DROP TABLE app.free CASCADE")
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "migration on app.over_free")
	})
	t.Run("a default partition", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "CREATE TABLE other PARTITION OF ledger DEFAULT;", on(t, toolpolicy.Rule{Deny: true}, "app.other"))
		_, err := b.migrate("CREATE TABLE app.more PARTITION OF app.ledger FOR VALUES FROM (2000) TO (3000)")
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "migration on app.other")
	})
	t.Run("the first rule over all the names", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{AlwaysAsk: true}, "app.ledger"), on(t, toolpolicy.Rule{Deny: true}, "app.deep"))
		_, err := b.migrate("ALTER TABLE app.ledger ADD COLUMN x int")
		require.NoError(t, err)
	})
	for name, c := range map[string]struct{ root, come string }{
		"partition": {"app.ledger", "ALTER TABLE app.ledger ATTACH PARTITION app.later FOR VALUES FROM (7000) TO (8000)"},
		"heir":      {"app.book", "ALTER TABLE app.later INHERIT app.book"},
		"deeper":    {"app.book", "ALTER TABLE app.later INHERIT app.note"},
	} {
		t.Run("comes meanwhile: "+name, func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, "CREATE TABLE later (LIKE ledger INCLUDING INDEXES);", on(t, only(toolpolicy.Migration), "app.later"))
			r, err := b.migrate("ALTER TABLE " + c.root + " ADD COLUMN x int")
			require.NoError(t, err)
			b.approve(r)
			if name == "deeper" {
				b.db.Exec(t, c.come)
				_, err = b.execute(r)
				require.Error(t, err)
			} else { // it commits when nothing looks at the catalog any more before the statement
				require.Contains(t, requireCode(t, b.during(r, c.come), refusal.RuleDenied), "migration on app.later")
			}
			require.Equal(t, "0", b.one("SELECT count(*) FROM pg_attribute WHERE attrelid = 'app.later'::regclass AND attname = 'x'"))
		})
	}
}
