package writecore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// bigSQL is a table of some 11 MB beside small ones.
const bigSQL = `CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1);
	CREATE TABLE big (id int PRIMARY KEY, a int, note text, pid int); INSERT INTO big SELECT g, g, repeat('x', 300), 1 FROM generate_series(1, 33000) g;
	CREATE TABLE tiny (id int PRIMARY KEY, a int); INSERT INTO tiny VALUES (1, 1);
	CREATE FUNCTION uses_note() RETURNS text LANGUAGE sql STABLE AS 'SELECT note FROM app.big LIMIT 1';`

// codes are the warnings of a migration other than those about locks, which every one has.
func codes(p plan.Plan) string {
	var out []string
	for _, w := range p.Warnings {
		if w.Code != plan.WarnBlocksWrites {
			out = append(out, w.Code)
		}
	}
	return strings.Join(out, " ")
}

// Advice stands where the facts say that it matters: what a form of the text might do elsewhere is no reason.
func TestMigrationAdvice(t *testing.T) {
	t.Parallel()
	b := setup(t, bigSQL)
	for _, c := range []struct {
		text, scans, rewrites, warnings, recipe string
	}{
		{text: "ALTER TABLE app.big ALTER COLUMN a TYPE bigint", rewrites: "app.big app.big_pkey", warnings: "REWRITES_TABLE REWRITES_TABLE", recipe: "fill it in batches"},
		{text: "ALTER TABLE app.tiny ALTER COLUMN a TYPE bigint", rewrites: "app.tiny app.tiny_pkey", warnings: "REWRITES_TABLE REWRITES_TABLE"},
		{text: "ALTER TABLE app.big ALTER COLUMN note TYPE varchar"},
		{text: "ALTER TABLE app.big ALTER COLUMN a SET NOT NULL", scans: "app.big", warnings: "SCANS_TABLE", recipe: "CHECK (column IS NOT NULL) NOT VALID"},
		{text: "ALTER TABLE app.tiny ALTER COLUMN a SET NOT NULL", scans: "app.tiny"},
		{text: "ALTER TABLE app.big ADD CHECK (a > 0)", scans: "app.big", warnings: "SCANS_TABLE", recipe: "NOT VALID"},
		{text: "ALTER TABLE app.big ADD CHECK (a > 0) NOT VALID"},
		{text: "ALTER TABLE app.big ADD FOREIGN KEY (pid) REFERENCES app.p", scans: "app.big app.p", warnings: "SCANS_TABLE", recipe: "NOT VALID"},
		{text: "ALTER TABLE app.big ADD FOREIGN KEY (pid) REFERENCES app.p NOT VALID"},
		{text: "ALTER TABLE app.big ADD COLUMN c int NOT NULL DEFAULT 5"},
		{text: "ALTER TABLE app.big ADD COLUMN c timestamptz DEFAULT now()"},
		{text: "ALTER TABLE app.big ADD COLUMN c float DEFAULT random()", rewrites: "app.big app.big_pkey", warnings: "REWRITES_TABLE REWRITES_TABLE", recipe: "without the default"},
		{text: "CREATE INDEX ON app.big (a)", scans: "app.big", warnings: "SCANS_TABLE", recipe: "CONCURRENTLY"},
		{text: "CREATE INDEX ON app.tiny (a)", scans: "app.tiny"},
		{text: "ALTER TABLE app.big ADD UNIQUE (a)", scans: "app.big", warnings: "SCANS_TABLE", recipe: "USING INDEX"},
		{text: "ALTER TABLE app.big RENAME COLUMN note TO remark", warnings: "NAME_IN_USE", recipe: "app.uses_note"},
		{text: "ALTER TABLE app.tiny RENAME TO small", warnings: "NAME_IN_USE", recipe: "leave a view of the old name"},
		{text: "ALTER TABLE app.big DROP COLUMN note", warnings: "DATA_LOST NAME_IN_USE", recipe: "app.uses_note"},
		{text: "ALTER TABLE app.big ADD COLUMN d int"},
	} {
		r, err := b.migrate(c.text)
		require.NoError(t, err, c.text)
		f := r.Plan.Facts
		require.Equal(t, c.scans, strings.Join(f.Scans, " "), c.text)
		require.Equal(t, c.rewrites, strings.Join(f.Rewrites, " "), c.text)
		require.Equal(t, c.warnings, codes(r.Plan), c.text)
		require.Contains(t, str(r.Plan.Warnings), c.recipe, c.text)
	}
}

// Of every name that goes a few functions are named, however many use another one, and only those that hold
// it as a word.
func TestMigrationNamesUsers(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE t (id int PRIMARY KEY, a int, note text, "odd (name" int);
		DO $$ BEGIN FOR i IN 10..80 LOOP EXECUTE format('CREATE FUNCTION uses_a_%s() RETURNS int LANGUAGE sql AS ''SELECT a FROM app.t''', i); END LOOP; END $$;
		CREATE FUNCTION uses_note() RETURNS text LANGUAGE sql AS 'SELECT NOTE FROM app.t';
		CREATE FUNCTION odd() RETURNS int LANGUAGE sql AS 'SELECT t."odd (name" FROM app.t';
		CREATE FUNCTION notebooks() RETURNS text LANGUAGE sql AS 'SELECT $$notebook, footnote, note_1$$';`)
	r, err := b.migrate(`ALTER TABLE app.t DROP COLUMN a, DROP COLUMN note, DROP COLUMN "odd (name"`)
	require.NoError(t, err)
	warnings := str(r.Plan.Warnings)
	require.Contains(t, warnings, "app.uses_a_10, app.uses_a_11, app.uses_a_12, app.uses_a_13, app.uses_a_14, and more.")
	require.Contains(t, warnings, "Functions whose text holds the name: app.uses_note.")
	require.Contains(t, warnings, "Functions whose text holds the name: app.odd.")
	require.NotContains(t, warnings, "notebooks")
}

// A preview is no outage: what may rewrite or scan a large table is refused before it runs, with the way
// around it; what is free of both passes whatever the size. Partitions count with their parent.
func TestMigrationTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t, bigSQL+`CREATE TABLE parts (id int, a int) PARTITION BY RANGE (id); CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100000);
		INSERT INTO parts SELECT g, g FROM generate_series(1, 50000) g;`,
		func(o *writecore.Options) { o.MaxPreviewBytes = 1 << 20 })
	for text, recipe := range map[string]string{
		"ALTER TABLE app.big ALTER COLUMN a TYPE bigint":                    "in batches",
		"ALTER TABLE app.big ADD COLUMN c int, ALTER COLUMN a SET NOT NULL": "NOT VALID",
		"ALTER TABLE app.big ADD FOREIGN KEY (pid) REFERENCES app.p":        "NOT VALID",
		"CREATE INDEX ON app.big (a)":                                       "CONCURRENTLY",
		"ALTER TABLE app.parts ALTER COLUMN a TYPE bigint":                  "in batches",
		"ALTER TABLE app.big ADD COLUMN c float DEFAULT random()":           "without the default",
		"ALTER TABLE app.big ALTER COLUMN note TYPE varchar":                "in batches", // free, but the text alone does not tell
	} {
		r, err := b.migrate(text)
		message := requireCode(t, err, refusal.MigrationTooLarge)
		require.Contains(t, message, "migration.maxPreviewBytes (1.0 MB)", text)
		require.Contains(t, err.(*refusal.Error).Hint, recipe, text) //nolint:errorlint,forcetypeassert // requireCode looked
		require.Empty(t, r.Plan.Token)
	}
	b.db.Exec(t, `SET ROLE migrator; CREATE DOMAIN app.plain AS int; CREATE DOMAIN app.checked AS int CHECK (VALUE > 0); CREATE DOMAIN app.filled AS float DEFAULT random();
		CREATE TYPE app.mood AS ENUM ('a'); CREATE UNIQUE INDEX big_a ON app.big (a);
		CREATE TABLE app.ranged (id int, note text) PARTITION BY RANGE (id); CREATE TABLE app.rest PARTITION OF app.ranged DEFAULT; INSERT INTO app.ranged SELECT g, repeat('x', 300) FROM generate_series(1000, 20000) g;
		CREATE TABLE app.small (id int, note text); CREATE TABLE app.lone (id int) PARTITION BY RANGE (id)`)
	for text, recipe := range map[string]string{
		"ALTER TABLE app.big ADD COLUMN c app.checked":                                               "base type",
		"ALTER TABLE app.big ADD COLUMN c app.filled":                                                "base type",
		"ALTER TABLE app.big ADD CONSTRAINT k UNIQUE USING INDEX big_a, ALTER COLUMN a SET NOT NULL": "NOT VALID",
		"CREATE TABLE app.first PARTITION OF app.ranged FOR VALUES FROM (0) TO (10)":                 "default partition",
		"ALTER TABLE app.ranged ATTACH PARTITION app.small FOR VALUES FROM (0) TO (10)":              "default partition",
	} {
		_, err := b.migrate(text)
		requireCode(t, err, refusal.MigrationTooLarge)
		require.Contains(t, err.(*refusal.Error).Hint, recipe, text) //nolint:errorlint,forcetypeassert // requireCode looked
	}
	for _, text := range []string{
		"ALTER TABLE app.big ADD COLUMN c app.plain", "ALTER TABLE app.big ADD COLUMN c app.mood", "CREATE TABLE app.first PARTITION OF app.lone FOR VALUES FROM (0) TO (10)",
		"ALTER TABLE app.big ADD COLUMN c int NOT NULL DEFAULT 5", "ALTER TABLE app.big DROP COLUMN note", "ALTER TABLE app.big RENAME TO huge",
		"ALTER TABLE app.big ADD CHECK (a > 0) NOT VALID", "ALTER TABLE app.tiny ALTER COLUMN a TYPE bigint", "ALTER TABLE app.big ALTER COLUMN a SET DEFAULT 1",
	} {
		_, err := b.migrate(text)
		require.NoError(t, err, text)
	}
	// What a person has approved runs although the table grew meanwhile.
	r, err := b.migrate("ALTER TABLE app.tiny ALTER COLUMN a TYPE bigint")
	require.NoError(t, err)
	b.approve(r)
	b.db.Exec(t, "INSERT INTO app.tiny SELECT g, g FROM generate_series(2, 40000) g")
	_, err = b.execute(r)
	require.NoError(t, err)
}

func TestRehearsalsPerMinute(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.RehearsalsPerMinute, o.MaxPreviewBytes = 0, 0 })
	for range 8 { // what is refused before it holds a lock does not count
		_, err := b.migrate("ALTER TABLE app.t ALTER COLUMN v TYPE bigint")
		requireCode(t, err, refusal.MigrationTooLarge)
	}
	for range 6 {
		_, err := b.migrate("ALTER TABLE app.t ADD COLUMN x int")
		require.NoError(t, err)
	}
	_, err := b.migrate("ALTER TABLE app.t ADD COLUMN x int")
	require.Contains(t, requireCode(t, err, refusal.MigrationBusy), "6 migrations were rehearsed")
}
