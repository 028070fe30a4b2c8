package writecore_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// madeSQL is a table whose values come from everywhere, and one behind it.
const madeSQL = `CREATE FUNCTION twice(v int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v * 2';
	CREATE FUNCTION first() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
	CREATE DOMAIN grade AS int DEFAULT 7;
	CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL DEFAULT 1, w int DEFAULT first(), g grade, d int GENERATED ALWAYS AS (v + 1) STORED, note text);
	INSERT INTO t VALUES (1, 0), (2, 0);
	CREATE TABLE log (t int, v int DEFAULT 1);
	CREATE TABLE child (id int PRIMARY KEY, t int DEFAULT 2 REFERENCES t ON DELETE SET NULL);
	INSERT INTO child VALUES (1, 1);
	CREATE FUNCTION logs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO app.log (t) VALUES (1); RETURN NEW; END $$;
	CREATE FUNCTION stamps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'a'; RETURN NEW; END $$;
	CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'b'; RETURN NEW; END $$;
	CREATE TRIGGER logs AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION logs();
	CREATE TRIGGER stamps BEFORE INSERT OR UPDATE ON t FOR EACH ROW WHEN (NEW.v >= 0) EXECUTE FUNCTION stamps();
	CREATE VIEW shown AS SELECT id, v FROM t;
	CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN UPDATE app.t SET v = NEW.v WHERE id = NEW.id; RETURN NEW; END $$;
	CREATE VIEW odd AS SELECT DISTINCT id, v FROM t;
	CREATE TRIGGER through INSTEAD OF UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION through();
	CREATE TABLE part (id int, v int DEFAULT 1) PARTITION BY RANGE (id); CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
	CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20); INSERT INTO part VALUES (1), (11);
	ALTER TABLE t OWNER TO migrator; ALTER FUNCTION stamps OWNER TO migrator;`

// TestS04TheValuesAreMadeAsApproved: rows and counts stay the same, but what makes the new values is another
// thing than at the preview. Whatever it is, execute stops and names it, and so does the page's check.
func TestS04TheValuesAreMadeAsApproved(t *testing.T) {
	t.Parallel()
	update := func(b *bundle) (writecore.Reply, error) { return b.update("app.t", setV("5"), nil, "id = 1") }
	insert := func(b *bundle) (writecore.Reply, error) { return b.insert("app.t", []string{"id"}, raws("9")) }
	remove := func(b *bundle) (writecore.Reply, error) { return b.delete("app.t", "id = 1") }
	calls := func(b *bundle) (writecore.Reply, error) {
		return b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "app.twice(v + 1)"}}, "id = 1")
	}
	for name, c := range map[string]struct {
		preview func(*bundle) (writecore.Reply, error)
		change  string
		want    string
	}{
		"a trigger is added":           {update, "CREATE TRIGGER z BEFORE UPDATE ON app.t FOR EACH ROW EXECUTE FUNCTION app.other()", "the triggers of app.t"},
		"a trigger is replaced":        {update, "CREATE OR REPLACE TRIGGER stamps BEFORE INSERT OR UPDATE ON app.t FOR EACH ROW EXECUTE FUNCTION app.other()", "the triggers of app.t"},
		"a trigger is disabled":        {update, "ALTER TABLE app.t DISABLE TRIGGER stamps", "the triggers of app.t"},
		"a trigger's condition":        {update, "CREATE OR REPLACE TRIGGER stamps BEFORE INSERT OR UPDATE ON app.t FOR EACH ROW WHEN (NEW.v >= 1) EXECUTE FUNCTION app.stamps()", "the triggers of app.t"},
		"a trigger's order":            {update, "ALTER TRIGGER stamps ON app.t RENAME TO zzz", "the triggers of app.t"},
		"a trigger's function":         {update, "CREATE OR REPLACE FUNCTION app.stamps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'c'; RETURN NEW; END $$", "the triggers of app.t"},
		"a trigger function's setting": {update, "ALTER FUNCTION app.stamps() SET search_path = app", "the triggers of app.t"},
		"a function in the statement":  {calls, "CREATE OR REPLACE FUNCTION app.twice(v int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v * 3'", "the function twice"},
		"a default":                    {insert, "ALTER TABLE app.t ALTER v SET DEFAULT 2", "the columns of app.t"},
		"a default is dropped":         {insert, "ALTER TABLE app.t ALTER w DROP DEFAULT", "the columns of app.t"},
		"a function in a default":      {insert, "CREATE OR REPLACE FUNCTION app.first() RETURNS int LANGUAGE sql STABLE AS 'SELECT 2'", "the columns of app.t"},
		"a domain's default":           {insert, "ALTER DOMAIN app.grade SET DEFAULT 8", "the columns of app.t"},
		"a generated expression":       {insert, "ALTER TABLE app.t DROP d; ALTER TABLE app.t ADD d int GENERATED ALWAYS AS (v + 2) STORED", ""},
		"a length":                     {update, "ALTER TABLE app.t ALTER note TYPE varchar(20)", ""},
		"a table behind: its default":  {update, "ALTER TABLE app.log ALTER v SET DEFAULT 2", "the columns of app.log"},
		"a table behind: a trigger":    {update, "CREATE FUNCTION app.l() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := 9; RETURN NEW; END $$; CREATE TRIGGER l BEFORE INSERT ON app.log FOR EACH ROW EXECUTE FUNCTION app.l()", "the triggers of app.log"},
		"a table behind: a rule":       {update, "CREATE RULE r AS ON INSERT TO app.log DO ALSO SELECT 1", "the rules or policies of app.log"},
		"a policy":                     {update, "CREATE POLICY p ON app.log USING (true)", "the rules or policies of app.log"},
		"what a foreign key does":      {remove, "ALTER TABLE app.child DROP CONSTRAINT child_t_fkey; ALTER TABLE app.child ADD CONSTRAINT child_t_fkey FOREIGN KEY (t) REFERENCES app.t ON DELETE SET DEFAULT", "what the foreign keys of app.child do"},
		"the table below a view":       {func(b *bundle) (writecore.Reply, error) { return b.update("app.shown", setV("5"), nil, "id = 1") }, "ALTER TABLE app.t DISABLE TRIGGER stamps", "the triggers of app.t"},
		"the trigger of a view":        {func(b *bundle) (writecore.Reply, error) { return b.update("app.odd", setV("5"), nil, "id = 1") }, "CREATE OR REPLACE FUNCTION app.through() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN UPDATE app.t SET v = NEW.v + 1 WHERE id = NEW.id; RETURN NEW; END $$", "the triggers of app.odd"},
		"a partition's trigger":        {func(b *bundle) (writecore.Reply, error) { return b.update("app.part", setV("5"), nil, "id = 1") }, "CREATE FUNCTION app.l() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := 9; RETURN NEW; END $$; CREATE TRIGGER l BEFORE UPDATE ON app.part_1 FOR EACH ROW EXECUTE FUNCTION app.l()", "the triggers of app.part_1"},
		"under a snapshot (sub-select)": {func(b *bundle) (writecore.Reply, error) {
			return b.update("app.t", setV("5"), nil, "id IN (SELECT 1 FROM app.child)")
		}, "ALTER TABLE app.t DISABLE TRIGGER stamps", "the triggers of app.t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, madeSQL)
			r, err := c.preview(b)
			require.NoError(t, err)
			if r.Plan.State == plan.AwaitingApproval {
				b.approve(r)
			}
			require.NoError(t, b.core.Recheck(b.ctx, r.Plan.Token))
			was := b.one("SELECT string_agg(row_to_json(t)::text, ' ' ORDER BY id) FROM app.t")
			b.db.Exec(t, "SET ROLE migrator; SET search_path = app; "+c.change)
			requireCode(t, b.core.Recheck(b.ctx, r.Plan.Token), refusal.RowsetChanged)
			_, err = b.execute(r)
			require.Contains(t, requireCode(t, err, refusal.RowsetChanged), c.want)
			if c.want != "" {
				require.Equal(t, was, b.one("SELECT string_agg(row_to_json(t)::text, ' ' ORDER BY id) FROM app.t"))
			}
			again, err := c.preview(b) // what is true now can be approved
			require.NoError(t, err)
			require.NotEqual(t, r.Plan.Token, again.Plan.Token)
			if again.Plan.State == plan.AwaitingApproval {
				b.approve(again)
			}
			_, err = b.execute(again)
			require.NoError(t, err)
		})
	}
}

// TestUnrelatedChangesStopNothing: upkeep, grants, comments, indexes, checks and what happens to other tables
// and other partitions leaves a plan as it was.
func TestUnrelatedChangesStopNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, madeSQL+"CREATE TABLE apart (id int);")
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	p, err := b.update("app.part", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	for _, sql := range []string{
		"ANALYZE app.t", "VACUUM app.log", "VACUUM FULL pg_proc", "VACUUM FULL pg_trigger", "REINDEX TABLE app.t",
		`SET ROLE migrator; SET search_path = app;
		CREATE INDEX ON t (v); COMMENT ON TABLE t IS 'x'; GRANT SELECT ON t TO PUBLIC; GRANT EXECUTE ON FUNCTION stamps() TO PUBLIC; COMMENT ON FUNCTION stamps() IS 'x';
		ALTER TABLE t ADD CHECK (v < 1000); ALTER TABLE t SET (fillfactor = 90); ALTER TABLE t ALTER note SET STATISTICS 5; CREATE STATISTICS s ON v, w FROM t;
		CREATE TABLE fresh (t int REFERENCES t); CREATE TRIGGER z BEFORE UPDATE ON apart FOR EACH ROW EXECUTE FUNCTION other();
		CREATE OR REPLACE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
		CREATE TRIGGER z BEFORE UPDATE ON part_2 FOR EACH ROW EXECUTE FUNCTION other(); CREATE VIEW fresh_view AS SELECT * FROM t`,
		`SET ROLE migrator; SET search_path = app; CREATE TABLE later (a int); ALTER TABLE t VALIDATE CONSTRAINT t_v_check; CREATE INDEX t_w ON t (w); ALTER INDEX t_w RENAME TO t_w2; DROP INDEX t_w2;
		CREATE SEQUENCE s2; ALTER TABLE t CLUSTER ON t_pkey; CLUSTER t; ALTER TABLE t REPLICA IDENTITY FULL; REVOKE SELECT ON t FROM PUBLIC`,
		// the same again is the same
		`SET ROLE migrator; SET search_path = app; ALTER TABLE t DISABLE TRIGGER stamps; ALTER TABLE t ENABLE TRIGGER stamps; ALTER TABLE t ALTER v SET DEFAULT 1;
		CREATE OR REPLACE FUNCTION stamps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'a'; RETURN NEW; END $$`,
	} {
		b.db.Exec(t, sql)
	}
	for _, r := range []writecore.Reply{r, p} {
		require.NoError(t, b.core.Recheck(b.ctx, r.Plan.Token))
		_, err = b.execute(r)
		require.NoError(t, err)
	}
}

// TestPartitionsComeAndGo: that a table gets a partition, or loses one of which nothing is changed, stops no plan.
func TestPartitionsComeAndGo(t *testing.T) {
	t.Parallel()
	b := setup(t, madeSQL+"CREATE VIEW over AS SELECT id, v FROM part; ALTER VIEW over OWNER TO migrator; GRANT SELECT, UPDATE ON part TO migrator;")
	r, err := b.update("app.part", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	v, err := b.update("app.over", setV("6"), nil, "id = 11")
	require.NoError(t, err)
	e, err := b.update("app.t", setV("6"), nil, "id IN (SELECT id FROM app.part)")
	require.NoError(t, err)
	i, err := b.insert("app.part", []string{"id"}, raws("3"))
	require.NoError(t, err)
	for _, sql := range []string{
		"CREATE TABLE app.part_3 PARTITION OF app.part FOR VALUES FROM (20) TO (30)",
		"CREATE TABLE app.part_4 (id int, v int DEFAULT 1); ALTER TABLE app.part ATTACH PARTITION app.part_4 FOR VALUES FROM (30) TO (40)",
		"CREATE INDEX ON app.part (v)", "ALTER TABLE app.part DETACH PARTITION app.part_3",
	} {
		b.db.Exec(t, sql)
	}
	for _, r := range []writecore.Reply{r, v, e, i} {
		if r.Plan.State == plan.AwaitingApproval {
			b.approve(r)
		}
		require.NoError(t, b.core.Recheck(b.ctx, r.Plan.Token))
		_, err = b.execute(r)
		require.NoError(t, err)
	}
	// One that brings rows is another matter.
	gone, err := b.delete("app.part", "id > 5")
	require.NoError(t, err)
	b.db.Exec(t, "CREATE TABLE app.part_5 (id int, v int DEFAULT 1); INSERT INTO app.part_5 VALUES (41); ALTER TABLE app.part ATTACH PARTITION app.part_5 FOR VALUES FROM (40) TO (50)")
	_, err = b.execute(gone)
	requireCode(t, err, refusal.RowsetChanged)
}

// during runs execute while the owner has an open transaction in which sql was run, and commits that once
// execute waits for it.
func (b *bundle) during(r writecore.Reply, sql string) error {
	b.t.Helper()
	c, err := pgconn.Connect(b.ctx, b.db.Super)
	require.NoError(b.t, err)
	defer func() { _ = c.Close(b.ctx) }()
	_, err = c.Exec(b.ctx, "SET ROLE migrator; SET search_path = app; BEGIN; "+sql).ReadAll()
	require.NoError(b.t, err)
	done := make(chan error, 1)
	go func() {
		_, err := b.execute(r)
		done <- err
	}()
	b.waits()
	_, err = c.Exec(b.ctx, "COMMIT").ReadAll()
	require.NoError(b.t, err)
	return <-done
}

// TestS04DefinitionsUnderASnapshot: where execute runs on one snapshot, what an open transaction changes in the
// definition of any table that is written, whichever way it is reached and whatever the writer may do there, or
// in a function that it runs, is seen though it commits while execute waits for it.
func TestS04DefinitionsUnderASnapshot(t *testing.T) {
	t.Parallel()
	elsewhere := func(b *bundle) (writecore.Reply, error) {
		return b.update("app.t", setV("5"), nil, "id IN (SELECT 1 FROM app.child)")
	}
	view := func(b *bundle) (writecore.Reply, error) { return b.update("app.shown", setV("5"), nil, "id = 1") }
	remove := func(b *bundle) (writecore.Reply, error) {
		return b.delete("app.t", "id IN (SELECT t FROM app.child)")
	}
	parts := func(b *bundle) (writecore.Reply, error) {
		return b.update("app.part", setV("5"), nil, "id IN (SELECT id FROM app.t)")
	}
	const trigger = "CREATE FUNCTION l() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := 9; RETURN NEW; END $$; CREATE TRIGGER l BEFORE INSERT OR UPDATE ON "
	const closed = "REVOKE ALL ON log, child FROM writer; CREATE DOMAIN mark AS int DEFAULT 1; ALTER TABLE log ADD m mark, ADD d int GENERATED ALWAYS AS (t + 1) STORED;" +
		"CREATE FUNCTION marks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := 1; RETURN NEW; END $$; CREATE TRIGGER marks BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION marks(); GRANT SELECT ON child TO writer;"
	const stamps = "CREATE OR REPLACE FUNCTION app.stamps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'c'; RETURN NEW; END $$"
	const columns = "REVOKE INSERT, UPDATE, DELETE ON app.t FROM writer; GRANT UPDATE (v) ON app.t TO writer; "
	for name, c := range map[string]struct {
		before  string
		preview func(*bundle) (writecore.Reply, error)
		change  string
		want    string
	}{
		"a trigger is disabled":      {"", elsewhere, "ALTER TABLE t DISABLE TRIGGER stamps", "the triggers of app.t"},
		"a trigger is added":         {"", elsewhere, "CREATE TRIGGER z BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION other()", "the triggers of app.t"},
		"a generated column":         {"", elsewhere, "ALTER TABLE t DROP d; ALTER TABLE t ADD d int GENERATED ALWAYS AS (v + 2) STORED", ""},
		"below a view":               {"", view, "ALTER TABLE t DISABLE TRIGGER stamps", "the triggers of app.t"},
		"a function, and its table":  {"", elsewhere, stamps + "; LOCK TABLE t", "the triggers of app.t"},
		"a function, and its row":    {"", elsewhere, stamps + "; LOCK TABLE log", "the triggers of app.t"},
		"a function (a column only)": {columns, elsewhere, stamps + "; LOCK TABLE t", "the triggers of app.t"},
		"a trigger (a column only)":  {columns, elsewhere, "ALTER TABLE t DISABLE TRIGGER stamps", "the triggers of app.t"},
		// what only a trigger, a cascade or a partition leads to
		"behind: a trigger is added":        {"", elsewhere, trigger + "log FOR EACH ROW EXECUTE FUNCTION l()", "the triggers of app.log"},
		"behind: a default":                 {"", elsewhere, "ALTER TABLE log ALTER v SET DEFAULT 2", "the columns of app.log"},
		"no right: a trigger is added":      {closed, elsewhere, trigger + "log FOR EACH ROW EXECUTE FUNCTION l()", "the triggers of app.log"},
		"no right: a trigger is disabled":   {closed, elsewhere, "ALTER TABLE log DISABLE TRIGGER marks", "the triggers of app.log"},
		"no right: a trigger is replaced":   {closed, elsewhere, "CREATE OR REPLACE TRIGGER marks BEFORE INSERT ON log FOR EACH ROW WHEN (NEW.t > 0) EXECUTE FUNCTION marks()", "the triggers of app.log"},
		"no right: a trigger is renamed":    {closed, elsewhere, "ALTER TRIGGER marks ON log RENAME TO zzz", "the triggers of app.log"},
		"no right: a trigger goes":          {closed, elsewhere, "DROP TRIGGER marks ON log", "the triggers of app.log"},
		"no right: a rule":                  {closed, elsewhere, "CREATE OR REPLACE RULE r AS ON INSERT TO log DO ALSO SELECT 1", "the rules or policies of app.log"},
		"no right: a policy":                {closed, elsewhere, "CREATE POLICY p ON log USING (true)", "the rules or policies of app.log"},
		"no right: a default":               {closed, elsewhere, "ALTER TABLE log ALTER v SET DEFAULT 2", "the columns of app.log"},
		"no right: a default goes":          {closed, elsewhere, "ALTER TABLE log ALTER v DROP DEFAULT", "the columns of app.log"},
		"no right: a domain's default":      {closed, elsewhere, "ALTER DOMAIN mark SET DEFAULT 2; LOCK TABLE log", "the columns of app.log"},
		"no right: a generated column":      {closed, elsewhere, "ALTER TABLE log DROP d; ALTER TABLE log ADD d int GENERATED ALWAYS AS (t + 2) STORED", "the columns of app.log"},
		"no right: a column is added":       {closed, elsewhere, "ALTER TABLE log ADD e int DEFAULT 3", "the columns of app.log"},
		"no right: an identity":             {closed, elsewhere, "ALTER TABLE log ADD e int GENERATED ALWAYS AS IDENTITY", "the columns of app.log"},
		"a cascade: a trigger is added":     {closed, remove, "CREATE FUNCTION l() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$; CREATE TRIGGER l BEFORE UPDATE ON child FOR EACH ROW EXECUTE FUNCTION l()", "the triggers of app.child"},
		"a cascade: what it does":           {closed, remove, "ALTER TABLE child DROP CONSTRAINT child_t_fkey, ADD CONSTRAINT child_t_fkey FOREIGN KEY (t) REFERENCES t ON DELETE SET NULL ON UPDATE CASCADE", "what the foreign keys of app.child do"},
		"a partition: a trigger is added":   {"", parts, trigger + "part_1 FOR EACH ROW EXECUTE FUNCTION l()", "the triggers of app.part_1"},
		"behind a view: a trigger is added": {"", view, trigger + "log FOR EACH ROW EXECUTE FUNCTION l()", "the triggers of app.log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, madeSQL+c.before)
			r, err := c.preview(b)
			require.NoError(t, err)
			if r.Plan.State == plan.AwaitingApproval {
				b.approve(r)
			}
			was := b.one("SELECT string_agg(concat(id, v, note), ' ' ORDER BY id) FROM app.t")
			require.Contains(t, requireCode(t, b.during(r, c.change), refusal.RowsetChanged), c.want)
			require.Equal(t, was, b.one("SELECT string_agg(concat(id, v, note), ' ' ORDER BY id) FROM app.t"))
			again, err := c.preview(b)
			require.NoError(t, err)
			if again.Plan.State == plan.AwaitingApproval {
				b.approve(again)
			}
			_, err = b.execute(again)
			require.NoError(t, err)
		})
	}
}

// TestS04AFunctionIsReplacedMeanwhile: a function that the text itself calls is replaced by somebody who holds
// the rows, or the table, while execute waits for them.
func TestS04AFunctionIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, want string }{
		"its body":            {"CREATE OR REPLACE FUNCTION twice(v int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v * 3'", "the function twice"},
		"a default of it":     {"CREATE OR REPLACE FUNCTION plus(v int, w int DEFAULT 2) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v + w'", "the function plus"},
		"that of an operator": {"CREATE OR REPLACE FUNCTION opp(v int, w int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v - w'", "the operator"},
	} {
		for _, rows := range []string{"SELECT FROM t WHERE id = 1 FOR UPDATE", "LOCK TABLE t"} {
			t.Run(name+", "+rows, func(t *testing.T) {
				t.Parallel()
				b := setup(t, madeSQL+`CREATE FUNCTION plus(v int, w int DEFAULT 1) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v + w';
					CREATE FUNCTION opp(v int, w int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v + w'; CREATE OPERATOR app.#+ (FUNCTION = opp, LEFTARG = int, RIGHTARG = int);
					ALTER FUNCTION twice OWNER TO migrator; ALTER FUNCTION plus OWNER TO migrator; ALTER FUNCTION opp OWNER TO migrator;`)
				r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "app.twice(app.plus(v)) OPERATOR(app.#+) 1"}}, "id = 1")
				require.NoError(t, err)
				if r.Plan.State == plan.AwaitingApproval {
					b.approve(r)
				}
				require.Contains(t, requireCode(t, b.during(r, c.change+"; "+rows), refusal.RowsetChanged), c.want)
				require.Equal(t, "0", b.one("SELECT v FROM app.t WHERE id = 1"))
			})
		}
	}
}
