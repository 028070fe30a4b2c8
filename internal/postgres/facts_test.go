package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

const factsSchema = `
	CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO readonly, writer;
	CREATE TABLE app.t (id int PRIMARY KEY, a int, gone int);
	CREATE FUNCTION app.used(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT $1';
	CREATE FUNCTION app.small_ok(int) RETURNS bool STABLE LANGUAGE sql AS 'SELECT $1 < 10';
	CREATE FUNCTION app.loud(int, int) RETURNS bool STABLE LANGUAGE sql AS 'SELECT true';
	CREATE OPERATOR app.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = app.loud);
	CREATE DOMAIN app.small AS int CHECK (app.small_ok(VALUE));
	CREATE VIEW app.v AS SELECT id, app.used(a) AS u FROM app.t;
	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO writer; GRANT SELECT ON ALL TABLES IN SCHEMA app TO readonly`

// ask runs one step as the readonly role and gives its reply.
func ask(t *testing.T, p *postgres.Pool, steps ...wire.Step) wire.Reply {
	t.Helper()
	s := acquire(t, p)
	defer s.Release()
	replies, err := s.Flush(t.Context(), steps, seg("ROLLBACK"))
	require.NoError(t, err)
	return replies[0]
}

func relationFact(t *testing.T, b *bundle, name string) wire.Fact {
	t.Helper()
	return wire.Fact{Kind: wire.FactRelation, Key: b.PG.Query(t, "SELECT $1::regclass::oid::text", name)[0][0]}
}

// Each change of what a judgement stands on changes a version; what does not matter to one does not.
func TestFactsSeeEveryChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, factsSchema)
	table, view := relationFact(t, b, "app.t"), relationFact(t, b, "app.v")
	function := wire.Fact{Kind: wire.FactFunction, Key: "used"}
	operator := wire.Fact{Kind: wire.FactOperator, Key: "==="}
	typ := wire.Fact{Kind: wire.FactType, Key: "small"}
	path := wire.Fact{Kind: wire.FactPath}
	absent := wire.Fact{Kind: wire.FactFunction, Key: "no_such"}
	all := []wire.Fact{table, view, function, operator, typ, path, absent, {Kind: wire.FactFunction, Key: "lower"}, {Kind: wire.FactRelation, Key: "1"}}
	read := func() []wire.Fact {
		r := ask(t, b.Readonly(), wire.ReadFacts(all))
		require.Nil(t, r.Err)
		facts := wire.FactsOf(r.Results[0])
		require.Len(t, facts, len(all))
		return facts
	}
	now := read()
	for i, f := range now {
		require.Equal(t, all[i].Key, f.Key)
		require.Equal(t, i >= 6, f.Version == "", "%c %s: %q", f.Kind, f.Key, f.Version)
	}
	mark := wire.NewMark()
	for _, c := range []struct {
		sql   string
		fails []wire.Fact
	}{
		{"SELECT 1", nil},
		{"INSERT INTO app.t VALUES (1, 2, 3); DELETE FROM app.t; ANALYZE app.t; CREATE INDEX t_a ON app.t (a)", nil},
		{"CREATE FUNCTION app.other() RETURNS int LANGUAGE sql AS 'SELECT 1'", nil},
		{"CREATE TABLE app.other (id int)", nil},
		{"ALTER TABLE app.t DROP COLUMN gone", []wire.Fact{table}},
		{"ALTER TABLE app.t ADD COLUMN extra int", []wire.Fact{table}},
		{"ALTER TABLE app.t RENAME COLUMN extra TO extra2", []wire.Fact{table}},
		{"ALTER TABLE app.t ALTER COLUMN extra2 TYPE bigint", []wire.Fact{table}},
		{"ALTER TABLE app.t ALTER COLUMN extra2 SET NOT NULL", []wire.Fact{table}},
		{"ALTER TABLE app.t ENABLE ROW LEVEL SECURITY", []wire.Fact{table}},
		{"ALTER TABLE app.t FORCE ROW LEVEL SECURITY", []wire.Fact{table}},
		{"ALTER TABLE app.t DROP CONSTRAINT t_pkey", []wire.Fact{table}},
		{"CREATE TABLE app.child () INHERITS (app.t)", []wire.Fact{table}},
		{"CREATE TABLE app.grandchild () INHERITS (app.child)", []wire.Fact{table}},
		{"ANALYZE app.t", nil},
		{"CREATE RULE quiet AS ON DELETE TO app.t DO INSTEAD NOTHING", []wire.Fact{table}},
		{"CREATE OR REPLACE VIEW app.v AS SELECT id, app.used(a + 1) AS u FROM app.t", []wire.Fact{view}},
		{"ALTER FUNCTION app.used(int) VOLATILE", []wire.Fact{function, view}},
		{"CREATE FUNCTION public.used(text) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", []wire.Fact{function}},
		{"ALTER FUNCTION app.used(int) RENAME TO used_to_be; CREATE FUNCTION app.used(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT 1'", []wire.Fact{function, view}},
		{"CREATE DOMAIN public.used AS int", []wire.Fact{function}},
		{"ALTER FUNCTION app.used_to_be(int) IMMUTABLE", []wire.Fact{view}},
		{"CREATE FUNCTION public.lower(int) RETURNS int LANGUAGE sql AS 'SELECT 1'", []wire.Fact{all[7]}},
		{"CREATE FUNCTION app.no_such() RETURNS int LANGUAGE sql AS 'SELECT 1'", []wire.Fact{absent}},
		{"ALTER FUNCTION app.loud(int, int) VOLATILE", []wire.Fact{operator}},
		{"CREATE OPERATOR public.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)", []wire.Fact{operator}},
		{"ALTER FUNCTION app.small_ok(int) VOLATILE", []wire.Fact{typ}},
		{"CREATE TYPE public.small AS ENUM ('a')", []wire.Fact{typ}},
		{"ALTER TABLE app.t RENAME TO t2", []wire.Fact{table}},
		{"CREATE OR REPLACE FUNCTION app.used(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT 2'", []wire.Fact{function}},
		{"CREATE OR REPLACE FUNCTION public.used(text DEFAULT 'a') RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", []wire.Fact{function}},
		{"CREATE OR REPLACE FUNCTION public.used(text DEFAULT 'b') RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'", []wire.Fact{function}},
		{"ALTER FUNCTION app.loud(int, int) STRICT", []wire.Fact{operator}},
		{"ALTER FUNCTION app.small_ok(int) SET search_path = app", []wire.Fact{typ}},
		{"GRANT EXECUTE ON FUNCTION app.used(int) TO PUBLIC; COMMENT ON FUNCTION app.loud(int, int) IS 'x'", nil},
		{"ALTER SCHEMA app RENAME TO app2", []wire.Fact{table, view, function, operator, typ, absent}},
		{`DO $$ BEGIN EXECUTE format('ALTER ROLE readonly IN DATABASE %I SET search_path = app2, public', current_database()); END $$`, []wire.Fact{path}},
		{"DROP TABLE app2.t2 CASCADE", []wire.Fact{table, view}},
	} {
		b.PG.Exec(t, c.sql)
		pool := setupOn(t, b).Readonly() // a setting of the role is that of new connections
		for _, f := range now {
			r := ask(t, pool, wire.AssertFacts([]wire.Fact{f}, mark))
			want := slices.ContainsFunc(c.fails, func(x wire.Fact) bool { return x.Kind == f.Kind && x.Key == f.Key })
			if !want {
				require.Nil(t, r.Err, "%s: %c %s", c.sql, f.Kind, f.Key)
				continue
			}
			rest, ok := wire.Marked(r.Err, mark)
			require.True(t, ok, "%s: %c %s", c.sql, f.Kind, f.Key)
			require.Equal(t, fmt.Sprintf("%c %s", f.Kind, f.Key), rest)
		}
		if len(c.fails) > 0 {
			r := ask(t, pool, wire.AssertFacts(now, mark))
			_, ok := wire.Marked(r.Err, mark)
			require.True(t, ok, "together too: %s", c.sql)
			r = ask(t, pool, wire.ReadFacts(all))
			require.Nil(t, r.Err)
			now = wire.FactsOf(r.Results[0])
		}
	}
}

// A relation's version is the same expression where the catalog reads it beside the rest.
func TestRelationVersionIsOneText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, factsSchema)
	view := relationFact(t, b, "app.v")
	r := ask(t, b.Readonly(), wire.ReadFacts([]wire.Fact{view}), wire.Step{SQL: "SELECT " + wire.RelationVersion(view.Key+"::oid")})
	require.Nil(t, r.Err)
	require.NotEmpty(t, wire.FactsOf(r.Results[0])[0].Version)
	require.Equal(t, wire.FactsOf(r.Results[0])[0].Version, string(r.Results[1].Rows[0][0]))
}

func TestWitness(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, factsSchema+`; CREATE TABLE app.hidden (id int PRIMARY KEY); GRANT SELECT ON app.hidden TO readonly;
		CREATE INDEX t_a ON app.t (a)`)
	oid := func(name string) uint32 {
		var n uint32
		_, err := fmt.Sscan(relationFact(t, b, name).Key, &n)
		require.NoError(t, err)
		return n
	}
	mark := wire.NewMark()
	look := func(sql string, closure []uint32, passSystem bool) *wire.ServerError {
		r := ask(t, b.Readonly(), wire.Step{SQL: "BEGIN READ ONLY"}, wire.Step{SQL: sql, ParseOnly: true}, wire.Step{SQL: "EXPLAIN " + sql}, wire.Witness(closure, mark, passSystem))
		if r.Err != nil {
			_, ok := wire.Marked(r.Err, mark)
			require.True(t, ok, "%s: %v", sql, r.Err)
		}
		return r.Err
	}
	require.Nil(t, look("SELECT 1", nil, false), "the witness itself looks at nothing")
	require.Nil(t, look("SELECT * FROM app.t WHERE a = 1", []uint32{oid("app.t")}, false), "indexes of what was seen pass")
	e := look("SELECT * FROM app.t, app.hidden", []uint32{oid("app.t")}, false)
	rest, _ := wire.Marked(e, mark)
	require.Equal(t, "app.hidden, app.hidden_pkey", rest, "any other index does not pass")
	require.NotNil(t, look("SELECT * FROM app.t", []uint32{oid("app.t_pkey"), oid("app.t_a")}, false))
	require.NotNil(t, look("SELECT * FROM pg_class", nil, false))
	require.Nil(t, look("SELECT * FROM pg_class", nil, true))
	require.NotNil(t, look("SELECT * FROM app.hidden", nil, true), "only Postgres' own")
}

// A step that is only parsed resolves names and does nothing else, not even what EXPLAIN does: to
// estimate rows the planner calls STABLE functions, and these read what no name in the text tells of.
func TestWitnessIsNotAlarmedByPlanning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, factsSchema+`; CREATE TABLE app.beside (id int PRIMARY KEY); INSERT INTO app.beside VALUES (1); INSERT INTO app.t VALUES (1, 2, 3); ANALYZE app.t;
		CREATE VIEW app.v2 AS SELECT u FROM app.v;
		CREATE TABLE app.secured (id int); ALTER TABLE app.secured ENABLE ROW LEVEL SECURITY;
		CREATE POLICY p ON app.secured USING (id IN (SELECT id FROM app.beside)); GRANT SELECT, UPDATE ON app.secured TO writer;
		GRANT SELECT ON app.beside, app.v2 TO writer, readonly;
		CREATE FUNCTION app.picked() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT id FROM app.beside); END';
		CREATE FUNCTION app.tables() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM pg_catalog.pg_class); END'`)
	var oid uint32
	_, err := fmt.Sscan(relationFact(t, b, "app.t").Key, &oid)
	require.NoError(t, err)
	mark := wire.NewMark()
	text := "DELETE FROM app.t WHERE id = app.picked()"
	look := func(step wire.Step) wire.Reply {
		return ask(t, b.Writer(), wire.Step{SQL: "BEGIN"}, step, wire.Witness([]uint32{oid}, mark, false))
	}
	require.Nil(t, look(wire.Step{SQL: text, ParseOnly: true}).Err)
	rest, ok := wire.Marked(look(wire.Step{SQL: "EXPLAIN " + text}).Err, mark)
	require.True(t, ok)
	require.Contains(t, rest, "app.beside")
	for sql, found := range map[string]string{ // what it does resolve: through views, sub-selects and policies
		"SELECT 1 FROM app.v2": "app.v, app.v2", "DELETE FROM app.t WHERE EXISTS (SELECT FROM app.beside)": "app.beside",
		"UPDATE app.secured SET id = 1": "app.beside, app.secured", "WITH x AS (TABLE app.beside) INSERT INTO app.t SELECT id FROM x": "app.beside",
	} {
		rest, ok = wire.Marked(look(wire.Step{SQL: sql, ParseOnly: true}).Err, mark)
		require.True(t, ok, sql)
		require.Equal(t, found, rest, sql)
	}

	r := ask(t, b.Writer(), wire.Step{SQL: "BEGIN"}, wire.Step{SQL: "COMMIT", ParseOnly: true}, wire.Step{SQL: text, ParseOnly: true, Params: [][]byte{[]byte("unused")}},
		wire.Step{SQL: "SELECT pg_catalog.count(*) FROM app.t"})
	require.Nil(t, r.Err)
	require.Equal(t, byte('T'), r.TxStatus, "not even a COMMIT is run")
	require.Len(t, r.Results, 4, "one result a step")
	require.Equal(t, "1", string(r.Results[3].Rows[0][0]))
	r = ask(t, b.Writer(), wire.Step{SQL: "BEGIN"}, wire.Step{SQL: "SELECT nothing FROM app.t", ParseOnly: true}, wire.Step{SQL: "SELECT 1"})
	require.Equal(t, "42703", r.Err.SQLState)
	require.Equal(t, 8, r.Err.Position)
	require.Len(t, r.Results, 1)

	mustQuery(t, b, "SELECT a FROM app.t WHERE id < app.tables()")
}

// The price of asserting what an everyday statement stands on.
func TestFactsAreCheap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, factsSchema)
	facts := []wire.Fact{relationFact(t, b, "app.t"), relationFact(t, b, "app.v"), {Kind: wire.FactPath}}
	for _, n := range []string{"=", "<", ">", "+", "-", "~~", "<=", ">=", "||", "@>"} {
		facts = append(facts, wire.Fact{Kind: wire.FactOperator, Key: n})
	}
	for _, n := range []string{"lower", "count", "sum", "now", "date_trunc", "used", "coalesce", "to_char", "max", "round"} {
		facts = append(facts, wire.Fact{Kind: wire.FactFunction, Key: n})
	}
	s := acquire(t, b.Readonly())
	replies, err := s.Flush(t.Context(), wire.Segment{wire.ReadFacts(facts)})
	require.NoError(t, err)
	require.Nil(t, replies[0].Err)
	facts = wire.FactsOf(replies[0].Results[0])
	best := time.Hour
	for range 30 {
		start := time.Now()
		replies, err = s.Flush(t.Context(), wire.Segment{wire.AssertFacts(facts, wire.NewMark())})
		took := time.Since(start)
		require.NoError(t, err)
		require.Nil(t, replies[0].Err)
		best = min(best, took)
	}
	t.Logf("%d facts asserted in %v, the round trip included", len(facts), best)
	require.Less(t, best, 20*time.Millisecond)
}
