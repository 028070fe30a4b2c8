package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const catalogSchema = `
	CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO readonly, writer;
	CREATE TYPE app.mood AS ENUM ('a');
	CREATE TABLE app.plain (
		id bigint GENERATED ALWAYS AS IDENTITY, other int NOT NULL DEFAULT 3, gone int, twice int GENERATED ALWAYS AS (other * 2) STORED,
		ser serial, note text, PRIMARY KEY (other, id));
	ALTER TABLE app.plain DROP COLUMN gone;
	CREATE INDEX plain_note ON app.plain (note);
	INSERT INTO app.plain (note) SELECT 'x' FROM generate_series(1, 50); ANALYZE app.plain;
	CREATE TABLE app."Odd.Name" ("Weird ""col" int);
	CREATE UNLOGGED TABLE app.fast (id int);
	CREATE TABLE app.parts (id int, k int, PRIMARY KEY (id, k)) PARTITION BY RANGE (k);
	CREATE TABLE app.parts_1 PARTITION OF app.parts FOR VALUES FROM (0) TO (10);
	CREATE TABLE app.parts_2 PARTITION OF app.parts FOR VALUES FROM (10) TO (20) PARTITION BY LIST (id);
	CREATE TABLE app.parts_2a PARTITION OF app.parts_2 FOR VALUES IN (1);
	INSERT INTO app.parts VALUES (1, 5), (1, 15); ANALYZE app.parts_1; ANALYZE app.parts_2a;
	CREATE VIEW app.v1 AS SELECT id, note FROM app.plain;
	CREATE VIEW app.v2 AS SELECT v1.id, (SELECT count(*) FROM app.parts) c, (SELECT count(*) FROM pg_catalog.pg_class) n FROM app.v1;
	CREATE FUNCTION app.trg() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
	CREATE VIEW app.vi AS SELECT 1 AS one;
	CREATE TRIGGER ins INSTEAD OF INSERT ON app.vi FOR EACH ROW EXECUTE FUNCTION app.trg();
	CREATE TABLE app.lookup (id int);
	CREATE TABLE app.secured (id int, owner text);
	ALTER TABLE app.secured ENABLE ROW LEVEL SECURITY;
	CREATE POLICY p ON app.secured USING (id IN (SELECT id FROM app.lookup));
	CREATE FUNCTION app.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
	CREATE FUNCTION app.f(text) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION public.f() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION app.loud(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT true';
	CREATE OPERATOR app.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = app.loud);
	CREATE FUNCTION app.small_ok(int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT $1 < 10';
	CREATE DOMAIN app.small AS int CHECK (app.small_ok(VALUE));
	CREATE DOMAIN app.smaller AS app.small;
	CREATE FUNCTION app.to_pair(text) RETURNS app.mood LANGUAGE sql AS 'SELECT ''a''::app.mood';
	CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
	GRANT SELECT (id) ON app.plain TO readonly;
	GRANT SELECT, INSERT, DELETE ON app.plain TO writer; GRANT UPDATE (note) ON app.plain TO writer;
	GRANT SELECT ON app.secured TO readonly`

func names(list ...string) []sqlguard.Name {
	var out []sqlguard.Name
	for _, n := range list {
		out = append(out, sqlguard.Name{Schema: "app", Name: n})
	}
	return out
}

func lookup(t *testing.T, p *postgres.Pool, q sqlguard.Lookup, fresh bool) *sqlguard.Facts {
	t.Helper()
	f, err := p.Catalog().Lookup(t.Context(), q, fresh)
	require.NoError(t, err)
	return f
}

func TestCatalogRelations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, catalogSchema)
	oid := func(name string) uint32 {
		var n uint32
		for _, c := range b.PG.Query(t, "SELECT $1::regclass::oid::text", name)[0][0] {
			n = n*10 + uint32(c-'0')
		}
		return n
	}
	f := lookup(t, b.Writer(), sqlguard.Lookup{Relations: append(
		names("plain", "Odd.Name", "odd.name", "fast", "parts", "v1", "v2", "vi", "secured", "plain_note", "no_such"),
		sqlguard.Name{Name: "pg_class"}, sqlguard.Name{Name: "plain"}, sqlguard.Name{Schema: "pg_catalog", Name: "pg_tables"})}, false)
	require.GreaterOrEqual(t, f.ServerVersion, 140000)
	require.Equal(t, []string{"pg_catalog", "public"}, f.SearchPath)
	rel := func(name string) sqlguard.Relation {
		r, ok := f.Relations[sqlguard.Name{Schema: "app", Name: name}]
		require.True(t, ok, name)
		return r
	}

	plain := rel("plain")
	require.Equal(t, oid("app.plain"), plain.OID)
	require.Equal(t, byte('r'), plain.Kind)
	require.Equal(t, byte('p'), plain.Persistence)
	require.Equal(t, []string{"other", "id"}, plain.PrimaryKey)
	require.Equal(t, int64(50), *plain.RowsEstimate)
	require.False(t, plain.RowSecurity)
	require.Equal(t, sqlguard.Privileges{Select: true, Insert: true, Update: true, Delete: true}, plain.Can)
	require.Equal(t, int32(28), plain.Updatable)
	require.Equal(t, []sqlguard.Column{
		{Name: "id", Number: 1, TypeOID: 20, Type: "bigint", NotNull: true, Identity: 'a', FromSequence: true},
		{Name: "other", Number: 2, TypeOID: 23, Type: "integer", NotNull: true, HasDefault: true},
		{Name: "twice", Number: 4, TypeOID: 23, Type: "integer", Generated: true},
		{Name: "ser", Number: 5, TypeOID: 23, Type: "integer", NotNull: true, HasDefault: true, FromSequence: true},
		{Name: "note", Number: 6, TypeOID: 25, Type: "text"},
	}, plain.Columns)
	for _, n := range []string{"app.plain", "app.plain_pkey", "app.plain_note"} {
		require.Contains(t, plain.Closure, oid(n), n)
	}
	toast := b.PG.Query(t, "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'app.plain'::regclass")[0][0]
	require.Contains(t, plain.Closure, oid(toast))
	require.Contains(t, plain.Closure, oid(toast+"_index"))
	require.Len(t, plain.Closure, 5)

	require.Equal(t, `Weird "col`, rel("Odd.Name").Columns[0].Name)
	require.NotContains(t, f.Relations, sqlguard.Name{Schema: "app", Name: "odd.name"})
	require.Nil(t, rel("Odd.Name").RowsEstimate, "never analysed")
	require.Equal(t, byte('u'), rel("fast").Persistence)
	require.Equal(t, byte('i'), rel("plain_note").Kind)

	parts := rel("parts")
	require.Equal(t, byte('p'), parts.Kind)
	require.Equal(t, int64(2), *parts.RowsEstimate)
	require.False(t, parts.HasForeignPartition)
	for _, n := range []string{"app.parts_1", "app.parts_2", "app.parts_2a", "app.parts_pkey", "app.parts_1_pkey", "app.parts_2a_pkey"} {
		require.Contains(t, parts.Closure, oid(n), n)
	}

	v1, v2 := rel("v1"), rel("v2")
	require.Equal(t, []sqlguard.Target{{OID: plain.OID, Schema: "app", Name: "plain", Kind: 'r'}}, v1.Below)
	require.Contains(t, v1.ViewDef, "app.plain")
	require.Equal(t, int32(28), v1.Updatable)
	require.Contains(t, v1.Closure, oid("app.plain_pkey"))
	below := map[string]byte{}
	for _, x := range v2.Below {
		below[x.String()] = x.Kind
	}
	require.Equal(t, map[string]byte{"app.v1": 'v', "app.plain": 'r', "app.parts": 'p', "pg_catalog.pg_class": 'r'}, below,
		"also relations of the system, which pg_depend does not record")
	require.Contains(t, v2.Closure, oid("app.parts_2a"))
	require.Equal(t, int32(8), rel("vi").Updatable, "INSERT by its trigger")
	require.True(t, rel("vi").HasInsteadOf)
	require.False(t, v1.HasInsteadOf)

	require.True(t, rel("secured").RowSecurity)
	require.Contains(t, rel("secured").Closure, oid("app.lookup"), "named by a policy")

	require.NotContains(t, f.Relations, sqlguard.Name{Name: "plain"}, "app is not on the path")
	require.Equal(t, "pg_catalog", f.Relations[sqlguard.Name{Name: "pg_class"}].Schema)
	tables := f.Relations[sqlguard.Name{Schema: "pg_catalog", Name: "pg_tables"}]
	require.Contains(t, tables.Closure, oid("pg_catalog.pg_class"))
	require.Contains(t, f.Candidates, sqlguard.Name{Schema: "app", Name: "Odd.Name"})
	require.False(t, slices.ContainsFunc(f.Candidates, func(n sqlguard.Name) bool { return n.Schema == "pg_catalog" }))

	// The readonly role has other rights.
	ro := lookup(t, b.Readonly(), sqlguard.Lookup{Relations: names("plain", "secured", "lookup")}, false).Relations
	require.Equal(t, sqlguard.Privileges{Select: true}, ro[names("plain")[0]].Can, "one column is enough")
	require.Equal(t, sqlguard.Privileges{}, ro[names("lookup")[0]].Can)
}

func TestCatalogForeignPartition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `CREATE EXTENSION postgres_fdw; CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;
		CREATE TABLE far (id int) PARTITION BY RANGE (id);
		CREATE TABLE far_1 PARTITION OF far FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
		CREATE FOREIGN TABLE far_1a PARTITION OF far_1 FOR VALUES FROM (0) TO (5) SERVER elsewhere`)
	f := lookup(t, b.Writer(), sqlguard.Lookup{Relations: []sqlguard.Name{{Name: "far"}, {Name: "far_1a"}}}, false)
	require.True(t, f.Relations[sqlguard.Name{Name: "far"}].HasForeignPartition)
	require.Equal(t, byte('f'), f.Relations[sqlguard.Name{Name: "far_1a"}].Kind)
}

func TestCatalogRoutines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, catalogSchema)
	f := lookup(t, b.Writer(), sqlguard.Lookup{
		Functions: []sqlguard.Name{{Name: "f"}, {Schema: "app", Name: "f"}, {Name: "lower"}, {Name: "similarity"}, {Name: "no_such"}, {Name: "sum"}},
		Operators: []sqlguard.Name{{Name: "==="}, {Name: "="}, {Name: "%"}, {Name: "!~~~~"}},
		Types: []sqlguard.Name{
			{Schema: "app", Name: "small"}, {Schema: "app", Name: "smaller"}, {Schema: "app", Name: "mood"}, {Name: "int4"}, {Name: "no_such"},
		},
	}, false)
	volatility := func(list []sqlguard.Routine) map[string]byte {
		out := map[string]byte{}
		for _, r := range list {
			out[r.Schema+"."+r.Name] = max(out[r.Schema+"."+r.Name], r.Volatility)
		}
		return out
	}
	require.Equal(t, map[string]byte{"public.f": 's'}, volatility(f.Functions[sqlguard.Name{Name: "f"}]))
	qualified := f.Functions[sqlguard.Name{Schema: "app", Name: "f"}]
	require.Len(t, qualified, 2, "every overload")
	require.False(t, qualified[0].OnPath)
	require.Equal(t, map[string]byte{"app.f": 'v'}, volatility(qualified))
	require.True(t, f.Functions[sqlguard.Name{Name: "lower"}][0].OnPath)
	require.Equal(t, "pg_trgm", f.Functions[sqlguard.Name{Name: "similarity"}][0].Extension)
	require.Equal(t, byte('a'), f.Functions[sqlguard.Name{Name: "sum"}][0].Kind)
	require.NotContains(t, f.Functions, sqlguard.Name{Name: "no_such"})

	require.Equal(t, map[string]byte{"app.loud": 'v'}, volatility(f.Operators[sqlguard.Name{Name: "==="}]))
	require.False(t, f.Operators[sqlguard.Name{Name: "==="}][0].OnPath)
	require.Contains(t, volatility(f.Operators[sqlguard.Name{Name: "="}]), "pg_catalog.int4eq")
	require.True(t, slices.ContainsFunc(f.Operators[sqlguard.Name{Name: "%"}], func(r sqlguard.Routine) bool { return r.Extension == "pg_trgm" }))

	require.Contains(t, volatility(f.Types[sqlguard.Name{Schema: "app", Name: "small"}]), "app.small_ok")
	require.Contains(t, volatility(f.Types[sqlguard.Name{Schema: "app", Name: "smaller"}]), "app.small_ok", "a domain over a domain")
	require.Contains(t, volatility(f.Types[sqlguard.Name{Schema: "app", Name: "mood"}]), "pg_catalog.enum_in")
	builtin, known := f.Types[sqlguard.Name{Name: "int4"}]
	require.True(t, known)
	require.Empty(t, builtin)
	require.NotContains(t, f.Types, sqlguard.Name{Name: "no_such"})
}

func TestCatalogCaches(t *testing.T) {
	t.Parallel()
	b, r, _ := tapped(t)
	b.PG.Exec(t, "CREATE TABLE c1 (id int); GRANT SELECT ON c1 TO readonly")
	q := sqlguard.Lookup{Relations: []sqlguard.Name{{Name: "c1"}}, Functions: []sqlguard.Name{{Name: "lower"}}}
	n := sqlguard.Name{Name: "c1"}
	lookup(t, b.Readonly(), q, false)
	require.Zero(t, r.count(func() { lookup(t, b.Readonly(), q, false) }))
	b.PG.Exec(t, "ALTER TABLE c1 ADD COLUMN x int")
	require.Len(t, lookup(t, b.Readonly(), q, false).Relations[n].Columns, 1)
	require.Equal(t, 1, r.count(func() {
		require.Len(t, lookup(t, b.Readonly(), q, true).Relations[n].Columns, 2, "fresh asks again")
	}))
	require.Len(t, lookup(t, b.Readonly(), q, false).Relations[n].Columns, 2, "and is remembered")

	// A name that did not exist is not asked for again at once, and yet the guard finds it as soon as it
	// does: it asks afresh before it says that there is nothing.
	late := sqlguard.Lookup{Relations: []sqlguard.Name{{Name: "c2"}}, Functions: []sqlguard.Name{{Name: "c2"}}, Types: []sqlguard.Name{{Name: "c3"}}}
	require.Empty(t, lookup(t, b.Readonly(), late, false).Relations)
	b.PG.Exec(t, "CREATE TABLE c2 (id int); GRANT SELECT ON c2 TO readonly")
	require.Zero(t, r.count(func() { require.Empty(t, lookup(t, b.Readonly(), late, false).Relations) }))
	mustQuery(t, b, "SELECT * FROM c2")
	require.Len(t, lookup(t, b.Readonly(), late, false).Relations, 1)

	// So what is no column and no type costs nothing the second time either.
	b.PG.Exec(t, "CREATE FUNCTION twice(c2) RETURNS int STABLE LANGUAGE sql AS 'SELECT 2 * $1.id'; INSERT INTO c2 VALUES (3)")
	for _, sql := range []string{"SELECT x.n FROM (SELECT lower('A') AS n) x", "SELECT c2.twice FROM c2", "SELECT float8('1')"} {
		mustQuery(t, b, sql)
		require.Equal(t, 1, r.count(func() { mustQuery(t, b, sql) }), sql)
	}
}

// An index, and a sequence that belongs to a column, say whose they are: the table's entry in the
// allowlist is theirs.
func TestCatalogBelow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, catalogSchema+"; CREATE SEQUENCE app.alone; CREATE INDEX parts_k ON app.parts (k)")
	list, err := sqlguard.ParseAllowlist(nil, []string{"app.plain", "app.parts"})
	require.NoError(t, err)
	guard := sqlguard.New(sqlguard.Policy{Write: list})
	for sql, ok := range map[string]bool{
		"DROP INDEX app.plain_note": true, "DROP INDEX app.parts_k": true, "ALTER INDEX app.plain_note RENAME TO x": true,
		"ALTER SEQUENCE app.plain_ser_seq INCREMENT 2": true, "ALTER SEQUENCE app.plain_id_seq INCREMENT 2": true,
		"DROP SEQUENCE app.alone": false, "DROP TABLE app.lookup": false,
	} {
		_, err := guard.Migration(t.Context(), b.Writer().Catalog(), sql)
		if ok {
			require.NoError(t, err, sql)
		} else {
			require.True(t, refusal.Is(err, refusal.TableNotWritable), "%s: %v", sql, err)
		}
	}
}

// A view under DDL must not block the guard for longer than the lock timeout.
func TestCatalogDoesNotHang(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, "CREATE TABLE h (id serial PRIMARY KEY, v int DEFAULT 3 CHECK (v > 1)); CREATE INDEX ON h (v)")
	s := acquire(t, b.Writer())
	b.PG.Exec(t, "GRANT SELECT, UPDATE, DELETE, INSERT, TRUNCATE ON h TO writer")
	replies, err := s.Flush(t.Context(), seg("BEGIN", "LOCK TABLE h IN ACCESS EXCLUSIVE MODE"))
	require.NoError(t, err)
	require.Nil(t, replies[0].Err)
	start := time.Now()
	lookup(t, b.Readonly(), sqlguard.Lookup{Relations: []sqlguard.Name{{Name: "h"}}}, false)
	require.Less(t, time.Since(start), 2*time.Second, "a locked table does not matter")
	s.Release()
}
