package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// What people reported about objects and names with tools like this one, each report as a test of its
// number. The schema is made as the migrator, whose default privileges are those of docker/init.

// objects is a database with that schema, made by the migrator in schema app.
func objects(t testing.TB, sql string) *pgtemp.DB {
	t.Helper()
	db := pgtemp.New(t)
	db.Exec(t, "CREATE SCHEMA app AUTHORIZATION migrator; SET ROLE migrator; "+sql+"; RESET ROLE")
	return db
}

// table is what these tests read of an entry of describe_schema.
type table struct {
	Schema, Table, Kind string
	Comment             *string
	RowCountEstimate    *int64
	Writable            bool
	WriteLimits         []string
	Columns             []struct {
		Name, Type                                 string
		Nullable                                   bool
		DefaultValue, Identity, Generated, Comment *string
		EnumValues                                 []string
	}
	PrimaryKey  []string
	ForeignKeys []map[string]string
	Partitions  *struct {
		Strategy, Key string
		Count         int
		Children      []struct{ Schema, Table, Bound string }
	}
}

type schemaReply struct {
	Tables    []table
	Truncated bool
	Hint      string
}

func (s *server) described(a args) schemaReply {
	s.t.Helper()
	var d schemaReply
	s.call("describe_schema", a).ok(s.t, &d)
	return d
}

func (d schemaReply) names() (out []string) {
	for _, t := range d.Tables {
		out = append(out, t.Schema+"."+t.Table)
	}
	return out
}

func TestFieldB19MixedCaseNames(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TABLE app."Product" ("Id" int); INSERT INTO app."Product" VALUES (1), (2)`)
	s := start(t, db, options{})
	for _, name := range []string{"app.Product", `app."Product"`, `"app"."Product"`} {
		d := s.described(args{"table": name})
		require.Equal(t, []string{"app.Product"}, d.names(), name)
		require.Equal(t, "Id", d.Tables[0].Columns[0].Name)
		var p struct {
			Rows   int    `json:"affected_rows"`
			Target string `json:"target"`
		}
		s.call("delete_rows", args{"table": name, "where": `"Id" = $1`, "params": []any{1}, "reason": "t"}).ok(t, &p)
		require.Equal(t, 1, p.Rows)
		require.Equal(t, `app."Product"`, p.Target)
	}
	require.Equal(t, []string{"app.Product"}, s.described(args{"table": "prod*"}).names())
	got := s.call("query", args{"statement": "SELECT * FROM app.product", "reason": "t"})
	got.refused(t, refusal.InvalidTableName)
	require.Equal(t, `Did you mean app."Product"?`, got.hint)
	got = s.call("query", args{"statement": `SELECT Id FROM app."Product"`, "reason": "t"})
	got.refused(t, refusal.QueryFailed)
	require.Contains(t, got.hint, `"Id"`)
}

// A name that does not exist is answered with those like it, whatever the tool and wherever in its
// arguments, and with none that the allowlists hide.
func TestFieldB19UnknownNamesInEveryTool(t *testing.T) {
	t.Parallel()
	db := world(t)
	db.Exec(t, "SET ROLE migrator; CREATE TABLE secret.items (id int, name text); CREATE TABLE app.secret_item (id int); RESET ROLE")
	s := start(t, db, options{config: map[string]any{"allowlist": map[string]any{
		"read": map[string]any{"tables": []string{"app.item", "app.parent", "app.child"}}, "write": map[string]any{"tables": []string{"app.item", "app.parent"}},
	}}})
	tablesLike, columnsLike := []string{"app.item"}, []string{"name"}
	for _, c := range []struct {
		tool string
		args args
		near []string
	}{
		{"query", args{"statement": "SELECT * FROM app.itms"}, tablesLike},
		{"query", args{"statement": "SELECT * FROM ap.item"}, tablesLike},
		{"query", args{"statement": "SELECT * FROM item"}, tablesLike},
		{"query", args{"statement": "SELECT * FROM secret.itms"}, tablesLike},
		{"query", args{"statement": "SELECT 1 WHERE EXISTS (SELECT FROM app.itms)"}, tablesLike},
		{"query", args{"statement": "SELECT 'app.itms'::regclass"}, tablesLike},
		{"query", args{"statement": "SELECT nme FROM app.item"}, columnsLike},
		{"query", args{"statement": "SELECT i.nme FROM app.item i ORDER BY 1"}, columnsLike},
		{"query", args{"statement": "SELECT p.nme FROM app.item i JOIN app.parent p USING (id)"}, columnsLike},
		{"query", args{"statement": "SELECT zzzzz FROM app.item"}, []string{"id, name, qty, doc, made"}},
		{"query", args{"statement": "SELECT * FROM apps.zzzzz"}, []string{"schema app?"}},
		{"explain_plan", args{"statement": "SELECT * FROM app.itms"}, tablesLike},
		{"explain_plan", args{"statement": "SELECT nme FROM app.item"}, columnsLike},
		{"describe_schema", args{"table": "app.itms"}, tablesLike},
		{"describe_schema", args{"table": "itms"}, tablesLike},
		{"describe_schema", args{"schema": "ap", "table": "item"}, tablesLike},
		{"insert_rows", args{"table": "app.itms", "columns": []string{"id"}, "rows": [][]any{{1}}}, tablesLike},
		{"insert_rows", args{"table": "app.item", "columns": []string{"nme"}, "rows": [][]any{{1}}}, columnsLike},
		{"update_rows", args{"table": "app.itms", "set": args{"name": "x"}, "where": "id = 1"}, tablesLike},
		{"update_rows", args{"table": "ap.item", "set": args{"name": "x"}, "where": "id = 1"}, tablesLike},
		{"update_rows", args{"table": "app.item", "set": args{"nme": "x"}, "where": "id = 1"}, columnsLike},
		{"update_rows", args{"table": "app.item", "set": args{}, "set_expressions": args{"name": "nme || 'x'"}, "where": "id = 1"}, columnsLike},
		{"update_rows", args{"table": "app.item", "set": args{"name": "x"}, "where": "nme = 'x'"}, columnsLike},
		{"delete_rows", args{"table": "app.itms", "where": "id = 1"}, tablesLike},
		{"delete_rows", args{"table": "app.item", "where": "nme = 'x'"}, columnsLike},
		{"delete_rows", args{"table": "app.item", "where": "id IN (SELECT id FROM app.itms)"}, tablesLike},
		{"run_migration", args{"statement": "ALTER TABLE app.itms ADD COLUMN x int"}, tablesLike},
		{"run_migration", args{"statement": "ALTER TABLE ap.item ADD COLUMN x int"}, tablesLike},
		{"run_migration", args{"statement": "DROP TABLE app.itms"}, tablesLike},
		{"run_migration", args{"statement": "COMMENT ON TABLE app.itms IS 'x'"}, tablesLike},
		{"run_migration", args{"statement": "CREATE INDEX ON app.itms (id)"}, tablesLike},
		{"run_migration", args{"statement": "CREATE INDEX ON app.item (nme)"}, columnsLike},
		{"run_migration", args{"statement": "ALTER TABLE app.item DROP COLUMN nme"}, columnsLike},
		{"run_migration", args{"statement": "CREATE TABLE ap.x (id int)"}, tablesLike},
	} {
		if c.tool != "describe_schema" {
			c.args["reason"] = "t"
		}
		got := s.call(c.tool, c.args)
		require.True(t, got.isError, "%s %v: %s", c.tool, c.args, got.text)
		for _, near := range c.near {
			require.Contains(t, got.hint, near, "%s %v: %s", c.tool, c.args, got.message)
		}
		require.NotContains(t, got.hint, "secret", "%s %v", c.tool, c.args)
	}
	require.Contains(t, s.described(args{"schema": "ap"}).Hint, "Did you mean app?")
	require.NotContains(t, s.described(args{"schema": "secrt"}).Hint, "secret")
}

func TestFieldB21EverythingInAnotherSchema(t *testing.T) {
	t.Parallel()
	db := objects(t, "RESET ROLE; CREATE SCHEMA sales AUTHORIZATION migrator; SET ROLE migrator; CREATE TABLE sales.orders (id int PRIMARY KEY, v int); INSERT INTO sales.orders VALUES (1, 1)")
	s := start(t, db, options{config: map[string]any{"allowlist": map[string]any{"write": map[string]any{"schemas": []string{"sales"}}}}})
	d := s.described(args{})
	require.Equal(t, []string{"sales.orders"}, d.names())
	require.True(t, d.Tables[0].Writable)
	s.call("query", args{"statement": "SELECT * FROM sales.orders", "reason": "t"}).ok(t, nil)
	s.call("insert_rows", args{"table": "sales.orders", "columns": []string{"id"}, "rows": [][]any{{2}}, "reason": "t"}).ok(t, nil)
	for tool, a := range map[string]args{
		"query": {"statement": "SELECT * FROM orders", "reason": "t"}, "describe_schema": {"table": "public.orders"}, "delete_rows": {"table": "orders", "where": "id = 1", "reason": "t"},
	} {
		got := s.call(tool, a)
		got.refused(t, refusal.InvalidTableName)
		require.Equal(t, "Did you mean sales.orders?", got.hint, tool)
	}
	require.Contains(t, s.described(args{"schema": "public"}).Hint, "Schemas: sales (1)")
}

func TestFieldB22SearchPathOfTheConnectionString(t *testing.T) {
	t.Parallel()
	db := world(t)
	with := func(raw, key, value string) string {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		q := u.Query()
		q.Set(key, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	for _, set := range [][2]string{{"search_path", "secret,app"}, {"options", "-csearch_path=secret,app"}} {
		s := start(t, db, options{
			readonly: with(db.Readonly, set[0], set[1]), writer: with(db.Writer, set[0], set[1]),
			config: map[string]any{"allowlist": map[string]any{"read": map[string]any{"schemas": []string{"app"}}, "write": map[string]any{"schemas": []string{"app"}}}},
		})
		// As many at once as make several connections.
		var calls []*pending
		for range 6 {
			calls = append(calls, s.begin("query", args{"statement": "SELECT count(*) AS n, pg_sleep(0.2) FROM item", "reason": "t"}))
		}
		for _, c := range calls {
			c.reply().ok(t, nil)
		}
		require.Greater(t, number(t, db, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND usename = 'readonly'", s.application), 1)
		s.call("delete_rows", args{"table": "item", "where": "id = 1", "reason": "t"}).ok(t, nil)
		require.Equal(t, []string{"app.item"}, s.described(args{"table": "item"}).names())
		// It is the object that is judged, not the text.
		s.call("query", args{"statement": "SELECT * FROM hidden", "reason": "t"}).refused(t, refusal.TableNotAllowlisted)
		s.call("delete_rows", args{"table": "hidden", "where": "id = 1", "reason": "t"}).refused(t, refusal.TableNotWritable)
	}
}

func TestFieldB23AllSchemasAreListed(t *testing.T) {
	t.Parallel()
	db := objects(t, `RESET ROLE; CREATE SCHEMA b AUTHORIZATION migrator; CREATE SCHEMA "C c" AUTHORIZATION migrator; SET ROLE migrator; CREATE TABLE app.t (id int); CREATE TABLE b.t (id int); CREATE TABLE "C c".t (id int)`)
	s := start(t, db, options{})
	require.Equal(t, []string{"C c.t", "app.t", "b.t"}, s.described(args{}).names())
	require.Equal(t, []string{"C c.t"}, s.described(args{"schema": `"C c"`}).names())
	require.Equal(t, []string{"C c.t", "app.t", "b.t"}, s.described(args{"table": "t*"}).names())
}

func TestFieldB24CommentsAndKinds(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TABLE app.t (id int, weight int); COMMENT ON TABLE app.t IS 'parcels'; COMMENT ON COLUMN app.t.weight IS 'in grams'; CREATE VIEW app.v AS SELECT 1 AS one;
		CREATE MATERIALIZED VIEW app.mv AS SELECT 1 AS one; COMMENT ON MATERIALIZED VIEW app.mv IS 'refreshed at night'; CREATE TABLE app.p (id int) PARTITION BY LIST (id)`)
	db.Exec(t, "CREATE EXTENSION postgres_fdw; CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw; CREATE FOREIGN TABLE app.far (id int) SERVER elsewhere; GRANT SELECT ON app.far TO readonly")
	s := start(t, db, options{})
	kinds := map[string]string{}
	for _, e := range s.described(args{}).Tables {
		kinds[e.Table] = e.Kind
		if e.Table == "t" {
			require.Equal(t, "parcels", *e.Comment)
			require.Equal(t, "in grams", *e.Columns[1].Comment)
		}
		require.Equal(t, e.Table == "t" || e.Table == "p", e.Writable, e.Table)
		require.Equal(t, e.Writable, len(e.WriteLimits) == 0, "what is in the way is said: %v", e)
	}
	require.Equal(t, map[string]string{"t": "table", "v": "view", "mv": "materialized_view", "p": "partitioned_table", "far": "foreign_table"}, kinds)
	for _, e := range s.described(args{"detail": "summary"}).Tables {
		require.Equal(t, e.Table == "t" || e.Table == "mv", e.Comment != nil, "comments are in the summary too")
	}
	for _, name := range []string{"app.mv", "app.far", "app.v"} {
		for tool, a := range map[string]args{
			"delete_rows": {"where": "1 = 2"}, "update_rows": {"set": args{"one": 2}, "where": "one = 1"}, "insert_rows": {"columns": []string{"one"}, "rows": [][]any{{1}}},
		} {
			a["table"], a["reason"] = name, "t"
			s.call(tool, a).refused(t, refusal.TableNotWritable)
		}
	}
}

func TestFieldB25PartitionsAreFolded(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TABLE app.log (at date NOT NULL, v int) PARTITION BY RANGE (at);
		DO $$ BEGIN FOR i IN 0..399 LOOP EXECUTE format('CREATE TABLE app.log_%s PARTITION OF app.log FOR VALUES FROM (%L) TO (%L)', i, date '2025-01-01' + i, date '2025-01-02' + i); END LOOP; END $$`)
	s := start(t, db, options{})
	for _, a := range []args{{}, {"table": "app.log"}, {"table": "app.lo*"}, {"schema": "app", "detail": "full"}} {
		r := s.call("describe_schema", a)
		require.Less(t, len(r.text), 3000, "%v", a)
		d := s.described(a)
		require.Equal(t, []string{"app.log"}, d.names(), "%v", a)
		require.Equal(t, "range", d.Tables[0].Partitions.Strategy)
		require.Equal(t, "RANGE (at)", d.Tables[0].Partitions.Key)
		require.Equal(t, 400, d.Tables[0].Partitions.Count)
		require.Empty(t, d.Tables[0].Partitions.Children)
		require.Nil(t, d.Tables[0].RowCountEstimate)
	}
	r := s.call("describe_schema", args{"table": "app.log", "detail": "full"})
	require.Less(t, len(r.text), 60_000)
	d := s.described(args{"table": "app.log", "detail": "full"})
	require.Len(t, d.Tables[0].Partitions.Children, 400)
	require.Equal(t, "FOR VALUES FROM ('2025-01-01') TO ('2025-01-02')", d.Tables[0].Partitions.Children[0].Bound)
	require.Equal(t, []string{"app.log_7"}, s.described(args{"table": "app.log_7"}).names())
}

func TestFieldB27KeysForARoleThatMayOnlySelect(t *testing.T) {
	t.Parallel()
	db := objects(t, "CREATE TABLE app.a (x int, y int, PRIMARY KEY (x, y)); CREATE TABLE app.b (id int PRIMARY KEY, x int, y int, CONSTRAINT to_a FOREIGN KEY (x, y) REFERENCES app.a ON DELETE CASCADE)")
	s := start(t, db, options{})
	require.Equal(t, "f", db.Query(t, "SELECT has_table_privilege('readonly', 'app.b', 'INSERT, UPDATE, DELETE, REFERENCES, TRIGGER')")[0][0])
	b := s.described(args{"table": "app.b"}).Tables[0]
	require.Equal(t, []string{"id"}, b.PrimaryKey)
	require.Len(t, b.ForeignKeys, 2)
	for i, column := range []string{"x", "y"} {
		require.Equal(t, map[string]string{
			"constraintName": "to_a", "column": column, "referencesSchema": "app", "referencesTable": "a", "referencesColumn": column, "onDelete": "CASCADE", "onUpdate": "NO ACTION",
		}, b.ForeignKeys[i])
	}
}

func TestFieldB28IdentityAndGeneratedColumns(t *testing.T) {
	t.Parallel()
	db := objects(t, "CREATE TABLE app.t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, soft int GENERATED BY DEFAULT AS IDENTITY, v int, twice int GENERATED ALWAYS AS (v * 2) STORED)")
	s := start(t, db, options{})
	columns := s.described(args{"table": "app.t"}).Tables[0].Columns
	require.Equal(t, "always", *columns[0].Identity)
	require.Equal(t, "by default", *columns[1].Identity)
	require.Equal(t, "stored", *columns[3].Generated)
	require.Nil(t, columns[2].Identity)
	insert := func(columns []string, row ...any) reply {
		return s.call("insert_rows", args{"table": "app.t", "columns": columns, "rows": [][]any{row}, "reason": "t"})
	}
	insert([]string{"v"}, 1).ok(t, nil)
	insert([]string{"v", "soft"}, 1, 7).ok(t, nil)
	for _, value := range []any{1, nil} {
		for _, column := range []string{"id", "twice"} {
			got := insert([]string{"v", column}, 1, value)
			require.True(t, got.isError)
			require.Contains(t, strings.ToLower(got.hint), "leave the column out", "%s %v: %s", column, value, got.message)
			got = s.call("update_rows", args{"table": "app.t", "set": args{column: value}, "where": "v = 1", "reason": "t"})
			require.True(t, got.isError)
			require.Contains(t, strings.ToLower(got.hint), "leave the column out")
		}
	}
}

func TestFieldB29QuotedNamesWithSequences(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TABLE app."T x" (id serial, "n""q" text DEFAULT 'it''s'); CREATE SEQUENCE app."S q"; CREATE TABLE app."Tab.dot" ("a.b" int DEFAULT nextval('app."S q"'))`)
	s := start(t, db, options{})
	d := s.described(args{})
	require.Equal(t, []string{"app.T x", "app.Tab.dot"}, d.names())
	require.Equal(t, `nextval('app."T x_id_seq"'::regclass)`, *d.Tables[0].Columns[0].DefaultValue)
	require.Equal(t, `n"q`, d.Tables[0].Columns[1].Name)
	require.Equal(t, `nextval('app."S q"'::regclass)`, *d.Tables[1].Columns[0].DefaultValue)
	require.Equal(t, []string{"app.Tab.dot"}, s.described(args{"table": `app."Tab.dot"`}).names())
	got := s.call("describe_schema", args{"table": `app."S q"`})
	got.refused(t, refusal.InvalidTableName)
	require.Contains(t, got.message, "is a sequence")
	s.call("insert_rows", args{"table": `app."T x"`, "columns": []string{`n"q`}, "rows": [][]any{{"v"}}, "reason": "t"}).ok(t, nil)
}

// The shape is the same whatever the server's version: this test runs on the one there is, and on each
// other by SW_TEST_POSTGRES_BIN. A version that is not supported is refused in one line.
func TestFieldB32EveryVersionHasTheSameShape(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TYPE app.mood AS ENUM ('ok', 'bad'); CREATE TABLE app.a (id int PRIMARY KEY); CREATE TABLE app.t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int REFERENCES app.a, m app.mood UNIQUE CHECK (m <> 'bad'));
		CREATE FUNCTION app.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER g BEFORE UPDATE ON app.t FOR EACH ROW EXECUTE FUNCTION app.f();
		CREATE TABLE app.p (id int) PARTITION BY HASH (id); CREATE TABLE app.p0 PARTITION OF app.p FOR VALUES WITH (MODULUS 1, REMAINDER 0)`)
	s := start(t, db, options{})
	var d struct{ Tables []map[string]any }
	s.call("describe_schema", args{"detail": "full"}).ok(t, &d)
	keys := func(m any) []string {
		out := []string{}
		for k := range m.(map[string]any) {
			out = append(out, k)
		}
		slices.Sort(out)
		return out
	}
	entry := []string{"checks", "columns", "comment", "foreignKeys", "indexes", "kind", "partitions", "primaryKey", "rowCountEstimate", "schema", "table", "triggers", "unique", "writable"}
	require.Len(t, d.Tables, 3)
	for _, e := range d.Tables {
		require.Equal(t, entry, keys(e), "%v", e["table"])
		for _, c := range e["columns"].([]any) {
			require.Equal(t, []string{"comment", "defaultValue", "enumValues", "generated", "identity", "name", "nullable", "type"}, keys(c))
		}
	}
	of := d.Tables[2]
	require.Equal(t, "t", of["table"])
	first := func(field string) any { return of[field].([]any)[0] }
	require.Len(t, of["checks"], 1, "NOT NULL is no check, on any version")
	require.Equal(t, []string{"constraintName", "definition"}, keys(first("checks")))
	require.Equal(t, []string{"column", "constraintName", "onDelete", "onUpdate", "referencesColumn", "referencesSchema", "referencesTable"}, keys(first("foreignKeys")))
	require.Equal(t, []string{"columns", "constraintName"}, keys(first("unique")))
	require.Equal(t, []string{"definition", "name", "unique"}, keys(first("indexes")))
	require.Equal(t, []string{"definition", "enabled", "name"}, keys(first("triggers")))
	require.Equal(t, []string{"count", "key", "strategy"}, keys(d.Tables[1]["partitions"]))

	// A server that says it is Postgres 13.
	version := db.Query(t, "SELECT current_setting('server_version_num')")[0][0]
	old := rewriting(t, db.Readonly, version, "13"+version[2:])
	refused := start(t, db, options{readonly: old, silent: true})
	refused.anyExit = true
	refused.awaitEnd(patience)
	require.Equal(t, 2, refused.exit, refused.log())
	lines := 0
	for line := range strings.Lines(refused.log()) {
		if strings.Contains(line, "Postgres 13") {
			lines++
			require.Contains(t, line, "14 to 18")
		}
	}
	require.Equal(t, 1, lines, refused.log())
}

// rewriting is a proxy to a server that replaces a text of its answers by one of the same length.
func rewriting(t *testing.T, raw, from, to string) string {
	t.Helper()
	require.Len(t, to, len(from))
	u, err := url.Parse(raw)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	target := u.Host
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			wg.Go(func() {
				buf := make([]byte, 64<<10)
				for {
					n, err := far.Read(buf)
					if _, werr := near.Write(bytes.ReplaceAll(buf[:n], []byte(from), []byte(to))); err != nil || werr != nil {
						_ = near.Close()
						return
					}
				}
			})
		}
	}()
	u.Host = l.Addr().String()
	return u.String()
}

func TestFieldD15NeverAnalysedIsUnknown(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TABLE app.never (id int); INSERT INTO app.never VALUES (1); CREATE TABLE app.known (id int); INSERT INTO app.known VALUES (1), (2); CREATE TABLE app.none (id int); CREATE VIEW app.v AS SELECT 1 AS one;
		CREATE TABLE app.p (id int) PARTITION BY LIST (id); CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES IN (1); CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES IN (2)`)
	db.Exec(t, "ANALYZE app.known; ANALYZE app.none")
	s := start(t, db, options{})
	require.NotContains(t, string(s.call("describe_schema", args{}).text), "-1")
	want := map[string]*int64{"never": nil, "known": new(int64), "none": new(int64), "v": nil, "p": nil}
	*want["known"] = 2
	for _, e := range s.described(args{"detail": "summary"}).Tables {
		require.Equal(t, want[e.Table], e.RowCountEstimate, e.Table)
	}
}

func TestFieldD19ExplainOfAWrite(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{})
	for sql, tool := range map[string]string{
		"DELETE FROM app.item": "delete_rows", "UPDATE app.item SET qty = 1": "update_rows", "INSERT INTO app.item (name) VALUES ('x')": "insert_rows", "WITH d AS (DELETE FROM app.item RETURNING *) SELECT * FROM d": "delete_rows", "MERGE INTO app.item i USING app.parent p ON i.id = p.id WHEN MATCHED THEN DELETE": "preview",
	} {
		got := s.call("explain_plan", args{"statement": sql, "reason": "t"})
		got.refused(t, refusal.NotSelect)
		require.Contains(t, got.hint, tool, sql)
	}
	require.Equal(t, 50, number(t, db, "SELECT count(*) FROM app.item"))
}

func TestFieldD58MeasuredPlansAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{})
	for _, a := range []args{
		{"statement": "SELECT 1", "analyze": true}, {"statement": "SELECT 1", "buffers": true}, {"statement": "EXPLAIN ANALYZE SELECT 1"}, {"statement": "EXPLAIN (ANALYZE) SELECT 1"}, {"statement": "ANALYZE SELECT 1"}, {"statement": "(ANALYZE, BUFFERS) SELECT 1"},
	} {
		a["reason"] = "t"
		got := s.call("explain_plan", a)
		got.refused(t, refusal.InvalidArguments, refusal.NotSelect, refusal.InvalidInput)
		require.Contains(t, got.hint, "never runs one", "%v", a)
	}
}

// 3,000 tables of 40 columns: the answer fits, comes soon, and every table can be reached from it.
func TestFieldD60ManyTables(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "CREATE SCHEMA app AUTHORIZATION migrator; GRANT USAGE ON SCHEMA app TO readonly, writer; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO readonly")
	db.Exec(t, `DO $$ DECLARE cols text; BEGIN
		SELECT string_agg(format('c%s int', i), ', ') INTO cols FROM generate_series(1, 40) i; -- no text: a TOAST table each is half of the work
		FOR i IN 1..3000 LOOP
			EXECUTE format('CREATE TABLE app.%s_%s (%s)', (ARRAY['orders', 'items', 'clients'])[1 + i % 3], i, cols);
			IF i % 100 = 0 THEN COMMIT; END IF; -- the locks of all of them do not fit
		END LOOP; END $$`)
	s := start(t, db, options{})
	r := s.call("describe_schema", args{})
	require.Less(t, len(r.text), 60_000)
	var d schemaReply
	r.ok(t, &d)
	require.True(t, d.Truncated)
	require.Contains(t, d.Hint, "of 3,000 are shown")
	// The ways that the hint names lead to every table.
	beginnings := regexpFind(d.Hint)
	require.NotEmpty(t, beginnings)
	all := map[string]bool{}
	var follow func(pattern string)
	follow = func(pattern string) {
		r := s.call("describe_schema", args{"schema": "app", "table": pattern, "detail": "summary"})
		require.Less(t, len(r.text), 60_000)
		var d schemaReply
		r.ok(t, &d)
		if d.Truncated {
			for _, p := range regexpFind(d.Hint) {
				require.NotEqual(t, pattern, p)
				follow(p)
			}
			return
		}
		for _, n := range d.names() {
			all[n] = true
		}
	}
	for _, p := range beginnings {
		follow(p)
	}
	require.Len(t, all, 3000)
	one := s.described(args{"schema": "app", "table": "orders_3"})
	require.Len(t, one.Tables[0].Columns, 40)
	require.False(t, one.Truncated)
	// A typo in one of so many.
	got := s.call("query", args{"statement": "SELECT * FROM app.cleints_1000", "reason": "t"})
	require.Contains(t, got.hint, "app.clients_1")
}

// regexpFind gives the patterns that a hint offers.
func regexpFind(hint string) (patterns []string) {
	_, list, _ := strings.Cut(hint, "such as ")
	for part := range strings.SplitSeq(strings.TrimSuffix(list, "."), ", ") {
		p, _, ok := strings.Cut(part, " (")
		if ok {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// Sequential scans over large tables are warned of, wherever in the plan they are; those over small ones,
// or below a small LIMIT, are not.
func TestExplainPlanWarnings(t *testing.T) {
	t.Parallel()
	db := objects(t, `CREATE TABLE app.big AS SELECT g AS id, g % 1000 AS k, repeat('x', 60) AS pad FROM generate_series(1, 150000) g; CREATE TABLE app.fresh AS TABLE app.big; CREATE TABLE app.small AS SELECT g AS id, g AS k FROM generate_series(1, 500) g;
		CREATE INDEX ON app.big (id); CREATE TABLE app.log (id int, k int, pad text) PARTITION BY LIST (k);
		DO $$ BEGIN FOR i IN 0..9 LOOP EXECUTE format('CREATE TABLE app.log_%s PARTITION OF app.log FOR VALUES IN (%s)', i, i); END LOOP; END $$; INSERT INTO app.log SELECT id, id % 10, pad FROM app.big;
		CREATE VIEW app.over_secret AS SELECT * FROM app.big WHERE k > 5`)
	db.Exec(t, "ANALYZE app.big; ANALYZE app.small; ANALYZE app.log; CREATE SCHEMA secret AUTHORIZATION migrator; SET ROLE migrator; CREATE TABLE secret.vault AS SELECT id, pad AS password FROM app.big; CREATE VIEW app.peek AS SELECT id FROM secret.vault WHERE password <> 'hunter2'; RESET ROLE")
	s := start(t, db, options{config: map[string]any{"allowlist": map[string]any{"read": map[string]any{"schemas": []string{"app"}}}}})
	const big, fresh, log = "reads app.big (", "reads app.fresh (", "10 of the partitions of app.log ("
	for sql, want := range map[string][]string{
		"SELECT * FROM app.big WHERE k = 7":                                                     {big},
		"SELECT count(*) FROM app.big":                                                          {big}, // parallel, where the server likes to
		"SELECT * FROM app.fresh WHERE k = 7":                                                   {fresh, "never analysed"},
		"SELECT * FROM app.log WHERE pad = 'y'":                                                 {log},
		"SELECT * FROM app.log WHERE k = 3":                                                     {},
		"SELECT * FROM app.small WHERE k = 7":                                                   {},
		"SELECT * FROM app.big WHERE id = 7":                                                    {},
		"SELECT * FROM app.big LIMIT 10":                                                        {},
		"SELECT * FROM app.big ORDER BY pad LIMIT 10":                                           {big},
		"SELECT * FROM app.small s WHERE EXISTS (SELECT FROM app.big b WHERE b.k = s.k)":        {big},
		"WITH x AS MATERIALIZED (SELECT k FROM app.big WHERE pad > 'a') SELECT count(*) FROM x": {big},
		"SELECT (SELECT max(k) FROM app.big), count(*) FROM app.fresh":                          {big, fresh},
		"SELECT k FROM app.big UNION ALL SELECT k FROM app.log":                                 {big, log},
		"SELECT * FROM app.over_secret":                                                         {big},
		"SELECT 1":                                                                              {},
	} {
		var d struct {
			Warnings []struct{ Code, Message string }
		}
		s.call("explain_plan", args{"statement": sql, "reason": "t"}).ok(t, &d)
		text := fmt.Sprint(d.Warnings)
		for _, w := range want {
			require.Contains(t, text, w, sql)
		}
		require.Equal(t, len(want) == 0, len(d.Warnings) == 0, "%s: %s", sql, text)
	}
	// What a view hides stays hidden: neither its table, nor its columns, nor what they are compared with.
	r := s.call("explain_plan", args{"statement": "SELECT count(*) FROM app.peek p JOIN app.small s USING (id)", "reason": "t"})
	r.ok(t, nil)
	for _, hidden := range []string{"vault", "password", "hunter2", "secret"} {
		require.NotContains(t, string(r.text), hidden)
	}
	var d struct {
		Rows     json.Number
		Plan     []map[string]map[string]any
		Warnings []struct{ Message string }
	}
	r.ok(t, &d)
	require.NotEmpty(t, d.Plan[0]["Plan"]["Node Type"])
	require.Contains(t, string(r.text), `"Relation Name":"small"`)
	require.Contains(t, fmt.Sprint(d.Warnings), "below a view")
}
