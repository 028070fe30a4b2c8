package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func setOf(column, value string) []sqlguard.SetValue {
	return []sqlguard.SetValue{{Column: column, Value: []byte(value)}}
}

// after is a trigger that runs a text for each row.
func after(name, event, table, text string) string {
	return "CREATE FUNCTION " + name + "() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $r$ BEGIN " + text + "; RETURN NULL; END $r$;" +
		"CREATE TRIGGER " + name + " " + event + " ON " + table + " FOR EACH ROW EXECUTE FUNCTION " + name + "();"
}

// A row that leaves its partition or comes into one was updated, to whoever forbids that, however it went; what is
// deleted here and inserted there for another reason is not taken for it where that can be told.
func TestMovesAreUpdates(t *testing.T) {
	t.Parallel()
	update := toolpolicy.Update
	t.Run("into a partition that takes no row", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, after("swallow", "BEFORE INSERT", "rest", "PERFORM 1"), on(t, only(update), "app.deep"))
		_, err := b.update("app.ledger", setOf("id", "1900"), nil, "id = 1")
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "update on app.deep")
		r, err := b.delete("app.ledger", "id = 1")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, r.Plan.State)
	})
	t.Run("out of what the statement names", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, after("leaves", "AFTER DELETE", "side", "UPDATE app.ledger SET id = 1900 WHERE id = 1"), on(t, only(update), "app.deep"))
		_, err := b.delete("app.mid", "id = 501")
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "update on app.deep")
	})
	for name, root := range map[string]string{"the table": "app.ledger", "the middle": "app.mid"} {
		t.Run("reached, by the rule of "+name, func(t *testing.T) {
			t.Parallel()
			move := reaches(atOnce, "UPDATE app.ledger SET id = id + 501 WHERE id BETWEEN 290 AND 299") // ten, from deep to side
			for most, code := range map[int64]refusal.Code{9: refusal.HardMaxRowsExceeded, 10: ""} {
				b := belowBundle(t, move, on(t, toolpolicy.Rule{HardMax: new(most), Operations: []toolpolicy.Operation{update}}, root))
				_, err := b.update("app.free", setV("1"), nil, "id = 1")
				if code == "" {
					require.NoError(t, err, "each row counts once")
					continue
				}
				require.Contains(t, requireCode(t, err, code), "Rule 1, for app.deep, app.side")
			}
			b := belowBundle(t, move, on(t, toolpolicy.Rule{AlwaysAsk: true, Operations: []toolpolicy.Operation{update}}, root))
			r, err := b.update("app.free", setV("1"), nil, "id = 1")
			require.NoError(t, err)
			require.Equal(t, plan.AwaitingApproval, r.Plan.State)
		})
	}
	t.Run("named, by the rule of the table", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, "", on(t, toolpolicy.Rule{HardMax: new(int64(10)), Operations: []toolpolicy.Operation{update}}, "app.ledger"))
		move := func(where string) error {
			_, err := b.update("app.ledger", nil, []sqlguard.SetExpr{{Column: "id", Expr: "id + 501"}}, where)
			return err
		}
		require.NoError(t, move("id BETWEEN 290 AND 299"))
		requireCode(t, move("id BETWEEN 289 AND 299"), refusal.HardMaxRowsExceeded)
	})
	for name, c := range map[string]struct{ sql, frozen string }{
		"a table whose rows are replaced": {"CREATE TABLE queue (id int); INSERT INTO queue VALUES (1);" + reaches(atOnce, "DELETE FROM app.queue; INSERT INTO app.queue VALUES (2)"), "app.queue"},
		"a partition whose row is":        {reaches(atOnce, "DELETE FROM app.ledger WHERE id = 1; INSERT INTO app.ledger VALUES (1)"), "app.deep"},
		"history that only grows":         {reaches(atOnce, "UPDATE app.ledger SET v = 1 WHERE id = 1001; INSERT INTO app.ledger VALUES (401)"), "app.deep"},
		"an heir that only shrinks":       {reaches(atOnce, "DELETE FROM app.book WHERE id = 1; INSERT INTO app.page VALUES (900)"), "app.note"},
	} {
		t.Run("none: "+name, func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, c.sql, on(t, only(update), c.frozen))
			r, err := b.update("app.free", setV("1"), nil, "id = 1")
			require.NoError(t, err)
			require.Equal(t, plan.Previewed, r.Plan.State)
		})
	}
	t.Run("the columns of what a trigger did otherwise", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, after("counts", "AFTER DELETE", "rest", "UPDATE app.deep SET v = 9 WHERE id = 1"), on(t, toolpolicy.Rule{WhereColumns: []string{"tenant"}}, "app.deep"))
		_, err := b.delete("app.ledger", "id = 1001")
		require.NoError(t, err)
		_, err = b.delete("app.ledger", "id = 2")
		requireCode(t, err, refusal.RuleDenied)
	})
}

// What empties or drops a table on the way is no change that was counted: a person is asked, and a deny holds for
// the target too. A lock alone, and temporary tables that come and go, are none.
func TestEmptiedAndDroppedOnTheWay(t *testing.T) {
	t.Parallel()
	const late = `CREATE TABLE z (id int, v int); INSERT INTO z VALUES (1, 0), (2, 0); CREATE TABLE zlog (id int);
		CREATE FUNCTION wipes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $r$ BEGIN TRUNCATE app.z; RETURN NULL; END $r$;
		CREATE CONSTRAINT TRIGGER wipes AFTER INSERT ON zlog DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wipes();`
	for name, c := range map[string]struct {
		sql    string
		denied bool
	}{
		"emptied":     {late + after("logs", "AFTER UPDATE", "z", "INSERT INTO app.zlog VALUES (1)"), true},
		"locked only": {late + after("locks", "AFTER UPDATE", "z", "LOCK TABLE app.z"), false},
	} {
		t.Run("the target "+name, func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, c.sql, on(t, only(toolpolicy.Delete), "app.z"))
			b.db.Exec(t, "GRANT SELECT ON app.z TO PUBLIC") // which writes its row of pg_class
			r, err := b.update("app.z", setV("1"), nil, "id = 1")
			if c.denied {
				require.Contains(t, requireCode(t, err, refusal.RuleDenied), "delete on app.z")
				return
			}
			require.NoError(t, err)
			require.Equal(t, plan.AwaitingApproval, r.Plan.State)
		})
	}
	const stuff = "CREATE TABLE lone (id int PRIMARY KEY, t text); INSERT INTO lone VALUES (1, 'a'); CREATE MATERIALIZED VIEW mv AS SELECT id FROM lone; CREATE UNIQUE INDEX ON mv (id);"
	for name, c := range map[string]struct {
		text string
		asks bool
	}{
		"a table":                       {"DROP TABLE app.lone CASCADE", true},
		"a view":                        {"DROP MATERIALIZED VIEW app.mv", true},
		"a table, and an index is made": {"CREATE INDEX ON app.rest (v); DROP TABLE app.lone CASCADE", true},
		"a table, and another is made":  {"CREATE TABLE app.lone2 (id int PRIMARY KEY, t text); DROP TABLE app.lone CASCADE", true},
		"a table, and a temporary one":  {"CREATE TEMP TABLE once (id int PRIMARY KEY, t text); DROP TABLE once; DROP TABLE app.lone CASCADE", true},
		"a temporary table":             {"CREATE TEMP TABLE once (id int PRIMARY KEY, t text); INSERT INTO once VALUES (1); DROP TABLE once", false},
		"refreshed beside":              {"UPDATE app.lone SET id = 2; REFRESH MATERIALIZED VIEW CONCURRENTLY app.mv", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := belowBundle(t, stuff+reaches(atOnce, c.text))
			r, err := b.update("app.free", setV("1"), nil, "id = 1")
			require.NoError(t, err)
			if !c.asks {
				require.Equal(t, plan.Previewed, r.Plan.State, r.Plan.Why)
				return
			}
			require.Equal(t, plan.AwaitingApproval, r.Plan.State)
			require.Contains(t, r.Plan.Why, "could not be counted whole")
			b.approve(r)
			_, err = b.execute(r)
			require.NoError(t, err, "the same again")
		})
	}
	t.Run("dropped since the preview", func(t *testing.T) {
		t.Parallel()
		b := belowBundle(t, stuff+reaches(atOnce, "IF (SELECT v FROM app.free WHERE id = 9) = 1 THEN DROP TABLE app.lone CASCADE; END IF"))
		r, err := b.update("app.free", setV("1"), nil, "id = 1")
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, r.Plan.State)
		b.db.Exec(t, "ALTER TABLE app.free DISABLE TRIGGER reach; UPDATE app.free SET v = 1 WHERE id = 9; ALTER TABLE app.free ENABLE TRIGGER reach")
		_, err = b.execute(r)
		requireCode(t, err, refusal.RowsetChanged)
		require.Equal(t, "1", b.one("SELECT count(*) FROM app.lone"))
	})
}

// A rule about migrations of an heir is not in the way of what stays with the table above it.
func TestMigrationsStayAbove(t *testing.T) {
	t.Parallel()
	b := belowBundle(t, `DROP VIEW over_book; CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER tr BEFORE UPDATE ON book FOR EACH ROW EXECUTE FUNCTION nothing();
		ALTER TABLE book ADD CONSTRAINT own CHECK (v < 1000) NO INHERIT; ALTER TABLE book ADD CONSTRAINT uni UNIQUE (id); CREATE INDEX book_v ON book (v); CREATE STATISTICS st ON id, v FROM book; ALTER TABLE book ALTER v SET DEFAULT 1;`,
		on(t, only(toolpolicy.Migration), "app.note"))
	for _, sql := range []string{
		"DROP TRIGGER tr ON app.book", "ALTER TABLE app.book DROP CONSTRAINT own", "ALTER TABLE ONLY app.book DROP CONSTRAINT own", "ALTER TABLE app.book DROP CONSTRAINT uni", "DROP INDEX app.book_v",
		"DROP STATISTICS app.st", "ALTER TABLE ONLY app.book ALTER COLUMN v DROP DEFAULT", "ALTER TABLE ONLY app.book DROP COLUMN tenant",
	} {
		r, err := b.migrate(sql)
		require.NoError(t, err, sql)
		for _, l := range r.Plan.Facts.Locks {
			require.NotEqual(t, "app.note", l.Relation, sql)
		}
	}
	r, err := b.migrate("ALTER TABLE ONLY app.book DROP COLUMN tenant")
	require.NoError(t, err)
	require.Equal(t, int64(200), r.Plan.Facts.Lost[0].NonNullValues, "those of the table itself")
	b.approve(r)
	_, err = b.execute(r)
	require.NoError(t, err)
	for _, sql := range []string{"ALTER TABLE app.book DROP COLUMN id", "ALTER TABLE app.book ALTER COLUMN v DROP DEFAULT"} {
		_, err = b.migrate(sql)
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "app.note", sql)
	}
}

// What CASCADE takes from a table is a change of it, wherever that table stands.
func TestMigrationsTakeAlong(t *testing.T) {
	t.Parallel()
	b := belowBundle(t, `CREATE TYPE mood AS ENUM ('a'); CREATE DOMAIN dom AS int; CREATE SEQUENCE sq; CREATE TABLE pointed (id int PRIMARY KEY, u int UNIQUE);
		CREATE TABLE frozen (id int DEFAULT nextval('app.sq'), m mood, d dom, f int REFERENCES pointed); CREATE TABLE icy () INHERITS (frozen); CREATE TABLE pointing (id int, l int REFERENCES ledger ON DELETE CASCADE);`,
		on(t, only(toolpolicy.Migration), "app.frozen"), on(t, only(toolpolicy.Migration), "app.deep"))
	for _, sql := range []string{
		"DROP TABLE app.pointed CASCADE", "DROP TYPE app.mood CASCADE", "DROP DOMAIN app.dom CASCADE", "DROP SEQUENCE app.sq CASCADE", "ALTER TABLE app.pointed DROP COLUMN id CASCADE",
		"ALTER TABLE app.pointed DROP CONSTRAINT pointed_pkey CASCADE",
	} {
		_, err := b.migrate(sql)
		require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 1 does not allow migration on app.", sql)
	}
	for _, sql := range []string{"ALTER TABLE app.pointed DROP CONSTRAINT pointed_u_key CASCADE", "DROP TABLE app.pointing", "DROP TABLE app.free CASCADE"} {
		_, err := b.migrate(sql)
		if sql == "DROP TABLE app.free CASCADE" { // deep's own foreign key goes with that of the table above it
			require.Contains(t, requireCode(t, err, refusal.RuleDenied), "Rule 2 does not allow migration on app.deep")
			continue
		}
		require.NoError(t, err, sql)
	}
	b = belowBundle(t, "CREATE TABLE pointing (id int, l int REFERENCES ledger);", on(t, only(toolpolicy.Migration), "app.pointing"))
	r, err := b.migrate("ALTER TABLE app.ledger DETACH PARTITION app.rest") // of the key only the part for that goes
	require.NoError(t, err)
	require.Empty(t, r.Plan.Facts.Drops)
	_, err = b.migrate("ALTER TABLE app.ledger DROP CONSTRAINT ledger_pkey CASCADE")
	require.Contains(t, requireCode(t, err, refusal.RuleDenied), "migration on app.pointing")
	b = belowBundle(t, "CREATE TYPE mood AS ENUM ('a'); CREATE TABLE late (m text);", on(t, only(toolpolicy.Migration), "app.late"))
	r, err = b.migrate("DROP TYPE app.mood CASCADE")
	require.NoError(t, err)
	b.approve(r)
	b.db.Exec(t, "ALTER TABLE app.late ADD n app.mood")
	_, err = b.execute(r)
	require.Error(t, err)
	require.Equal(t, "1", b.one("SELECT count(*) FROM pg_type WHERE typname = 'mood'"))
}
