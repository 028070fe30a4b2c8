package postgres_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

const staleSchema = factsSchema + `;
	CREATE SEQUENCE app.q; GRANT ALL ON app.q TO writer;
	INSERT INTO app.t VALUES (1, 2, 3), (2, 4, 6);
	CREATE VIEW app.v2 AS SELECT u FROM app.v; CREATE VIEW app.w AS SELECT id, a AS u FROM app.t; GRANT SELECT ON app.v2, app.w TO readonly;
	CREATE FUNCTION app.vol(int, int) RETURNS bool VOLATILE LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''it ran''; END';
	CREATE FUNCTION app.blows() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''it ran''; END'`

// A view is followed into its body once and remembered. Replaced in between, it must not run: setval
// survives the ROLLBACK of a preview.
func TestStaleViewIsNotRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, staleSchema)
	everything, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	guard := sqlguard.New(sqlguard.Policy{Write: everything})
	build := func() (*sqlguard.Statement, error) {
		return guard.Update(t.Context(), b.Writer().Catalog(), sqlguard.UpdateSpec{
			Table: "app.t", Set: []sqlguard.SetValue{{Column: "a", Value: json.RawMessage("1")}}, Where: "id IN (SELECT id FROM app.v)",
		})
	}
	sequence := func() string { return b.PG.Query(t, "SELECT last_value::text FROM app.q")[0][0] }
	run := func(assert bool) (wire.Reply, string) {
		st, err := build()
		require.NoError(t, err)
		s := acquire(t, b.Writer())
		defer s.Release()
		params, err := s.EncodeParams(t.Context(), st.SQL(), st.Params())
		require.NoError(t, err)
		var f wire.Script
		mark := wire.NewMark()
		f.Add("begin", wire.Step{SQL: "BEGIN"})
		f.Add("resolve", wire.Step{SQL: st.SQL(), ParseOnly: true})
		f.Add("witness", wire.Witness(st.LockClosure(), mark, false))
		if assert {
			f.Add("facts", wire.AssertFacts(st.Facts(), mark))
		}
		f.Add("run", wire.Step{SQL: st.SQL(), Params: params})
		replies, err := s.Flush(t.Context(), f.Steps(), seg("ROLLBACK"))
		require.NoError(t, err)
		return replies[0], f.Failed(replies[0])
	}
	reply, _ := run(true)
	require.Nil(t, reply.Err)
	require.Equal(t, "1", sequence())

	b.PG.Exec(t, "CREATE OR REPLACE VIEW app.v AS SELECT id, app.used(a) AS u FROM app.t WHERE setval('app.q', 777) > 0")
	reply, step := run(true)
	require.NotNil(t, reply.Err)
	require.Equal(t, "facts", step)
	require.Equal(t, "1", sequence())
	reply, _ = run(false)
	require.Nil(t, reply.Err)
	require.Equal(t, "777", sequence(), "what the assertion is for")

	_, err = guard.Update(t.Context(), fresh{b.Writer().Catalog()}, sqlguard.UpdateSpec{
		Table: "app.t", Set: []sqlguard.SetValue{{Column: "a", Value: json.RawMessage("1")}}, Where: "id IN (SELECT id FROM app.v)",
	})
	require.True(t, refusal.Is(err, refusal.FunctionNotAllowed), "%v", err)
}

// fresh is a catalog that takes nothing from the cache.
type fresh struct{ sqlguard.Catalog }

func (f fresh) Lookup(ctx context.Context, q sqlguard.Lookup, _ bool) (*sqlguard.Facts, error) {
	return f.Catalog.Lookup(ctx, q, true)
}

// Reads: the first try says that the catalog is stale and forgets it, the second sees the world as it is.
func TestStaleReadsAreTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, staleSchema)
	pool := b.Readonly()
	guard := sqlguard.New(sqlguard.Policy{})
	once := func(sql string) error {
		st, err := guard.Read(t.Context(), pool.Catalog(), sql, nil)
		if err != nil {
			return err
		}
		_, err = pool.Query(t.Context(), st, postgres.QueryLimits{})
		return err
	}
	const failed = refusal.QueryFailed
	for _, c := range []struct {
		name, sql string
		first     refusal.Code // "" = it works
		change    string
		then      refusal.Code // of the second try
	}{
		{"a dropped column", "SELECT * FROM app.t", "", "ALTER TABLE app.t DROP COLUMN gone", ""},
		{"an added column", "SELECT * FROM app.t", "", "ALTER TABLE app.t ADD COLUMN more int", ""},
		{
			"a column that becomes a function", "SELECT t.more FROM app.t t", "",
			"ALTER TABLE app.t DROP COLUMN more; CREATE FUNCTION public.more(app.t) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT app.blows()'",
			refusal.FunctionNotAllowed,
		},
		{
			"a replaced view", "SELECT id FROM app.w", "",
			"CREATE OR REPLACE VIEW app.w AS SELECT id, a AS u FROM app.t WHERE app.blows() > 0", refusal.FunctionNotAllowed,
		},
		{"a function below views", "SELECT u FROM app.v2", "", "ALTER FUNCTION app.used(int) VOLATILE", refusal.FunctionNotAllowed},
		{
			"a new overload", "SELECT lower('A'::varchar)", "",
			"CREATE FUNCTION public.lower(varchar) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''it ran''; END'",
			refusal.FunctionNotAllowed,
		},
		{"a new operator", "SELECT 1 @@@@ 2", failed, "CREATE OPERATOR public.@@@@ (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)", ""},
		{
			"a new volatile operator", "SELECT 1 @@@@@ 2", failed,
			"CREATE OPERATOR public.@@@@@ (LEFTARG = int, RIGHTARG = int, FUNCTION = app.vol)", refusal.FunctionNotAllowed,
		},
		{
			"a new type", "SELECT '1'::later", failed,
			"CREATE DOMAIN public.later AS int CHECK (app.vol(VALUE, 1))", refusal.FunctionNotAllowed,
		},
	} {
		is := func(code refusal.Code, err error, when string) {
			if code == "" {
				require.NoError(t, err, "%s: %s", c.name, when)
				return
			}
			require.True(t, refusal.Is(err, code), "%s: %s: %v", c.name, when, err)
		}
		is(c.first, once(c.sql), "before")
		st, err := guard.Read(t.Context(), pool.Catalog(), c.sql, nil)
		require.NoError(t, err, c.name)
		b.PG.Exec(t, c.change)
		_, err = pool.Explain(t.Context(), st, 0, everything)
		require.ErrorIs(t, err, wire.ErrStaleCatalog, c.name)
		is(refusal.ExplainFailed, err, "explained")
		_, err = pool.Query(t.Context(), st, postgres.QueryLimits{})
		require.ErrorIs(t, err, wire.ErrStaleCatalog, c.name)
		is(failed, err, "run")
		is(c.then, once(c.sql), "again")
	}
}

// What "by search_path" meant is a fact too: a connection with another path resolves another table.
func TestStaleSearchPath(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MaxConnections = 1 })
	b.PG.Exec(t, `CREATE SCHEMA one; CREATE SCHEMA two; GRANT USAGE ON SCHEMA one, two TO readonly;
		CREATE FUNCTION one.f() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1'; CREATE FUNCTION two.f() RETURNS int STABLE LANGUAGE sql AS 'SELECT 2';
		ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET search_path = one`)
	require.Equal(t, `[[1]]`, asJSON(t, mustQuery(t, b, "SELECT f()")))
	st := guarded(t, b.Readonly(), "SELECT f()")
	b.PG.Exec(t, `ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET search_path = two`)
	s := acquire(t, b.Readonly())
	s.Discard()
	s.Release()
	_, err := b.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
	require.ErrorIs(t, err, wire.ErrStaleCatalog)
	require.Equal(t, `[[2]]`, asJSON(t, mustQuery(t, b, "SELECT f()")))
}

// A look-up on a connection with another path throws away what was remembered under the first.
func TestCatalogFollowsTheSearchPath(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MaxConnections = 1 })
	b.PG.Exec(t, `CREATE SCHEMA one; CREATE SCHEMA two; GRANT USAGE ON SCHEMA one, two TO readonly;
		CREATE TABLE one.x (id int); CREATE TABLE two.x (id int);
		ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET search_path = one`)
	x := sqlguard.Name{Name: "x"}
	schema := func(also ...sqlguard.Name) string {
		return lookup(t, b.Readonly(), sqlguard.Lookup{Relations: append(also, x)}, false).Relations[x].Schema
	}
	require.Equal(t, "one", schema())
	b.PG.Exec(t, `ALTER ROLE readonly IN DATABASE "`+b.PG.Name+`" SET search_path = two`)
	s := acquire(t, b.Readonly())
	s.Discard()
	s.Release()
	require.Equal(t, "one", schema(), "nothing was asked")
	require.Equal(t, "two", schema(sqlguard.Name{Name: "not_asked_yet"}))
}

// Asking for the types of parameters waits for locks; it is bounded like the rest.
func TestDescribeIsBounded(t *testing.T) {
	t.Parallel()
	for state, change := range map[string]func(*pgtemp.DB, *postgres.Options){
		"55P03": func(_ *pgtemp.DB, o *postgres.Options) { o.DescribeLockTimeout = 200 * time.Millisecond },
		"57014": func(_ *pgtemp.DB, o *postgres.Options) {
			o.DescribeTimeout, o.DescribeLockTimeout = 200*time.Millisecond, time.Minute
		},
	} {
		b := setup(t, change)
		b.PG.Exec(t, "CREATE TABLE h (id int); GRANT ALL ON h TO writer; GRANT SELECT ON h TO readonly")
		holder := acquire(t, b.Writer())
		replies, err := holder.Flush(t.Context(), seg("BEGIN", "LOCK TABLE h IN ACCESS EXCLUSIVE MODE"))
		require.NoError(t, err)
		require.Nil(t, replies[0].Err)
		s := acquire(t, b.Readonly())
		start := time.Now()
		_, err = s.EncodeParams(t.Context(), "SELECT 1 FROM h WHERE id = ANY ($1)", raws("[1]"))
		require.Less(t, time.Since(start), 2*time.Second)
		var refused *wire.ServerError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, state, refused.SQLState)
		holder.Release()
		_, err = s.EncodeParams(t.Context(), "SELECT 1 FROM h WHERE id = ANY ($1)", raws("[1]"))
		require.NoError(t, err, "and the connection lives")
	}
}
