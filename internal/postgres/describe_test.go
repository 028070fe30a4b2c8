package postgres_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
)

func describe(t *testing.T, b *bundle, req postgres.DescribeRequest) map[string]map[string]any {
	t.Helper()
	if req.MayRead == nil {
		req.MayRead = func(schema, _ string) bool { return schema != "mcp_audit" }
	}
	if req.MayWrite == nil {
		req.MayWrite = everything
	}
	list, err := b.Readonly().Describe(t.Context(), req)
	require.NoError(t, err)
	out := map[string]map[string]any{}
	for _, d := range list {
		text := d.Summary
		if d.Entry != nil {
			text = d.Entry
		}
		require.False(t, bytes.ContainsAny(text, "\n"))
		var v map[string]any
		require.NoError(t, json.Unmarshal(text, &v))
		require.Equal(t, d.Schema, v["schema"])
		require.Equal(t, d.Table, v["table"])
		out[d.Schema+"."+d.Table] = v
	}
	return out
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `
		CREATE SCHEMA sales; GRANT USAGE ON SCHEMA sales TO readonly, writer; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO readonly;
		ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO writer;
		CREATE TYPE sales.state AS ENUM ('new', 'done');
		CREATE DOMAIN sales.qty AS int CHECK (VALUE > 0);
		CREATE TABLE sales.customer (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text NOT NULL UNIQUE);
		CREATE TABLE sales."Order" (
			"Id" serial, part int NOT NULL DEFAULT 1, customer int NOT NULL REFERENCES sales.customer ON DELETE CASCADE ON UPDATE SET NULL,
			state sales.state NOT NULL DEFAULT 'new', states sales.state[], amount sales.qty, doubled int GENERATED ALWAYS AS (part * 2) STORED,
			CHECK (part < 100 AND part <> 7), PRIMARY KEY ("Id", part));
		COMMENT ON TABLE sales."Order" IS 'one "order" <b>'; COMMENT ON COLUMN sales."Order".amount IS 'in cents';
		CREATE TABLE sales.line (order_id int, order_part int, n int, FOREIGN KEY (order_id, order_part) REFERENCES sales."Order");
		CREATE INDEX line_n ON sales.line (n) WHERE n > 3;
		CREATE FUNCTION sales.trg() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER touch BEFORE UPDATE ON sales.line FOR EACH ROW EXECUTE FUNCTION sales.trg();
		CREATE TABLE hidden (id int PRIMARY KEY); CREATE TABLE points (id int REFERENCES hidden);
		CREATE VIEW sales.v AS SELECT id, email FROM sales.customer;
		CREATE VIEW sales.vcount AS SELECT count(*) FROM sales.customer;
		CREATE MATERIALIZED VIEW sales.mv AS SELECT 1 AS one;
		CREATE EXTENSION postgres_fdw; CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;
		CREATE FOREIGN TABLE sales.far (id int) SERVER elsewhere;
		CREATE TABLE sales.log (at date NOT NULL, id int) PARTITION BY RANGE (at);
		DO $$ BEGIN FOR i IN 0..29 LOOP
			EXECUTE format('CREATE TABLE sales.log_%s PARTITION OF sales.log FOR VALUES FROM (%L) TO (%L)', i, date '2026-01-01' + i, date '2026-01-02' + i);
		END LOOP; END $$;
		INSERT INTO sales.log SELECT '2026-01-03', g FROM generate_series(1, 7) g; ANALYZE sales.log_2;
		CREATE TABLE refs_part (id int PRIMARY KEY) PARTITION BY HASH (id);
		CREATE TABLE refs_part_0 PARTITION OF refs_part FOR VALUES WITH (MODULUS 1, REMAINDER 0);
		CREATE TABLE refers (id int REFERENCES refs_part);
		CREATE TABLE secret (id int); REVOKE ALL ON secret FROM readonly;
		INSERT INTO sales.customer (email) VALUES ('a'), ('b'); ANALYZE sales.customer`)

	all := describe(t, b, postgres.DescribeRequest{Full: true, MayWrite: func(_, name string) bool { return name != "secret" }})
	require.NotContains(t, all, "sales.log_1", "partitions are folded")
	require.NotContains(t, all, "public.secret", "no right to read it")
	require.NotContains(t, all, "mcp_audit.log")
	require.NotContains(t, all, "pg_catalog.pg_class")

	order := all["sales.Order"]
	require.Equal(t, "table", order["kind"])
	require.Equal(t, `one "order" <b>`, order["comment"])
	require.Nil(t, order["rowCountEstimate"])
	require.Equal(t, true, order["writable"])
	require.Equal(t, []any{"Id", "part"}, order["primaryKey"])
	require.Equal(t, []any{}, order["unique"])
	require.Equal(t, []any{map[string]any{
		"constraintName": "Order_customer_fkey", "column": "customer", "referencesSchema": "sales", "referencesTable": "customer",
		"referencesColumn": "id", "onDelete": "CASCADE", "onUpdate": "SET NULL",
	}}, order["foreignKeys"])
	require.Equal(t, "Order_part_check", order["checks"].([]any)[0].(map[string]any)["constraintName"])
	columns := order["columns"].([]any)
	require.Len(t, columns, 7)
	column := func(name, typ string, nullable bool, rest map[string]any) map[string]any {
		c := map[string]any{"name": name, "type": typ, "nullable": nullable, "defaultValue": nil, "identity": nil, "generated": nil, "comment": nil, "enumValues": nil}
		maps.Copy(c, rest)
		return c
	}
	require.Equal(t, column("Id", "integer", false, map[string]any{"defaultValue": `nextval('sales."Order_Id_seq"'::regclass)`}), columns[0])
	require.Equal(t, column("state", "sales.state", false, map[string]any{"defaultValue": `'new'::sales.state`, "enumValues": []any{"new", "done"}}), columns[3])
	require.Equal(t, column("states", "sales.state[]", true, map[string]any{"enumValues": []any{"new", "done"}}), columns[4])
	require.Equal(t, column("amount", "sales.qty", true, map[string]any{"comment": "in cents"}), columns[5])
	require.Equal(t, column("doubled", "integer", true, map[string]any{"defaultValue": "(part * 2)", "generated": "stored"}), columns[6])
	require.Nil(t, order["partitions"])

	customer := all["sales.customer"]
	require.Equal(t, 2.0, customer["rowCountEstimate"])
	require.Equal(t, "always", customer["columns"].([]any)[0].(map[string]any)["identity"])
	require.Equal(t, []any{map[string]any{"constraintName": "customer_email_key", "columns": []any{"email"}}}, customer["unique"])

	line := all["sales.line"]
	fks := line["foreignKeys"].([]any)
	require.Len(t, fks, 2, "one entry per column pair, in order")
	require.Equal(t, "Id", fks[0].(map[string]any)["referencesColumn"])
	require.Equal(t, "order_part", fks[1].(map[string]any)["column"])
	require.Equal(t, "NO ACTION", fks[1].(map[string]any)["onDelete"])
	require.Equal(t, "line_n", line["indexes"].([]any)[0].(map[string]any)["name"])
	require.Contains(t, line["indexes"].([]any)[0].(map[string]any)["definition"], "WHERE (n > 3)")
	require.Equal(t, "touch", line["triggers"].([]any)[0].(map[string]any)["name"])

	require.Equal(t, "view", all["sales.v"]["kind"])
	require.Equal(t, true, all["sales.v"]["writable"])
	require.Equal(t, false, all["sales.vcount"]["writable"])
	require.Equal(t, "materialized_view", all["sales.mv"]["kind"])
	require.Equal(t, false, all["sales.mv"]["writable"])
	require.Equal(t, "foreign_table", all["sales.far"]["kind"])
	require.Equal(t, false, all["sales.far"]["writable"])
	log := all["sales.log"]
	require.Equal(t, "partitioned_table", log["kind"])
	require.Equal(t, map[string]any{"strategy": "range", "key": "RANGE (at)", "count": 30.0}, log["partitions"])
	require.Equal(t, 7.0, log["rowCountEstimate"])
	require.Len(t, all["public.refers"]["foreignKeys"], 1, "not one more per partition")

	// A view is writable only if what it stands on is; a hidden target hides its key.
	few := describe(t, b, postgres.DescribeRequest{
		Full:     true,
		MayRead:  func(_, name string) bool { return name != "hidden" },
		MayWrite: func(_, name string) bool { return name == "v" },
	})
	require.Equal(t, false, few["sales.v"]["writable"])
	require.Empty(t, few["public.points"]["foreignKeys"])
	require.NotContains(t, few, "public.hidden")
	require.Equal(t, false, few["sales.Order"]["writable"])

	one := describe(t, b, postgres.DescribeRequest{Schema: "sales", Table: "log_1", Full: true})
	require.Len(t, one, 1, "a partition by name")
	require.Equal(t, "table", one["sales.log_1"]["kind"])
	require.Equal(t, map[string]any{"schema": "sales", "table": "log", "bound": "FOR VALUES FROM ('2026-01-02') TO ('2026-01-03')"}, one["sales.log_1"]["partitionOf"])
	require.NotContains(t, log["partitions"], "children", "only on request")
	kids := describe(t, b, postgres.DescribeRequest{
		Schema: "sales", Table: "log", Full: true, Children: true, MayRead: func(_, name string) bool { return name != "log_7" },
	})["sales.log"]["partitions"].(map[string]any)
	require.Len(t, kids["children"], 29, "without the hidden one")
	require.Equal(t, map[string]any{"schema": "sales", "table": "log_0", "bound": "FOR VALUES FROM ('2026-01-01') TO ('2026-01-02')"}, kids["children"].([]any)[0])
	require.Len(t, describe(t, b, postgres.DescribeRequest{Like: "log%"}), 1, "a pattern is no request for partitions")
	require.Contains(t, describe(t, b, postgres.DescribeRequest{Like: "order"}), "sales.Order", "whatever the case")
	require.Empty(t, describe(t, b, postgres.DescribeRequest{Schema: "sales", Table: "order"}))
	require.Empty(t, describe(t, b, postgres.DescribeRequest{Schema: "nowhere"}))

	short := describe(t, b, postgres.DescribeRequest{Schema: "sales"})
	require.Equal(t, map[string]any{"schema": "sales", "table": "customer", "kind": "table", "rowCountEstimate": 2.0, "writable": true}, short["sales.customer"])
}

// What is said beforehand is what the write tools meet: for each kind of relation, allowlist and grant.
func TestDescribeSaysWhatWritingLacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `CREATE SCHEMA w; GRANT USAGE ON SCHEMA w TO readonly; CREATE SCHEMA shut; GRANT USAGE ON SCHEMA shut TO readonly;
		GRANT USAGE ON SCHEMA w TO writer;
		CREATE TABLE w.all_of_it (id int, v int); CREATE TABLE w.no_delete (id int); CREATE TABLE w.one_column (id int, v int); CREATE TABLE w.blind (id int); CREATE TABLE w.nothing (id int);
		CREATE TABLE w.unlisted (id int); CREATE TABLE w.hidden (id int); CREATE TABLE shut.t (id int);
		GRANT SELECT, INSERT, UPDATE, DELETE ON w.all_of_it, w.unlisted, w.hidden, shut.t TO writer; GRANT SELECT, INSERT, UPDATE ON w.no_delete TO writer;
		GRANT SELECT, UPDATE (v) ON w.one_column TO writer; GRANT INSERT, UPDATE, DELETE ON w.blind TO writer;
		CREATE VIEW w.good AS SELECT id, v FROM w.all_of_it; CREATE VIEW w.over_unlisted AS SELECT id FROM w.unlisted; CREATE VIEW w.over_hidden AS SELECT id FROM w.hidden;
		CREATE VIEW w.counts AS SELECT count(*) FROM w.all_of_it; CREATE VIEW w.only_insert AS SELECT DISTINCT id FROM w.all_of_it;
		CREATE FUNCTION w.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER i INSTEAD OF INSERT ON w.only_insert FOR EACH ROW EXECUTE FUNCTION w.f();
		GRANT SELECT, INSERT, UPDATE, DELETE ON w.good, w.over_unlisted, w.over_hidden, w.counts, w.only_insert TO writer;
		CREATE MATERIALIZED VIEW w.mat AS SELECT 1 AS one;
		CREATE EXTENSION postgres_fdw; CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw; CREATE FOREIGN TABLE w.far (id int) SERVER elsewhere;
		CREATE VIEW w.over_far AS SELECT id FROM w.far; GRANT ALL ON w.over_far TO writer;
		CREATE TABLE w.parts (id int) PARTITION BY LIST (id); CREATE FOREIGN TABLE w.parts_1 PARTITION OF w.parts FOR VALUES IN (1) SERVER elsewhere; GRANT ALL ON w.parts TO writer;
		GRANT SELECT ON ALL TABLES IN SCHEMA w TO readonly; GRANT SELECT ON ALL TABLES IN SCHEMA shut TO readonly`)
	all := describe(t, b, postgres.DescribeRequest{
		Full:     true,
		MayRead:  func(_, name string) bool { return name != "hidden" },
		MayWrite: func(_, name string) bool { return name != "hidden" && name != "unlisted" },
	})
	for name, want := range map[string]struct {
		writable bool
		limits   []any
	}{
		"w.all_of_it":     {true, nil},
		"w.no_delete":     {true, []any{"role writer lacks DELETE"}},
		"w.one_column":    {true, []any{"role writer lacks INSERT, DELETE"}},
		"w.blind":         {false, []any{"role writer lacks SELECT"}},
		"w.nothing":       {false, []any{"role writer lacks SELECT, INSERT, UPDATE, DELETE"}},
		"w.unlisted":      {false, []any{"allowlist.write does not name it"}},
		"shut.t":          {false, []any{"role writer lacks USAGE on schema shut"}},
		"w.good":          {true, nil},
		"w.over_unlisted": {false, []any{"allowlist.write does not name w.unlisted, which it stands on"}},
		"w.over_hidden":   {false, []any{"allowlist.write does not name a table that is not shown here, which it stands on"}},
		"w.counts":        {false, []any{"Postgres cannot write through this view"}},
		"w.only_insert":   {true, []any{"Postgres cannot UPDATE or DELETE through this view"}},
		"w.mat":           {false, []any{"a materialized view is never writable"}},
		"w.far":           {false, []any{"a foreign table is never writable"}},
		"w.over_far":      {false, []any{"it stands on a foreign table"}},
		"w.parts":         {false, []any{"a partition of it is a foreign table"}},
	} {
		require.Equal(t, want.writable, all[name]["writable"], name)
		if want.limits == nil {
			require.NotContains(t, all[name], "writeLimits", name)
			continue
		}
		require.Equal(t, want.limits, all[name]["writeLimits"], name)
	}
	audit := describe(t, b, postgres.DescribeRequest{Schema: "mcp_audit", Table: "log", Full: true, MayRead: everything})["mcp_audit.log"]
	require.Equal(t, []any{"nothing in schema mcp_audit is writable"}, audit["writeLimits"])
}

// One round trip for the short list and for one relation, two for everything; and none of the full
// entries where these cannot be wanted.
func TestDescribeRoundTrips(t *testing.T) {
	t.Parallel()
	var w *wiretap
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { w, o.ReadonlyURL = tap(t, o.ReadonlyURL) })
	b.PG.Exec(t, `DO $$ BEGIN FOR i IN 1..20 LOOP EXECUTE format('CREATE TABLE t%s (a int, b int)', i); END LOOP; END $$; GRANT SELECT ON ALL TABLES IN SCHEMA public TO readonly`)
	oid, err := strconv.ParseUint(b.PG.Query(t, "SELECT 't7'::regclass::oid")[0][0], 10, 32)
	require.NoError(t, err)
	describe(t, b, postgres.DescribeRequest{}) // dials
	for _, c := range []struct {
		trips int
		full  bool
		req   postgres.DescribeRequest
	}{
		{1, false, postgres.DescribeRequest{}},
		{1, true, postgres.DescribeRequest{Schema: "public", Table: "t7", OID: uint32(oid), Full: true}},
		{2, true, postgres.DescribeRequest{Full: true}},
		{2, false, postgres.DescribeRequest{Full: true, Budget: 1000}},
		{2, true, postgres.DescribeRequest{Full: true, Budget: 100_000}},
	} {
		var got map[string]map[string]any
		require.Equal(t, c.trips, w.count(func() { got = describe(t, b, c.req) }), "%+v", c.req)
		require.NotEmpty(t, got)
		for name, e := range got {
			require.Equal(t, c.full, e["columns"] != nil, name)
		}
	}
	// What an entry takes at least is what is counted on.
	list, err := b.Readonly().Describe(t.Context(), postgres.DescribeRequest{Full: true, MayRead: everything, MayWrite: everything, Schema: "public"})
	require.NoError(t, err)
	require.Len(t, list, 20)
	for _, d := range list {
		require.Greater(t, len(d.Entry), postgres.LeastEntry(2))
	}
}

// Many tables stay quick, and a table under DDL does not block the description.
func TestDescribeManyAndLocked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `DO $$ DECLARE cols text; BEGIN
		SELECT string_agg(format('c%s int', i), ', ') INTO cols FROM generate_series(1, 20) i;
		FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE many_%s (id serial PRIMARY KEY CHECK (id > 0), %s)', i, cols); END LOOP; END $$;
		CREATE VIEW locked_view AS SELECT id FROM many_1; CREATE INDEX ON many_1 (c1) WHERE c2 > 1;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO readonly, writer; GRANT TRUNCATE ON many_1 TO writer`)
	s := acquire(t, b.Writer())
	_, err := s.Flush(t.Context(), seg("BEGIN", "LOCK TABLE many_1 IN ACCESS EXCLUSIVE MODE"))
	require.NoError(t, err)
	start := time.Now()
	all := describe(t, b, postgres.DescribeRequest{Full: true})
	require.Len(t, all, 301)
	require.Equal(t, true, all["public.many_1"]["locked"])
	require.Len(t, all["public.many_1"]["columns"], 21)
	require.NotContains(t, all["public.many_2"], "locked")
	require.NotNil(t, all["public.many_2"]["indexes"].([]any)[0].(map[string]any)["definition"])
	t.Log(fmt.Sprint("full description of 300 tables took ", time.Since(start)))
	require.Less(t, time.Since(start), 30*time.Second)
	s.Release()
}
