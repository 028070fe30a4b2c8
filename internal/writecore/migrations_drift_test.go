package writecore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// TestMigrationsAreBoundToTheirDefinitions: whatever of the relations and types that a migration names is
// another between approval and execute stops it, and the answer says which one.
func TestMigrationsAreBoundToTheirDefinitions(t *testing.T) {
	t.Parallel()
	const add = "ALTER TABLE app.t ADD COLUMN fresh int REFERENCES app.u"
	db := pgtemp.New(t)
	db.Exec(t, "GRANT CREATE ON DATABASE "+db.Name+" TO migrator;"+migrationsSeeSQL)
	s := newSuite(t, db)
	for _, c := range []struct{ sql, change, says string }{
		{add, "ALTER TABLE app.t ADD COLUMN x int", "app.t"},
		{add, "ALTER TABLE app.t DROP COLUMN old", "app.t"},
		{add, "ALTER TABLE app.t RENAME COLUMN old TO older", "app.t"},
		{add, "ALTER TABLE app.t ALTER COLUMN old TYPE varchar(50)", "app.t"},
		{add, "ALTER TABLE app.t ALTER COLUMN old SET DEFAULT 'x'", "app.t"},
		{add, "ALTER TABLE app.t ALTER COLUMN b DROP NOT NULL", "app.t"},
		{add, "ALTER TABLE app.t ADD CHECK (a < 5000)", "app.t"},
		{add, "ALTER TABLE app.t DROP CONSTRAINT t_a_check", "app.t"},
		{add, "ALTER TABLE app.t VALIDATE CONSTRAINT t_loose", "app.t"},
		{add, "ALTER TABLE app.t ADD UNIQUE (id, a)", "app.t"},
		{add, "CREATE INDEX ON app.t (n)", "app.t"},
		{add, "DROP INDEX app.t_b", "app.t"},
		{add, "DROP INDEX app.t_b; CREATE INDEX t_b ON app.t (b DESC)", "app.t"},
		{add, "CREATE TRIGGER x BEFORE INSERT ON app.t FOR EACH ROW EXECUTE FUNCTION app.touch()", "app.t"},
		{add, "ALTER TABLE app.t DISABLE TRIGGER t_touch", "app.t"},
		{add, "DROP TRIGGER t_touch ON app.t", "app.t"},
		{add, "ALTER TABLE app.u ADD COLUMN x int", "app.u"}, // only pointed to
		{add, "CREATE UNIQUE INDEX ON app.u (code, id)", "app.u"},
		{"CREATE TABLE app.x (LIKE app.t)", "ALTER TABLE app.t ADD COLUMN x int", "app.t"},
		{"CREATE VIEW app.x AS SELECT * FROM app.v", "CREATE OR REPLACE VIEW app.v AS SELECT id, a * 2 AS a FROM app.t", "app.v"},
		{"ALTER TABLE app.p ATTACH PARTITION app.q FOR VALUES FROM (10) TO (20)", "ALTER TABLE app.q ADD CHECK (d < 20)", "app.q"},
		{"DROP STATISTICS app.t_stats", "ALTER TABLE app.t ADD COLUMN x int", "app.t"},
		{"ALTER TYPE app.mood RENAME VALUE 'ok' TO 'fine'", "ALTER TYPE app.mood ADD VALUE 'new'", "mood"},
		{"ALTER TYPE app.mood ADD VALUE 'happy'", "ALTER TYPE app.mood RENAME VALUE 'ok' TO 'fine'", "mood"},
		{"ALTER DOMAIN app.small DROP NOT NULL", "ALTER DOMAIN app.small ADD CHECK (VALUE < 5)", "small"},
		{"ALTER DOMAIN app.small SET DEFAULT 1", "ALTER DOMAIN app.small SET DEFAULT 2", "small"},
		{"COMMENT ON TYPE app.spare IS 'x'", "DROP TYPE app.spare; CREATE TYPE app.spare AS ENUM ('y')", "spare"},
		{"CREATE TRIGGER x BEFORE INSERT ON app.t FOR EACH ROW EXECUTE FUNCTION app.touch()", "DROP FUNCTION app.touch() CASCADE; CREATE FUNCTION app.touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'", "touch"},
	} {
		t.Run(c.sql+" / "+c.change, func(t *testing.T) {
			s.bundle.t = t
			s.reset()
			r, _, err := s.preview(migrationCase{sql: c.sql})
			require.NoError(t, err)
			s.approve(r)
			s.db.Exec(t, "SET ROLE migrator; "+c.change)
			before := s.snapshot()
			_, err = s.execute(r)
			require.Contains(t, requireCode(t, err, refusal.RowsetChanged), c.says)
			require.Empty(t, difference(before, s.snapshot()))
		})
	}
}

// TestAMigrationDoesNotKeepReadersOut: while a preview, or an approved migration, waits behind a long reader,
// everybody else waits behind it: for no longer than the lock timeout of migrations, and a second.
func TestAMigrationDoesNotKeepReadersOut(t *testing.T) {
	t.Parallel()
	const lockTimeout = time.Second // of every migration, however long write.lockTimeoutMs is
	b := setup(t, tinySQL, func(o *writecore.Options) { o.LockTimeout = 30 * time.Second })
	const text = "ALTER TABLE app.t ADD COLUMN x int"
	r, err := b.migrate(text)
	require.NoError(t, err)
	b.approve(r)
	b.other("BEGIN", "SELECT count(*) FROM app.t") // the long reader: it never ends
	for name, migrate := range map[string]func() error{
		"preview": func() error { _, err := b.migrate("ALTER TABLE app.t ADD COLUMN y int"); return err },
		"execute": func() error { _, err := b.execute(r); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- migrate() }()
		b.waits()
		waited := b.one("SELECT extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 * 1000 FROM app.t LIMIT 1")
		ms, err := strconv.ParseFloat(waited, 64)
		require.NoError(t, err)
		require.Less(t, ms, float64((lockTimeout + time.Second).Milliseconds()), "%s: the other reader waited too long", name)
		require.Contains(t, requireCode(t, <-done, refusal.LockTimeout), "pid ", name)
		require.Equal(t, "0", b.one("SELECT count(*) FROM pg_locks WHERE relation = 'app.t'::regclass AND mode = 'AccessExclusiveLock'"), name)
	}
	require.Equal(t, "2", b.one("SELECT count(*) FROM pg_attribute WHERE attrelid = 'app.t'::regclass AND attnum > 0"))
}

// TestEverythingThatCascadeDrops: Postgres' own list ends after 100 names, this one does not.
func TestEverythingThatCascadeDrops(t *testing.T) {
	t.Parallel()
	var views strings.Builder
	for i := range 130 {
		fmt.Fprintf(&views, "CREATE VIEW v%03d AS SELECT id FROM t;", i)
	}
	b := setup(t, tinySQL+views.String())
	r, err := b.migrate("DROP TABLE app.t CASCADE")
	require.NoError(t, err)
	require.Len(t, r.Plan.Facts.Drops, 131)
	require.Contains(t, str(r.Plan.Facts.Drops), "app.v129")
	require.NotContains(t, str(r.Plan.Facts.Notices), "app.v129", "what Postgres says is cut")
	_, err = b.migrate("DROP TABLE app.t")
	require.Error(t, err)
	requireCode(t, err, refusal.WriteFailed)
}

// TestMigrationsAreOneMessage: text that ends a statement, or a transaction, before another one is refused by
// name, and what is sent goes by the protocol that takes one statement.
func TestMigrationsAreOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	for _, text := range []string{
		"/**/ SELECT 1; CREATE TABLE app.x ()", "COMMIT; DROP SCHEMA app CASCADE", "CREATE TABLE app.x (); COMMIT", "-- x\nDROP TABLE app.t; ROLLBACK",
		"CREATE TABLE app.x (id int); -- \n; DROP TABLE app.t", "\ufeffCOMMIT; DROP TABLE app.t",
	} {
		_, err := b.guard.Migration(b.ctx, b.pools.Writer().Catalog(), text)
		require.Error(t, err, text)
	}
	s, err := b.pools.Writer().Acquire(b.ctx)
	require.NoError(t, err)
	defer s.Release()
	replies, err := s.Flush(b.ctx, wire.Segment{{SQL: "/**/ SELECT 1; CREATE TABLE app.x ()"}})
	require.NoError(t, err)
	require.NotNil(t, replies[0].Err)
	require.Equal(t, "42601", replies[0].Err.SQLState)
	require.Equal(t, "<null>", b.one("SELECT to_regclass('app.x')::text"))
}

// TestMigrationJoinsOnlyWhatWouldRun: a second preview of a migration joins the open plan only where executing
// that plan would find what it compares; otherwise it is a plan of its own, which can be executed.
func TestMigrationJoinsOnlyWhatWouldRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, change string }{
		"more rows are lost":   {"DROP TABLE app.t", "INSERT INTO app.t VALUES (2, 2)"},
		"more values are lost": {"ALTER TABLE app.t DROP COLUMN v", "UPDATE app.t SET v = 1"},
		"more is dropped":      {"DROP TABLE app.t CASCADE", "CREATE VIEW app.w AS SELECT id FROM app.t"},
		"another definition":   {"ALTER TABLE app.t ADD COLUMN w int", "ALTER TABLE app.t ADD COLUMN x int"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, NULL)")
			first, err := b.migrate(c.text)
			require.NoError(t, err)
			same, err := b.migrate(c.text)
			require.NoError(t, err)
			require.Equal(t, first.Plan.Token, same.Plan.Token)
			b.db.Exec(t, "SET ROLE migrator; "+c.change)
			second, err := b.migrate(c.text)
			require.NoError(t, err)
			require.NotEqual(t, first.Plan.Token, second.Plan.Token)
			_, err = b.execute(first)
			requireCode(t, err, refusal.SupersededPlan)
			b.approve(second)
			_, err = b.execute(second)
			require.NoError(t, err)
		})
	}
}
