package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// A cast that the database defines runs its function also where no cast stands in the text. Each row is
// one way to such a cast, which the server takes.
func TestCastsThatNobodyWrote(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO readonly, writer;
		CREATE TYPE app.coin AS (cents int); CREATE TYPE app.note AS (text text); CREATE TYPE app.calm AS (v int); CREATE TYPE app.up AS (v int);
		CREATE DOMAIN app.label AS text;
		CREATE TYPE app.purse AS (name text, content app.coin);
		CREATE TABLE app.t (id int, c app.coin, n app.note, k app.calm); INSERT INTO app.t VALUES (1, '(5)', '(x)', '(1)');
		CREATE TABLE app.purses (id int, p app.purse, many app.coin[]); INSERT INTO app.purses VALUES (1, ROW('a', ROW(5)), ARRAY[ROW(7)::app.coin]);
		CREATE TABLE app.notes (id int, n app.note);
		CREATE TABLE app.plain (id int, note text); INSERT INTO app.plain VALUES (1, 'x');
		CREATE FUNCTION app.coin_int(app.coin) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1.cents; END';
		CREATE FUNCTION app.note_text(app.note) RETURNS text VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1.text; END';
		CREATE FUNCTION app.note_json(app.note) RETURNS json VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN to_json($1.text); END';
		CREATE FUNCTION app.int_up(int) RETURNS app.up VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN ROW($1)::app.up; END';
		CREATE FUNCTION app.calm_int(app.calm) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1.v';
		CREATE FUNCTION app.coin_note(app.coin) RETURNS app.note VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN ROW(''c'')::app.note; END';
		CREATE CAST (app.coin AS int) WITH FUNCTION app.coin_int AS IMPLICIT;
		CREATE CAST (app.note AS text) WITH FUNCTION app.note_text AS ASSIGNMENT;
		CREATE CAST (app.note AS json) WITH FUNCTION app.note_json;
		CREATE CAST (app.calm AS int) WITH FUNCTION app.calm_int AS IMPLICIT;
		CREATE CAST (int AS app.up) WITH FUNCTION app.int_up AS IMPLICIT;
		CREATE CAST (app.coin AS app.note) WITH FUNCTION app.coin_note;
		CREATE FUNCTION app.wants(app.up) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1.v';
		CREATE FUNCTION app.coin() RETURNS app.coin IMMUTABLE LANGUAGE sql AS 'SELECT ROW(3)::app.coin';
		CREATE VIEW app.v AS SELECT id, c FROM app.t; CREATE VIEW app.adds AS SELECT id, c + 1 AS sum FROM app.t;
		GRANT ALL ON ALL TABLES IN SCHEMA app TO readonly, writer`)
	open := sqlguard.New(policyOf(t, nil, []string{"app"}, nil))
	named := sqlguard.New(policyOf(t, nil, nil, []string{"app.coin_int", "app.note_text", "app.note_json", "app.int_up", "app.coin_note"}))
	for _, sql := range []string{
		"SELECT c + 1 FROM app.t", "SELECT id FROM app.t WHERE c = 5", "SELECT abs(c) FROM app.t", "SELECT c::int FROM app.t", "SELECT CAST(c AS integer) FROM app.t",
		"SELECT id FROM app.t WHERE c IN (5, 6)", "SELECT id FROM app.t WHERE id IN (SELECT c FROM app.t)",
		"SELECT sum(c) FROM app.t", "SELECT c + 1 FROM app.v", "SELECT sum FROM app.adds", "SELECT ROW(5)::app.coin + 1", "SELECT app.coin() + 1",
		"SELECT (p).content + 1 FROM app.purses", "SELECT many[1] + 1 FROM app.purses", "SELECT many::int[] FROM app.purses", "SELECT u + 1 FROM app.purses, unnest(many) u",
		"WITH x AS (SELECT c FROM app.t) SELECT c + 1 FROM x", "SELECT generate_series(1, c) FROM app.t",
		"SELECT n::text FROM app.t", "SELECT n::app.label FROM app.t", "SELECT n::varchar FROM app.t", "SELECT to_json(n) FROM app.notes", "SELECT row_to_json(x) FROM app.notes x", "SELECT jsonb_agg(n) FROM app.notes",
		"SELECT json_build_object('n', n) FROM app.notes", "SELECT app.wants(5)", "SELECT c::app.note FROM app.t",
	} {
		_, err := s.read(t, named, sql)
		require.NoError(t, err, "Postgres takes %s", sql)
		_, err = s.read(t, open, sql)
		e := refused(t, refusal.FunctionNotAllowed, err, sql)
		if sql != "SELECT ROW(5)::app.coin + 1" { // that names the type, whose casts are judged by its name
			require.Contains(t, e.Message, "volatile", sql)
		}
	}
	for _, sql := range []string{
		"SELECT * FROM app.plain", "SELECT id + 1, note || 'x', to_json(note) FROM app.plain", "SELECT n FROM app.notes", "SELECT id FROM app.notes",
		"SELECT '(1)'::app.calm", "SELECT to_json(id) FROM app.plain",
	} {
		_, err := s.read(t, open, sql)
		require.NoError(t, err, sql)
	}

	// In a condition they are reported, and a person decides.
	for where, want := range map[string][]string{
		"c = 5": {"app.coin_int"}, "k = 5": {"app.coin_int"}, "id = 5": {"app.coin_int"},
	} {
		st, err := open.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.t", Where: where})
		require.NoError(t, err, where)
		for _, w := range want {
			require.Contains(t, st.Volatile(), w, where)
		}
		require.True(t, st.UnstableWhere(), where)
		require.True(t, st.ReadsElsewhere(), where)
	}
	st, err := open.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.plain", Where: "note = 'x'"})
	require.NoError(t, err)
	require.Empty(t, st.Volatile())
	// Setting a column takes casts for assignment.
	st, err = open.Update(t.Context(), s.Writer().Catalog(), sqlguard.UpdateSpec{
		Table: "app.plain", SetExpressions: []sqlguard.SetExpr{{Column: "note", Expr: "(SELECT n FROM app.notes LIMIT 1)"}}, Where: "id = 1",
	})
	require.NoError(t, err)
	require.Contains(t, st.Volatile(), "app.note_text")

	// With a read allowlist the function may show what is hidden, volatile or not.
	tight := sqlguard.New(policyOf(t, []string{"app.t", "app.plain"}, nil, nil))
	_, err = s.read(t, tight, "SELECT k + 1 FROM app.t")
	requireRefused(t, refusal.FunctionNotAllowed, err, "an immutable function of the database's own")
	_, err = s.read(t, tight, "SELECT note FROM app.plain")
	require.NoError(t, err)
}

// A cast made since the guard looked is found before anything runs.
func TestCastsAreNotStale(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE TYPE coin AS (cents int); CREATE TABLE t (id int, c coin); INSERT INTO t VALUES (1, '(5)'); GRANT SELECT ON t TO readonly;
		CREATE FUNCTION coin_int(coin) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1.cents; END'`)
	open := sqlguard.New(sqlguard.Policy{})
	const sql = "SELECT id FROM t WHERE id = 1"
	st, err := open.Read(t.Context(), s.Readonly().Catalog(), sql, nil)
	require.NoError(t, err)
	s.pg.Exec(t, "CREATE CAST (coin AS int) WITH FUNCTION coin_int AS IMPLICIT")
	_, err = s.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
	require.ErrorIs(t, err, wire.ErrStaleCatalog)
	_, err = s.read(t, open, sql)
	requireRefused(t, refusal.FunctionNotAllowed, err, sql)
}
