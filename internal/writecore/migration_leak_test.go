package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// A rehearsal runs with the migration role's rights. What readonly may not read is no source of it, by no
// form, and no error of it repeats a value.
func TestMigrationSourcesAreReadable(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `CREATE SCHEMA hr AUTHORIZATION migrator; CREATE SCHEMA shut AUTHORIZATION migrator; SET ROLE migrator; GRANT USAGE ON SCHEMA hr TO readonly, writer;
		CREATE TABLE hr.salaries (id int PRIMARY KEY, pin text); INSERT INTO hr.salaries VALUES (1, 'TOPSECRET'); REVOKE ALL ON hr.salaries FROM readonly, writer;
		CREATE TABLE hr.part (id int PRIMARY KEY, val text); INSERT INTO hr.part VALUES (1, 'TOPSECRET'); ALTER TABLE hr.part ENABLE ROW LEVEL SECURITY; GRANT SELECT ON hr.part TO readonly;
		CREATE TABLE shut.t (id int PRIMARY KEY); GRANT SELECT ON shut.t TO readonly; REVOKE ALL ON SCHEMA shut FROM readonly`)
	b := setupOn(t, db, `CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'TOPSECRET');
		CREATE FUNCTION tell() RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE 'it is %', (SELECT v FROM app.t); END $$;`)
	for _, text := range []string{
		"CREATE TABLE app.x AS SELECT pin::int FROM hr.salaries", "CREATE TABLE app.x AS SELECT (SELECT string_agg(pin, ',') FROM hr.salaries)::int",
		"CREATE MATERIALIZED VIEW app.x AS SELECT * FROM hr.salaries", "CREATE VIEW app.x AS SELECT * FROM hr.salaries", "CREATE TABLE app.x (LIKE hr.salaries)",
		"CREATE TABLE app.x (id int REFERENCES hr.salaries)", "CREATE VIEW app.x AS SELECT * FROM hr.part", "CREATE TABLE app.x AS SELECT * FROM hr.part", "CREATE TABLE app.x AS TABLE shut.t",
		"CREATE VIEW app.x AS SELECT 1 WHERE EXISTS (SELECT FROM hr.salaries WHERE pin LIKE 'T%')",
	} {
		r, err := b.migrate(text)
		require.Error(t, err, "%s: %v", text, r.Plan.Facts)
		message := requireCode(t, err, refusal.TableNotAllowlisted)
		require.Contains(t, message, "readonly role", text)
		require.NotContains(t, message, "TOPSECRET", text)
	}
	// A foreign key to a table under row security takes no rows along.
	_, err := b.migrate("CREATE TABLE app.x (id int REFERENCES hr.part)")
	require.NoError(t, err)
	for _, text := range []string{
		"CREATE TABLE app.x AS SELECT v::int FROM app.t", "ALTER TABLE app.t ALTER COLUMN v TYPE int USING v::int", "ALTER TABLE app.t ALTER COLUMN v TYPE date USING v::date",
		"CREATE TABLE app.x AS SELECT v::regclass FROM app.t", "CREATE TABLE app.x AS SELECT app.tell()", "CREATE MATERIALIZED VIEW app.x AS SELECT v::json FROM app.t",
		"ALTER TABLE app.t ADD CHECK (v::int > 0)", "CREATE UNIQUE INDEX ON app.t ((v::int))",
	} {
		_, err := b.migrate(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "TOPSECRET", text)
		require.NotContains(t, err.Error(), "topsecret", text)
	}
	// The agent's own words stay.
	_, err = b.migrate("CREATE TABLE app.x AS SELECT 'abc'::int")
	require.ErrorContains(t, err, "abc")
}

// Whatever CASCADE takes along is shown before, and nothing more goes at execute: also what stands
// anywhere else and is no relation.
func TestCascadeTakesNothingUnseen(t *testing.T) {
	t.Parallel()
	const world = `CREATE TABLE pol (id int PRIMARY KEY); CREATE TABLE other (id int); CREATE TYPE mood AS ENUM ('a'); CREATE SEQUENCE seq;`
	for name, c := range map[string]struct{ text, late, drop string }{
		"a policy elsewhere":           {"DROP TABLE app.pol CASCADE", "ALTER TABLE app.other ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON app.other USING (EXISTS (SELECT FROM app.pol))", "policy app.other.p"},
		"a column of the row type":     {"DROP TABLE app.pol CASCADE", "CREATE TABLE app.rowcol (r app.pol, n int)", "column app.rowcol.r"},
		"a column of a type":           {"DROP TYPE app.mood CASCADE", "CREATE TABLE app.m3 (id int, m app.mood)", "column app.m3.m"},
		"a default":                    {"DROP SEQUENCE app.seq CASCADE", "ALTER TABLE app.other ALTER COLUMN id SET DEFAULT nextval('app.seq')", "default app.other.id"},
		"a function":                   {"DROP TYPE app.mood CASCADE", "CREATE FUNCTION app.f(app.mood) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'", "function app.f(app.mood)"},
		"a column of a type's array":   {"DROP TYPE app.mood CASCADE", "CREATE TABLE app.m4 (id int, m app.mood[])", "column app.m4.m"},
		"a column of a domain over it": {"DROP TYPE app.mood CASCADE", "CREATE DOMAIN app.d AS app.mood; CREATE TABLE app.m5 (id int, m app.d)", "type app.d"},
		"a rule":                       {"DROP TABLE app.pol CASCADE", "CREATE RULE r AS ON INSERT TO app.other DO ALSO INSERT INTO app.pol VALUES (1)", "rule app.other.r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, world)
			before, err := b.migrate(c.text)
			require.NoError(t, err)
			b.approve(before)
			b.db.Exec(t, "SET ROLE migrator; "+c.late)
			_, err = b.execute(before)
			require.Contains(t, requireCode(t, err, refusal.RowsetChanged), c.drop)
			after, err := b.migrate(c.text)
			require.NoError(t, err)
			require.Contains(t, drops(after.Plan), c.drop)
			require.Contains(t, codes(after.Plan), plan.WarnCascadeDrops)
			b.approve(after)
			_, err = b.execute(after)
			require.NoError(t, err)
		})
	}
}

func drops(p plan.Plan) []string {
	var out []string
	for _, d := range p.Facts.Drops {
		out = append(out, d.Type+" "+d.Name)
	}
	return out
}

// What is made anew by the same statement is not dropped.
func TestMadeAnewIsNotDropped(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT 1 CHECK (a > 0)); CREATE INDEX ON t (a); INSERT INTO t VALUES (1, 1);")
	for text, rewrites := range map[string][]string{
		"ALTER TABLE app.t ALTER COLUMN a TYPE bigint":       {"app.t", "app.t_a_idx", "app.t_pkey"},
		"ALTER TABLE app.t ALTER COLUMN a SET DEFAULT 2":     {},
		"ALTER TABLE app.t RENAME CONSTRAINT t_a_check TO c": {},
	} {
		r, err := b.migrate(text)
		require.NoError(t, err, text)
		require.Empty(t, r.Plan.Facts.Drops, text)
		require.Equal(t, rewrites, r.Plan.Facts.Rewrites, text)
	}
	r, err := b.migrate("ALTER TABLE app.t ALTER COLUMN a DROP DEFAULT")
	require.NoError(t, err)
	require.Equal(t, []string{"default app.t.a"}, drops(r.Plan))
}

// A column of a large table is dropped without reading the table; rows of inheritance children are not
// those of the table that goes.
func TestWhatIsLostIsCountedWithinBounds(t *testing.T) {
	t.Parallel()
	b := setup(t, bigSQL+"CREATE TABLE par (id int); CREATE TABLE kid () INHERITS (par); INSERT INTO par VALUES (1); INSERT INTO kid VALUES (2);",
		func(o *writecore.Options) { o.MaxPreviewBytes = 1 << 20 })
	r, err := b.migrate("ALTER TABLE app.big DROP COLUMN a")
	require.NoError(t, err)
	require.Equal(t, []plan.Lost{{Relation: "app.big", Column: "a", NonNullValues: -1}}, r.Plan.Facts.Lost)
	require.Contains(t, str(r.Plan.Warnings), "too large to count")
	b.approve(r)
	_, err = b.execute(r)
	require.NoError(t, err)
	r, err = b.migrate("DROP TABLE app.par CASCADE")
	require.NoError(t, err)
	require.Contains(t, str(r.Plan.Warnings), "The table app.par is dropped with its 1 rows.")
}

// A partition that is named is what is shown, and not the table above it.
func TestATargetThatIsAPartition(t *testing.T) {
	t.Parallel()
	b := setup(t, `CREATE TABLE pp (id int, v int) PARTITION BY RANGE (id); CREATE TABLE pp1 PARTITION OF pp FOR VALUES FROM (0) TO (100); INSERT INTO pp SELECT g, 0 FROM generate_series(1, 9) g;
		CREATE TABLE mid PARTITION OF pp FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id); CREATE TABLE leaf PARTITION OF mid FOR VALUES FROM (100) TO (200); INSERT INTO pp VALUES (150, 0);`,
		func(o *writecore.Options) {
			o.CanWrite = func(_, name string) bool { return name == "pp1" || name == "mid" }
		})
	for table, where := range map[string]string{"app.pp1": "id <= 3", "app.mid": "id = 150"} {
		r, err := b.update(table, setV("1"), nil, where)
		require.NoError(t, err)
		require.Equal(t, plan.Previewed, r.Plan.State, "%s: %s", table, r.Plan.Why)
		require.Len(t, r.Plan.BlastRadius.Tables, 1)
		require.Equal(t, table, r.Plan.BlastRadius.Tables[0].Name)
		require.Equal(t, r.Plan.AffectedRows, r.Plan.BlastRadius.Tables[0].Updated)
		_, err = b.execute(r)
		require.NoError(t, err)
	}
}

// A trigger that makes a temporary table in each run: the plan that a person approved can run.
func TestTemporaryTableOfATrigger(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL+`CREATE FUNCTION scratch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CREATE TEMP TABLE IF NOT EXISTS notes (x int); INSERT INTO notes VALUES (1); RETURN NULL; END $$;
		CREATE TRIGGER s AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION scratch();`)
	b.db.Exec(t, "GRANT TEMPORARY ON DATABASE "+b.db.Name+" TO writer")
	r, err := b.update("app.t", setV("1"), nil, "id = 1")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	b.approve(r)
	_, err = b.execute(r)
	require.NoError(t, err)
}
