package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// TestS11GrammarIsAWall runs what must never change anything through the readonly pool with the
// guard switched off, as a role that even may write: DECLARE's grammar, READ ONLY and the ROLLBACK
// are enough.
func TestS11GrammarIsAWall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `
		CREATE TABLE wall (id int); CREATE SEQUENCE wall_seq;
		GRANT ALL ON wall TO readonly; GRANT ALL ON wall_seq TO readonly; GRANT CREATE ON SCHEMA public TO readonly;
		CREATE FUNCTION definer() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'INSERT INTO public.wall VALUES (1) RETURNING 1';
		CREATE FUNCTION sneaky() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''transaction_read_only'', ''off'', false); INSERT INTO public.wall VALUES (2); RETURN 1; END';
		CREATE PROCEDURE proc() LANGUAGE sql AS 'INSERT INTO public.wall VALUES (3)'`)
	state := func() string {
		return b.PG.Query(t, `SELECT (SELECT count(*) FROM wall)::text || '/' || (SELECT last_value || is_called::text FROM wall_seq)
			|| '/' || (SELECT count(*) FROM pg_largeobject_metadata) || '/' || (SELECT count(*) FROM pg_class)`)[0][0]
	}
	before := state()
	for sql, state := range map[string]string{
		"COMMIT":                              "42601",
		"SELECT 1; COMMIT":                    "42601",
		"SELECT 1; COMMIT --":                 "42601",
		"ROLLBACK":                            "42601",
		"COMMIT; INSERT INTO wall VALUES (1)": "42601",
		"SELECT 1) ; INSERT INTO wall VALUES (1) --":                           "42601",
		"INSERT INTO wall VALUES (1)":                                          "42601",
		"INSERT INTO wall VALUES (1) RETURNING id":                             "42601",
		"WITH w AS (INSERT INTO wall VALUES (1) RETURNING id) SELECT * FROM w": "0A000",
		"DELETE FROM wall":                                                     "42601",
		"DO $$ BEGIN INSERT INTO wall VALUES (1); END $$":                      "42601",
		"CALL proc()":                      "42601",
		"COPY wall FROM STDIN":             "42601",
		"COPY (SELECT 1) TO STDOUT":        "42601",
		"EXPLAIN ANALYZE DELETE FROM wall": "42601",
		"SET ROLE writer":                  "42601",
		"LISTEN x":                         "42601",
		"NOTIFY x":                         "42601",
		"SELECT 1 INTO wall2":              "42601",
		"SELECT definer()":                 "25006",
		"SELECT sneaky()":                  "25001",
		"SELECT nextval('wall_seq')":       "25006",
		"SELECT setval('wall_seq', 99)":    "25006",
		"SELECT set_config('transaction_read_only', 'off', true) FROM wall FOR UPDATE": "25006",
		"SELECT * FROM wall FOR UPDATE":      "25006",
		"SELECT pg_read_file('/etc/passwd')": "42501",
		"SELECT lo_import('/etc/passwd')":    "42501",
	} {
		_, err := b.Readonly().RunUnguarded(t.Context(), sql, nil)
		require.Error(t, err, sql)
		require.ErrorContains(t, err, "SQLSTATE "+state, sql)
	}
	for _, sql := range []string{
		"ANALYZE DELETE FROM wall", "DELETE FROM wall", "SELECT 1; DELETE FROM wall", "SELECT 1) ; delete from wall",
		"WITH w AS (DELETE FROM wall RETURNING 1) SELECT * FROM w",
	} {
		err := b.Readonly().ExplainUnguarded(t.Context(), sql)
		require.True(t, refusal.Is(err, refusal.ExplainFailed), "%s: %v", sql, err)
	}

	// What READ ONLY lets through is undone: nothing of it is left for the next call.
	for _, sql := range []string{
		"SELECT pg_advisory_lock(42)", "SELECT pg_try_advisory_lock_shared(43)",
		"SELECT set_config('default_transaction_read_only', 'off', false)", "SELECT set_config('search_path', 'nowhere', false)",
		"SELECT set_config('statement_timeout', '0', false)", "SELECT pg_notify('c', 'x')", "SELECT set_config('role', 'none', false)",
	} {
		_, err := b.Readonly().RunUnguarded(t.Context(), sql, nil)
		require.NoError(t, err, sql)
	}
	rows, err := b.Readonly().RunUnguarded(t.Context(),
		"SELECT current_setting('search_path'), current_setting('default_transaction_read_only'), (SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database())", nil)
	require.NoError(t, err)
	require.Equal(t, `"$user", public`, string(rows[0][0]))
	require.Equal(t, "on", string(rows[0][1]))
	require.Equal(t, "0", string(rows[0][2]))
	require.Equal(t, before, state())
}

func readAllow(t *testing.T, tables ...string) *sqlguard.Guard {
	t.Helper()
	list, err := sqlguard.ParseAllowlist(nil, tables)
	require.NoError(t, err)
	return sqlguard.New(sqlguard.Policy{Read: list})
}

// The second witness: Postgres' own locks tell which relations were found, and a relation the guard
// did not see stops the query before a row of it is read.
func TestS12SecondWitness(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `
		CREATE TABLE open (id int PRIMARY KEY, big text); INSERT INTO open SELECT g, repeat('x', 3000) FROM generate_series(1, 2000) g;
		CREATE TABLE closed (secret text); INSERT INTO closed VALUES ('hush');
		GRANT SELECT ON open, closed TO readonly;
		CREATE FUNCTION peek() RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT secret FROM public.closed); END';
		CREATE FUNCTION harmless(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'`)
	pool := b.Readonly()

	_, err := pool.RunUnguarded(t.Context(), "SELECT secret FROM closed", []uint32{})
	require.True(t, refusal.Is(err, refusal.TableNotAllowlisted), "%v", err)
	rows, err := pool.RunUnguarded(t.Context(), "SELECT secret::int FROM closed", []uint32{})
	require.True(t, refusal.Is(err, refusal.TableNotAllowlisted), "no row was computed: %v", err)
	require.Empty(t, rows)

	// Only functions that the operator named come this far.
	list, err := sqlguard.ParseAllowlist(nil, []string{"public.open"})
	require.NoError(t, err)
	g := sqlguard.New(sqlguard.Policy{Read: list, AllowFunctions: []string{"peek", "harmless"}})
	read := func(l postgres.QueryLimits, sql string) (*postgres.QueryResult, error) {
		st, err := g.Read(t.Context(), pool.Catalog(), sql, nil)
		require.NoError(t, err, sql)
		return pool.Query(t.Context(), st, l)
	}
	_, err = read(postgres.QueryLimits{}, "SELECT id, peek() FROM open LIMIT 3")
	require.True(t, refusal.Is(err, refusal.TableNotAllowlisted), "what a function read: %v", err)
	require.NotContains(t, err.Error(), "hush")

	// The byte bound cancels before the witness can speak; the rows are read again so that it can.
	_, err = read(postgres.QueryLimits{Bytes: 100_000}, "SELECT id, big, peek() FROM open")
	require.True(t, refusal.Is(err, refusal.TableNotAllowlisted), "%v", err)
	r, err := read(postgres.QueryLimits{Bytes: 100_000}, "SELECT id, big, harmless(id) FROM open")
	require.NoError(t, err)
	require.True(t, r.Truncated)
	require.Greater(t, len(r.Rows), 20)

	// An agent's own bad cast is not taken for the witness.
	_, err = read(postgres.QueryLimits{}, "SELECT ('sw_ ' || id)::int FROM open")
	require.True(t, refusal.Is(err, refusal.QueryFailed), "%v", err)
}

// What belongs to an allowed relation is no alarm.
func TestWitnessKnowsWhatBelongs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, catalogSchema+`;
		CREATE TABLE app.toasted (note text); INSERT INTO app.toasted SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 2000);
		INSERT INTO app.lookup VALUES (1); INSERT INTO app.secured VALUES (1, 'a');
		CREATE MATERIALIZED VIEW app.mv AS SELECT * FROM app.plain; CREATE UNIQUE INDEX ON app.mv (id);
		CREATE TABLE app.parent (id int); CREATE TABLE app.child (extra int) INHERITS (app.parent);
		GRANT SELECT ON ALL TABLES IN SCHEMA app TO readonly`)
	guard := sqlguard.New(sqlguard.Policy{})
	for _, sql := range []string{
		"SELECT note FROM app.plain WHERE note LIKE 'a%'", "SELECT length(note), substr(note, 60000, 5) FROM app.toasted",
		"SELECT * FROM app.parts WHERE id = 1 AND k = 5", "SELECT count(*) FROM app.parts", "SELECT * FROM app.v2",
		"SELECT * FROM app.secured", "SELECT * FROM app.mv WHERE id = 1", "SELECT * FROM app.parent", "TABLE app.plain",
		"SELECT p.id FROM app.plain p JOIN app.parts q ON p.other = q.k WHERE EXISTS (SELECT 1 FROM app.v1)",
		"WITH x AS (SELECT * FROM app.v1) SELECT * FROM x", "VALUES (1), (2)", "SELECT * FROM generate_series(1, 3)",
		"SELECT 'a'::app.mood, app.f(3)",
	} {
		st, err := guard.Read(t.Context(), b.Readonly().Catalog(), sql, nil)
		if refusal.Is(err, refusal.FunctionNotAllowed) {
			continue // the guard's business
		}
		require.NoError(t, err, sql)
		_, err = b.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
		require.NoError(t, err, sql)
		_, err = b.Readonly().Explain(t.Context(), st, 0, everything)
		require.NoError(t, err, sql)
	}
}

// A partition made since the catalog was asked is a changed table, and would be an unknown relation; the
// facts are dropped, so the next try knows it.
func TestWitnessAfterDDL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `CREATE TABLE ev (id int) PARTITION BY RANGE (id); CREATE TABLE ev_1 PARTITION OF ev FOR VALUES FROM (0) TO (10);
		GRANT SELECT ON ev TO readonly`)
	mustQuery(t, b, "SELECT * FROM ev")
	st := guarded(t, b.Readonly(), "SELECT * FROM ev")
	b.PG.Exec(t, "CREATE TABLE ev_2 PARTITION OF ev FOR VALUES FROM (10) TO (20)")
	_, err := b.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
	require.True(t, refusal.Is(err, refusal.QueryFailed), "%v", err)
	require.ErrorIs(t, err, wire.ErrStaleCatalog)
	mustQuery(t, b, "SELECT * FROM ev")

	// The same for a function that became volatile.
	b.PG.Exec(t, `CREATE FUNCTION calm() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1'`)
	st = guarded(t, b.Readonly(), "SELECT calm()")
	b.PG.Exec(t, `CREATE OR REPLACE FUNCTION calm() RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 2'`)
	_, err = b.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
	require.True(t, refusal.Is(err, refusal.QueryFailed), "%v", err)
	require.ErrorIs(t, err, wire.ErrStaleCatalog)
	_, err = sqlguard.New(sqlguard.Policy{}).Read(t.Context(), b.Readonly().Catalog(), "SELECT calm()", nil)
	require.True(t, refusal.Is(err, refusal.FunctionNotAllowed), "the next look sees it: %v", err)
}
