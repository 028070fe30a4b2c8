package writecore_test

// alterCases are ALTER TABLE. Where the manual (ALTER TABLE, Description) names no weaker lock it is ACCESS
// EXCLUSIVE; a rewrite is one where its Notes say so.
var alterCases = []migrationCase{
	alter("ADD COLUMN x text", "see.col('app.t', 'x') = 'text'"),
	alter("ADD COLUMN IF NOT EXISTS x text, ADD y int NOT NULL DEFAULT 7", "see.col('app.t', 'y') = 'integer not null default 7'"), // constant: no rewrite since 11
	alter("ADD COLUMN x timestamptz DEFAULT now()", "see.col('app.t', 'x') LIKE '%now%'"),                                          // stable: the same for every row
	rewrites(alter("ADD COLUMN x double precision DEFAULT random()", "see.col('app.t', 'x') LIKE '%random%'"), tIndexes),
	rewrites(alter("ADD COLUMN x uuid NOT NULL DEFAULT gen_random_uuid()", "see.col('app.t', 'x') LIKE 'uuid not null%'"), tIndexes),
	rewrites(alter("ADD COLUMN x int GENERATED ALWAYS AS IDENTITY", "see.col('app.t', 'x') = 'integer not null identity a'"), tIndexes),
	rewrites(alter("ADD COLUMN x int GENERATED ALWAYS AS (a * 2) STORED", "see.col('app.t', 'x') LIKE 'integer generated%'"), tIndexes),
	scans(alter("ADD COLUMN x int CHECK (x > 0)", "see.con('app.t', 't_x_check') = 'CHECK ((x > 0))'")),
	{
		sql: "ALTER TABLE app.t ADD COLUMN x int REFERENCES app.u", targets: "r app.u; w app.t", locks: "app.t AccessExclusive; app.u ShareRowExclusive", warnings: exclusive,
		after: "see.con('app.t', 't_x_fkey') IS NOT NULL",
	},
	{
		sql: "ALTER TABLE app.t DROP COLUMN old", targets: "w app.t", locks: "app.t AccessExclusive", drops: "column app.t.old", lost: "app.t.old 30", warnings: exclusive + "; " + loses,
		after: "see.col('app.t', 'old') IS NULL",
	},
	{
		sql: "ALTER TABLE app.t DROP COLUMN c, DROP COLUMN n", targets: "w app.t", locks: "app.t AccessExclusive", drops: "column app.t.c; column app.t.n", lost: "app.t.c 50; app.t.n 50",
		warnings: exclusive + "; " + loses, after: "see.col('app.t', 'c') IS NULL AND see.col('app.t', 'n') IS NULL",
	},
	{
		sql: "ALTER TABLE app.t DROP COLUMN b", targets: "w app.t", locks: "app.t AccessExclusive", drops: "column app.t.b; index app.t_b; statistics app.t_stats", lost: "app.t.b 50",
		warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.rel('app.t_b') IS NULL",
	},
	{
		sql: "ALTER TABLE app.t DROP COLUMN a CASCADE", targets: "w app.t", locks: "app.t AccessExclusive; app.v AccessExclusive; app.v2 AccessExclusive",
		drops: "column app.t.a; constraint app.t.t_a_check; constraint app.t.t_loose; statistics app.t_stats; view app.v; view app.v2", lost: "app.t.a 50",
		warnings: exclusive + "; CASCADE_DROPS; " + loses, after: "see.col('app.t', 'a') IS NULL",
	},
	{
		sql: "ALTER TABLE app.parent DROP COLUMN id", targets: "w app.parent", locks: "app.child AccessExclusive; app.parent AccessExclusive", drops: "column app.parent.id", lost: "app.parent.id 0",
		warnings: exclusive, after: "see.col('app.child', 'id') IS NULL",
	},

	rewrites(alter("ALTER COLUMN n TYPE numeric(8, 1)", "see.col('app.t', 'n') = 'numeric(8,1)'"), tIndexes),
	{ // the foreign key is made again, which looks every row up
		sql: "ALTER TABLE app.t ALTER COLUMN u_id TYPE bigint", targets: "w app.t", locks: "app.t AccessExclusive; app.u AccessExclusive", rewrites: tIndexes, scans: "app.u",
		warnings: exclusive + "; REWRITES_TABLE", after: "see.col('app.t', 'u_id') = 'bigint'",
	},
	rewrites(onTable("app.keyed", "ALTER COLUMN id TYPE bigint", "see.col('app.keyed', 'id') = 'bigint not null'"), "app.keyed; app.keyed_pkey; app.keyed_tag"), // the index is made again
	rewrites(onTable("app.keyed", "ALTER COLUMN tag TYPE int USING length(tag)", "see.col('app.keyed', 'tag') = 'integer'"), "app.keyed; app.keyed_pkey; app.keyed_tag"),
	onTable("app.keyed", "ALTER COLUMN tag TYPE text", "see.col('app.keyed', 'tag') = 'text'"),  // the index is kept as it is
	alter("ALTER COLUMN c TYPE varchar(20)", "see.col('app.t', 'c') = 'character varying(20)'"), // longer: no rewrite
	alter("ALTER COLUMN c TYPE text", "see.col('app.t', 'c') = 'text'"),                         // binary coercible: no rewrite
	alter("ALTER COLUMN n TYPE numeric(12, 2)", "see.col('app.t', 'n') = 'numeric(12,2)'"),      // more digits: no rewrite
	rewrites(alter("ALTER COLUMN c TYPE varchar(5)", "see.col('app.t', 'c') = 'character varying(5)'"), tIndexes),
	rewrites(alter("ALTER COLUMN old TYPE int USING length(old)", "see.col('app.t', 'old') = 'integer'"), tIndexes),

	alter("ALTER COLUMN b SET DEFAULT 'z', ALTER a DROP DEFAULT", "see.col('app.t', 'b') LIKE '%z%'"),
	scans(alter("ALTER COLUMN n SET NOT NULL", "see.col('app.t', 'n') LIKE '%not null'")),
	alter("ALTER COLUMN b DROP NOT NULL", "see.col('app.t', 'b') NOT LIKE '%not null%'"),
	alter("ALTER COLUMN b SET STATISTICS 500", "(SELECT attstattarget = 500 FROM pg_attribute WHERE attrelid = to_regclass('app.t') AND attname = 'b')").weak(),
	alter("ALTER COLUMN b SET (n_distinct = 5)", "(SELECT attoptions IS NOT NULL FROM pg_attribute WHERE attrelid = to_regclass('app.t') AND attname = 'b')").weak(),
	alter("ALTER COLUMN b SET STORAGE EXTERNAL", "(SELECT attstorage = 'e' FROM pg_attribute WHERE attrelid = to_regclass('app.t') AND attname = 'b')"),
	alter("ALTER COLUMN b SET COMPRESSION pglz", "(SELECT attcompression = 'p' FROM pg_attribute WHERE attrelid = to_regclass('app.t') AND attname = 'b')"),
	onTable("app.num", "ALTER COLUMN id SET GENERATED BY DEFAULT", "see.col('app.num', 'id') = 'integer not null identity d'").with("app.num_id_seq ShareRowExclusive"),
	onTable("app.num", "ALTER COLUMN id DROP IDENTITY", "see.col('app.num', 'id') = 'integer not null'").dropping("sequence app.num_id_seq").with("app.num_id_seq AccessExclusive").warning("CASCADE_DROPS"),
	onTable("app.num", "ALTER COLUMN e DROP EXPRESSION", "see.col('app.num', 'e') = 'integer'").dropping("default app.num.e"),
	alter("ALTER COLUMN b DROP DEFAULT", "see.col('app.t', 'b') = 'text not null'").dropping("default app.t.b"),

	scans(alter("ADD CONSTRAINT x CHECK (a < 500)", "see.con('app.t', 'x') = 'CHECK ((a < 500))'")),
	alter("ADD CONSTRAINT x CHECK (a < 500) NOT VALID", "see.con('app.t', 'x') LIKE '%NOT VALID'"),
	scans(alter("VALIDATE CONSTRAINT t_loose", "see.con('app.t', 't_loose') NOT LIKE '%NOT VALID'").weak()),
	scans(alter("ADD CONSTRAINT x UNIQUE (n, id)", "see.con('app.t', 'x') = 'UNIQUE (n, id)'")),
	scans(alter("ADD EXCLUDE USING btree (id WITH =)", "see.con('app.t', 't_id_excl') IS NOT NULL")),
	scans(onTable("app.free", "ADD PRIMARY KEY (a)", "see.con('app.free', 'free_pkey') = 'PRIMARY KEY (a)'")),
	onTable("app.u", "ADD CONSTRAINT u_key UNIQUE USING INDEX u_name", "see.con('app.u', 'u_key') = 'UNIQUE (name)'"),
	{
		sql: "ALTER TABLE app.free ADD CONSTRAINT x FOREIGN KEY (a) REFERENCES app.t NOT VALID", targets: "r app.t; w app.free",
		locks: "app.free ShareRowExclusive; app.t ShareRowExclusive", warnings: exclusive, after: "see.con('app.free', 'x') LIKE '%NOT VALID'",
	},
	{
		sql: "ALTER TABLE app.free ADD FOREIGN KEY (a) REFERENCES app.t", targets: "r app.t; w app.free", locks: "app.free ShareRowExclusive; app.t ShareRowExclusive",
		scans: "app.free; app.t", warnings: exclusive, after: "see.con('app.free', 'free_a_fkey') IS NOT NULL",
	},
	scans(onTable("app.k", "VALIDATE CONSTRAINT k_fk", "see.con('app.k', 'k_fk') NOT LIKE '%NOT VALID'").weak()),
	alter("ALTER CONSTRAINT t_u_id_fkey DEFERRABLE INITIALLY DEFERRED", "see.con('app.t', 't_u_id_fkey') LIKE '%DEFERRABLE%'"),
	alter("DROP CONSTRAINT t_a_check", "see.con('app.t', 't_a_check') IS NULL").dropping("constraint app.t.t_a_check"),
	alter("DROP CONSTRAINT t_u_id_fkey", "see.con('app.t', 't_u_id_fkey') IS NULL").dropping("constraint app.t.t_u_id_fkey").with("app.u AccessExclusive"),
	{
		sql: "ALTER TABLE app.u DROP CONSTRAINT u_pkey CASCADE", targets: "w app.u", locks: "app.k AccessExclusive; app.t AccessExclusive; app.u AccessExclusive",
		drops: "constraint app.k.k_fk; constraint app.t.t_u_id_fkey; constraint app.u.u_pkey; index app.u_pkey", warnings: exclusive + "; CASCADE_DROPS",
		after: "see.con('app.u', 'u_pkey') IS NULL",
	},

	alter("SET (fillfactor = 70, autovacuum_enabled = false)", "see.rel('app.t') LIKE '%fillfactor=70%'").weak(),
	alter("CLUSTER ON t_b", "(SELECT indisclustered FROM pg_index WHERE indexrelid = to_regclass('app.t_b'))").weak(),
	alter("REPLICA IDENTITY FULL", "(SELECT relreplident = 'f' FROM pg_class WHERE oid = to_regclass('app.t'))"),
	alter("ENABLE ROW LEVEL SECURITY", "(SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass('app.t'))").warning("ROW_SECURITY"),
	alter("FORCE ROW LEVEL SECURITY", "(SELECT relforcerowsecurity FROM pg_class WHERE oid = to_regclass('app.t'))").warning("ROW_SECURITY"),
	alter("DISABLE TRIGGER t_touch", "see.trig('app.t', 't_touch') = 'D'").middling().warning("TRIGGER_SWITCHED"),
	alter("DISABLE TRIGGER USER", "see.trig('app.t', 't_touch') = 'D'").middling().warning("TRIGGER_SWITCHED"),
	alter("ENABLE ALWAYS TRIGGER t_touch", "see.trig('app.t', 't_touch') = 'A'").middling().warning("TRIGGER_SWITCHED"),
	rewrites(onTable("app.lone", "SET UNLOGGED", "see.rel('app.lone') = 'r u'"), "app.lone"),

	alter("RENAME COLUMN c TO code", "see.col('app.t', 'code') IS NOT NULL").warning("NAME_IN_USE"),
	alter("RENAME TO tee", "see.rel('app.tee') = 'r p'").warning("NAME_IN_USE").creating("app.tee"),
	alter("RENAME CONSTRAINT t_a_check TO positive", "see.con('app.t', 'positive') IS NOT NULL"),
	alter("SET SCHEMA app2", "see.rel('app2.t') = 'r p'").creating("app2.t").warning("UNREADABLE_FOR_READONLY"),

	{
		sql: "ALTER TABLE app.p ATTACH PARTITION app.q FOR VALUES FROM (10) TO (20)", targets: "w app.p; w app.q", locks: "app.p ShareUpdateExclusive; app.q AccessExclusive",
		scans: "app.q", warnings: exclusive, after: "see.parents('app.q') = 'app.p'",
	},
	{
		sql: "ALTER TABLE app.p ATTACH PARTITION app.q_known FOR VALUES FROM (20) TO (30)", targets: "w app.p; w app.q_known", // its CHECK says enough: nothing is read but for the new indexes
		locks: "app.p ShareUpdateExclusive; app.q_known AccessExclusive", scans: "app.q_known", warnings: exclusive, after: "see.parents('app.q_known') = 'app.p'",
	},
	{
		sql: "ALTER TABLE app.p DETACH PARTITION app.p1", targets: "w app.p; w app.p1", locks: "app.p AccessExclusive; app.p1 AccessExclusive", warnings: exclusive,
		after: "see.parents('app.p1') IS NULL AND see.rel('app.p1') = 'r p'",
	},
	{
		sql: "ALTER TABLE app.lone INHERIT app.parent", targets: "w app.lone; w app.parent", locks: "app.lone AccessExclusive; app.parent ShareUpdateExclusive", warnings: exclusive,
		after: "see.parents('app.lone') = 'app.parent'",
	},
	{
		sql: "ALTER TABLE app.child NO INHERIT app.parent", targets: "w app.child; w app.parent", locks: "app.child AccessExclusive", warnings: exclusive,
		after: "see.parents('app.child') IS NULL",
	},
	{
		sql: "ALTER TABLE app.p ADD COLUMN x int", targets: "w app.p", locks: "app.p AccessExclusive; app.p1 AccessExclusive", warnings: exclusive,
		after: "see.col('app.p1', 'x') = 'integer'",
	},
	{
		sql: "ALTER TABLE app.p ADD PRIMARY KEY (d)", until: 17, targets: "w app.p", locks: "app.p AccessExclusive; app.p1 Share", scans: "app.p1", warnings: exclusive,
		after: "see.con('app.p1', 'p1_pkey') = 'PRIMARY KEY (d)'",
	},
	{ // NOT NULL is a constraint of its own, which goes to the partitions
		sql: "ALTER TABLE app.p ADD PRIMARY KEY (d)", since: 18, targets: "w app.p", locks: "app.p AccessExclusive; app.p1 AccessExclusive", scans: "app.p1", warnings: exclusive,
		after: "see.con('app.p1', 'p1_pkey') = 'PRIMARY KEY (d)'",
	},
	{
		sql: "ALTER TABLE app.parent ADD CHECK (id > 0)", targets: "w app.parent", locks: "app.child AccessExclusive; app.parent AccessExclusive", scans: "app.child; app.parent",
		warnings: exclusive, after: "see.con('app.child', 'parent_id_check') IS NOT NULL",
	},
	{
		sql: "ALTER TABLE ONLY app.p ALTER COLUMN d SET DEFAULT 1", targets: "w app.p", locks: "app.p AccessExclusive", warnings: exclusive, after: "see.col('app.p', 'd') LIKE '%default 1'",
	},
}

const tIndexes = "app.t; app.t_b; app.t_pkey"

// onTable is a sub-command of ALTER TABLE that locks that table in ACCESS EXCLUSIVE MODE and does no more.
func onTable(table, command, after string) migrationCase {
	return migrationCase{sql: "ALTER TABLE " + table + " " + command, targets: "w " + table, locks: table + " AccessExclusive", warnings: exclusive, after: after}
}

func alter(command, after string) migrationCase { return onTable("app.t", command, after) }

// rewrites: the table is written anew, with its indexes, which reads it.
func rewrites(c migrationCase, relations string) migrationCase {
	c.rewrites, c.warnings = relations, c.warnings+"; REWRITES_TABLE"
	return c
}

func scans(c migrationCase) migrationCase {
	c.scans = c.targets[len("w "):]
	return c
}

// weak: SHARE UPDATE EXCLUSIVE, beside which rows can be written.
func (c migrationCase) weak() migrationCase {
	c.locks, c.warnings = c.targets[len("w "):]+" ShareUpdateExclusive", ""
	return c
}

func (c migrationCase) middling() migrationCase {
	c.locks = c.targets[len("w "):] + " ShareRowExclusive"
	return c
}

func (c migrationCase) with(lock string) migrationCase {
	c.locks += "; " + lock
	return c
}

func (c migrationCase) dropping(what string) migrationCase {
	c.drops = what
	return c
}

func (c migrationCase) warning(code string) migrationCase {
	c.warnings += "; " + code
	return c
}

func (c migrationCase) creating(what string) migrationCase {
	c.targets = "c " + what + "; " + c.targets
	return c
}
