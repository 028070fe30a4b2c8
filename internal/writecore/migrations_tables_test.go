package writecore_test

// The locks are those of the manual (13.3; Notes of CREATE TABLE, CREATE INDEX, DROP TABLE). A view or query
// takes ACCESS SHARE of what it reads, as every SELECT, and that is no lock to speak of.

const (
	exclusive = "BLOCKS_WRITES"
	loses     = "DATA_LOST"
)

// tableCases create and drop tables, indexes and views.
var tableCases = []migrationCase{
	{sql: "CREATE TABLE app.x (id bigint PRIMARY KEY, a text DEFAULT 'x' CHECK (length(a) > 0))", targets: "c app.x", after: "see.col('app.x', 'a') LIKE 'text default%'"},
	{sql: "CREATE TABLE IF NOT EXISTS app.x (id bigint)", targets: "c app.x", after: "see.rel('app.x') = 'r p'"},
	{sql: "CREATE UNLOGGED TABLE app.x (id int)", targets: "c app.x", after: "see.rel('app.x') = 'r u'"},
	{sql: "CREATE TABLE app.x (id int) WITH (fillfactor = 50)", targets: "c app.x", after: "see.rel('app.x') = 'r p fillfactor=50'"},
	{sql: "CREATE TABLE app.x (id serial, u uuid DEFAULT gen_random_uuid(), m app.mood)", targets: "c app.x", after: "see.col('app.x', 'm') = 'app.mood'"},
	{sql: "CREATE TABLE app.x (id int GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME app.x_ids START 5))", targets: "c app.x; c app.x_ids", after: "see.rel('app.x_ids') = 'S p'"},
	{sql: "CREATE TABLE app.x (id bigint DEFAULT nextval('app.s'))", targets: "c app.x", after: "see.col('app.x', 'id') LIKE '%nextval%'"},
	{
		sql: "CREATE TABLE app.x (u_id int REFERENCES app.u ON DELETE CASCADE)", targets: "c app.x; r app.u",
		locks: "app.u ShareRowExclusive", warnings: exclusive, after: "see.con('app.x', 'x_u_id_fkey') LIKE '%CASCADE'",
	},
	{sql: "CREATE TABLE app.x (LIKE app.t INCLUDING ALL)", targets: "c app.x; r app.t", after: "see.col('app.x', 'b') LIKE 'text not null default%'"},
	{sql: "CREATE TABLE app.x () INHERITS (app.lone)", targets: "c app.x; w app.lone", locks: "app.lone ShareUpdateExclusive", after: "see.parents('app.x') = 'app.lone'"},
	{
		sql: "CREATE TABLE app.x (y int) INHERITS (app.parent, app.lone)", targets: "c app.x; w app.lone; w app.parent",
		locks: "app.lone ShareUpdateExclusive; app.parent ShareUpdateExclusive", after: "see.parents('app.x') = 'app.parent,app.lone'",
	},
	{
		sql: "CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES FROM (10) TO (20)", targets: "c app.p2; w app.p", locks: "app.p AccessExclusive", warnings: exclusive,
		after: "see.parents('app.p2') = 'app.p'",
	},
	{sql: "CREATE TABLE app.pd PARTITION OF app.p DEFAULT", targets: "c app.pd; w app.p", locks: "app.p AccessExclusive", warnings: exclusive, after: "see.parents('app.pd') = 'app.p'"},
	{sql: "CREATE TABLE app.x (id int, d date) PARTITION BY RANGE (d)", targets: "c app.x", after: "see.rel('app.x') = 'p p'"},
	{sql: "CREATE TABLE app.x AS SELECT id, a FROM app.t WHERE a > 10", targets: "c app.x; r app.t", scans: "app.t", after: "(SELECT reltuples IS NOT NULL FROM pg_class WHERE oid = to_regclass('app.x'))"},
	{sql: "CREATE TABLE app.x AS TABLE app.u WITH NO DATA", targets: "c app.x; r app.u", after: "see.col('app.x', 'name') = 'text'"},
	{
		sql: "CREATE TABLE app2.x (id int)", targets: "c app2.x", after: "see.rel('app2.x') = 'r p'",
		warnings: "UNREADABLE_FOR_READONLY", // which has no USAGE on the schema
	},
	{sql: `CREATE TABLE app."Odd Name" ("Col;umn" int)`, targets: `c app."Odd Name"`, after: `see.col('app."Odd Name"', 'Col;umn') = 'integer'`},

	{sql: "DROP TABLE app.free", targets: "w app.free", locks: "app.free AccessExclusive; app.owned AccessExclusive", drops: "sequence app.owned; table app.free", warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.rel('app.free') IS NULL"},
	{sql: "DROP TABLE IF EXISTS app.empty", targets: "w app.empty", locks: "app.empty AccessExclusive", drops: "table app.empty", warnings: exclusive, after: "see.rel('app.empty') IS NULL"},
	{
		sql: "DROP TABLE app.k, app.empty, app.lone", targets: "w app.empty; w app.k; w app.lone",
		locks: "app.empty AccessExclusive; app.k AccessExclusive; app.lone AccessExclusive; app.u AccessExclusive", drops: "table app.empty; table app.k; table app.lone",
		warnings: exclusive, after: "see.rel('app.k') IS NULL AND see.rel('app.lone') IS NULL",
	},
	{
		sql: "DROP TABLE app.k", targets: "w app.k", locks: "app.k AccessExclusive; app.u AccessExclusive", // the foreign key's triggers are on both
		drops: "table app.k", warnings: exclusive, after: "see.rel('app.k') IS NULL",
	},
	{
		sql: "DROP TABLE app.t CASCADE", targets: "w app.t", locks: "app.t AccessExclusive; app.u AccessExclusive; app.v AccessExclusive; app.v2 AccessExclusive",
		drops: "table app.t; view app.v; view app.v2", warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.rel('app.t') IS NULL AND see.rel('app.v2') IS NULL",
	},
	{
		sql: "DROP TABLE app.u CASCADE", targets: "w app.u",
		locks:    "app.alone AccessExclusive; app.k AccessExclusive; app.mat AccessExclusive; app.t AccessExclusive; app.u AccessExclusive",
		drops:    "constraint app.k.k_fk; constraint app.t.t_u_id_fkey; materialized view app.mat; table app.u; view app.alone",
		warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.rel('app.u') IS NULL AND see.con('app.t', 't_u_id_fkey') IS NULL",
	},
	{ // a column whose type is the table's row
		sql: "DROP TABLE app.shape CASCADE", targets: "w app.shape", locks: "app.holder AccessExclusive; app.shape AccessExclusive", drops: "column app.holder.s; table app.shape",
		warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.col('app.holder', 's') IS NULL",
	},
	{
		sql: "DROP TABLE app.p", targets: "w app.p", locks: "app.p AccessExclusive; app.p1 AccessExclusive", drops: "table app.p; table app.p1",
		warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.rel('app.p1') IS NULL",
	},

	{sql: "CREATE INDEX ON app.free (a)", targets: "w app.free", locks: "app.free Share", scans: "app.free", warnings: exclusive, after: "see.rel('app.free_a_idx') = 'i p'"},
	{sql: "CREATE UNIQUE INDEX x ON app.free (a, lower(b::text)) INCLUDE (b) WHERE a > 0", targets: "c app.x; w app.free", locks: "app.free Share", scans: "app.free", warnings: exclusive, after: "see.rel('app.x') = 'i p'"},
	{sql: "CREATE INDEX IF NOT EXISTS x ON app.u USING hash (code)", targets: "c app.x; w app.u", locks: "app.u Share", scans: "app.u", warnings: exclusive, after: "see.rel('app.x') = 'i p'"},
	{sql: "CREATE INDEX x ON app.p (d, id)", targets: "c app.x; w app.p", locks: "app.p Share; app.p1 Share", scans: "app.p1", warnings: exclusive, after: "see.rel('app.x') = 'I p'"},
	{sql: "CREATE INDEX x ON app.mat (id)", targets: "c app.x; w app.mat", locks: "app.mat Share", scans: "app.mat", warnings: exclusive, after: "see.rel('app.x') = 'i p'"},
	{sql: "DROP INDEX app.t_b", targets: "w app.t_b", locks: "app.t AccessExclusive", drops: "index app.t_b", warnings: exclusive, after: "see.rel('app.t_b') IS NULL"},
	{sql: "DROP INDEX IF EXISTS app.t_b, app.u_name CASCADE", targets: "w app.t_b; w app.u_name", locks: "app.t AccessExclusive; app.u AccessExclusive", drops: "index app.t_b; index app.u_name", warnings: exclusive, after: "see.rel('app.u_name') IS NULL"},
	{sql: "ALTER INDEX app.t_b RENAME TO t_bee", targets: "c app.t_bee; w app.t_b", after: "see.rel('app.t_bee') = 'i p'"},
	{sql: "ALTER INDEX app.t_b SET (fillfactor = 70)", targets: "w app.t_b", after: "see.rel('app.t_b') = 'i p fillfactor=70'"},
	{sql: "ALTER INDEX app.p_id_idx ATTACH PARTITION app.p1_id", targets: "w app.p1_id; w app.p_id_idx", after: "see.parents('app.p1_id') = 'app.p_id_idx'"},

	{sql: "CREATE VIEW app.x AS SELECT u.id, t.a FROM app.u JOIN app.t ON t.u_id = u.id", targets: "c app.x; r app.t; r app.u", after: "see.rel('app.x') = 'v p'"},
	{sql: "CREATE OR REPLACE VIEW app.alone AS SELECT id, name FROM app.u", targets: "c app.alone; r app.u", locks: "app.alone AccessExclusive", warnings: exclusive, after: "see.col('app.alone', 'name') = 'text'"},
	{sql: "CREATE VIEW app.x WITH (security_barrier) AS WITH c AS (SELECT * FROM app.u) SELECT * FROM c", targets: "c app.x; r app.u", after: "see.rel('app.x') LIKE 'v p security_barrier%'"},
	{sql: "ALTER VIEW app.v RENAME TO w", targets: "c app.w; w app.v", locks: "app.v AccessExclusive", warnings: exclusive + "; NAME_IN_USE", after: "see.rel('app.w') = 'v p'"},
	{sql: "ALTER VIEW app.v ALTER COLUMN a SET DEFAULT 5", targets: "w app.v", locks: "app.v AccessExclusive", warnings: exclusive, after: "see.col('app.v', 'a') = 'integer default 5'"},
	{sql: "ALTER VIEW app.v SET (security_barrier = true)", targets: "w app.v", locks: "app.v AccessExclusive", warnings: exclusive, after: "see.rel('app.v') = 'v p security_barrier=true'"},
	{sql: "ALTER VIEW app.v SET SCHEMA app2", targets: "c app2.v; w app.v", locks: "app.v AccessExclusive", warnings: exclusive + "; UNREADABLE_FOR_READONLY", after: "see.rel('app2.v') = 'v p'"},
	{sql: "DROP VIEW app.alone", targets: "w app.alone", locks: "app.alone AccessExclusive", drops: "view app.alone", warnings: exclusive, after: "see.rel('app.alone') IS NULL"},
	{sql: "DROP VIEW app.v CASCADE", targets: "w app.v", locks: "app.v AccessExclusive; app.v2 AccessExclusive", drops: "view app.v; view app.v2", warnings: exclusive + "; CASCADE_DROPS", after: "see.rel('app.v2') IS NULL"},
	{sql: "CREATE MATERIALIZED VIEW app.x AS SELECT id FROM app.u", targets: "c app.x; r app.u", scans: "app.u", after: "see.rel('app.x') = 'm p'"},
	{sql: "ALTER MATERIALIZED VIEW app.mat RENAME TO matte", targets: "c app.matte; w app.mat", locks: "app.mat AccessExclusive", warnings: exclusive + "; NAME_IN_USE", after: "see.rel('app.matte') = 'm p'"},
	{sql: "ALTER MATERIALIZED VIEW app.mat SET (fillfactor = 70)", targets: "w app.mat", locks: "app.mat ShareUpdateExclusive", after: "see.rel('app.mat') = 'm p fillfactor=70'"},
	{sql: "DROP MATERIALIZED VIEW app.mat", targets: "w app.mat", locks: "app.mat AccessExclusive", drops: "materialized view app.mat", warnings: exclusive + "; " + loses, after: "see.rel('app.mat') IS NULL"},
}
