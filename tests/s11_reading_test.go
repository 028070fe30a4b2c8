package tests

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/demo"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// attacks reads a list of statements, one a line. The lists are files because internal/postgres runs them
// too, on what is behind the guard.
func attacks(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	list := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Greater(t, len(list), 30, name)
	return list
}

// S11, by way of the binary: no SQL that query or explain_plan takes writes anything, in the
// database or in the session. internal/postgres shows the same with the guard switched off.
func TestS11ReadonlyCannotWrite(t *testing.T) {
	t.Parallel()
	db := world(t)
	// Rights that a careless owner gave: the transaction is READ ONLY all the same.
	db.Exec(t, "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO readonly; GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA app TO readonly")
	s := start(t, db, options{})
	before := snapshot(t, db)
	for _, sql := range attacks(t, "s11_attacks.sql") {
		for _, tool := range []string{"query", "explain_plan"} {
			got := s.call(tool, args{"statement": sql, "reason": "t"})
			if tool == "explain_plan" && strings.Contains(sql, "quiet_boom") {
				continue // declared STABLE, and EXPLAIN runs nothing: what counts is that nothing changes
			}
			if !got.isError {
				t.Errorf("%s took %q: %s", tool, sql, got.text)
			}
		}
		s.idle()
	}
	require.Equal(t, before, snapshot(t, db))
	require.Equal(t, [][]string{{"1", "f"}}, db.Query(t, "SELECT last_value, is_called FROM app.counter"))
	require.Zero(t, number(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"))
	// The session is as it was.
	var shown struct {
		Rows []map[string]string `json:"rows"`
	}
	for range 5 {
		s.call("query", args{"statement": "SELECT current_user::text AS role, current_setting('transaction_read_only') AS ro, current_setting('default_transaction_read_only') AS dro", "reason": "t"}).ok(t, &shown)
		require.Equal(t, []map[string]string{{"role": "readonly", "ro": "on", "dro": "on"}}, shown.Rows)
	}
}

// S12, by way of the binary: what the read allowlist does not name is not to be had, by any name.
func TestS12TheReadAllowlistHolds(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{"allowlist": map[string]any{
		"read":  map[string]any{"schemas": []string{"app"}},
		"write": map[string]any{"schemas": []string{"app"}},
	}}})
	const secret = "xyzzy-plugh"
	for _, sql := range attacks(t, "s12_attacks.sql") {
		for _, tool := range []string{"query", "explain_plan"} {
			got := s.call(tool, args{"statement": sql, "reason": "t"})
			if !got.isError {
				t.Errorf("%s took %q: %s", tool, sql, got.text)
			}
			require.NotContains(t, string(got.text), secret)
		}
	}
	// Sub-selects in the texts of write tools, too; a preview is a way of reading.
	for _, where := range []string{"id = (SELECT id FROM secret.hidden)", "EXISTS (SELECT FROM secret.hidden WHERE word LIKE 'x%')", "name IN (SELECT word FROM secret.hidden)", "id IN (SELECT id FROM mcp_audit.log)"} {
		s.call("delete_rows", args{"table": "app.item", "where": where, "reason": "t"}).refused(t, refusal.TableNotAllowlisted)
		s.call("update_rows", args{"table": "app.item", "set": args{"qty": 1}, "where": where, "reason": "t"}).refused(t, refusal.TableNotAllowlisted)
	}
	s.call("update_rows", args{"table": "app.item", "set": args{}, "set_expressions": args{"name": "(SELECT word FROM secret.hidden)"}, "where": "id = 1", "reason": "t"}).refused(t, refusal.TableNotAllowlisted)
	// Nor by what a migration points to: a foreign key tells which values there are.
	for _, ddl := range []string{
		"CREATE VIEW app.stolen AS SELECT * FROM secret.hidden", "CREATE TABLE app.stolen AS SELECT * FROM secret.hidden", "CREATE TABLE app.x (id integer REFERENCES secret.hidden (id))", "CREATE TABLE app.x (LIKE secret.hidden)",
		"ALTER TABLE app.item ADD FOREIGN KEY (id) REFERENCES secret.hidden (id)", "ALTER TABLE app.item ADD COLUMN h integer REFERENCES secret.hidden", "CREATE TABLE app.x () INHERITS (secret.hidden)", "CREATE TABLE app.x (h secret.hidden)",
		"CREATE TABLE app.x (n integer DEFAULT (SELECT id FROM secret.hidden))", "CREATE MATERIALIZED VIEW app.x AS TABLE secret.hidden",
	} {
		if got := s.call("run_migration", args{"statement": ddl, "reason": "t"}); !got.isError {
			t.Errorf("run_migration took %q: %s", ddl, got.text)
		}
	}
	// Nor does anything describe it.
	for _, a := range []args{{}, {"detail": "full"}, {"schema": "secret"}, {"table": "secret.hidden"}, {"schema": "secret", "table": "hidden"}, {"table": "hiden", "schema": "app"}} {
		got := string(s.call("describe_schema", a).text)
		require.NotContains(t, got, `"hidden"`, "%v", a)
		require.NotContains(t, got, secret, "%v", a)
	}
	// A view of an allowed schema is what its owner made it for.
	s.call("query", args{"statement": "SELECT id FROM app.parents LIMIT 1", "reason": "t"}).ok(t, nil)
}

// S13, by way of the binary: what the write allowlist does not name is not changed, by any name.
func TestS13TheWriteAllowlistHolds(t *testing.T) {
	t.Parallel()
	db := world(t)
	db.Exec(t, "CREATE VIEW app.door AS SELECT id, word FROM secret.hidden; ALTER VIEW app.door OWNER TO migrator; GRANT ALL ON app.door TO writer; GRANT ALL ON ALL TABLES IN SCHEMA secret TO writer; ALTER ROLE writer IN DATABASE "+db.Name+" SET search_path = secret, app")
	t.Cleanup(func() { db.Exec(t, "ALTER ROLE writer IN DATABASE "+db.Name+" RESET search_path") })
	s := start(t, db, options{})
	before := snapshot(t, db)
	for _, table := range []string{"secret.hidden", "hidden", `"secret"."hidden"`, "SECRET.hidden", `secret."hidden"`, "app.door", "door", "app.peek", "pg_catalog.pg_class", "information_schema.tables", "pg_temp.x", "mcp_audit.log", `"app.item"`, "app.item; DELETE FROM secret.hidden", "app.item, secret.hidden", "ONLY secret.hidden", "secret.hidden AS item", `U&"s\0065cret".hidden`, "..", "", "app.", ".item"} {
		for _, tool := range []string{"delete_rows", "update_rows", "insert_rows"} {
			a := args{"table": table, "where": "id = 1", "reason": "t"}
			switch tool {
			case "update_rows":
				a["set"] = args{"word": "x"}
			case "insert_rows":
				a = args{"table": table, "columns": []any{"id", "word"}, "rows": []any{[]any{9, "x"}}, "reason": "t"}
			}
			got := s.call(tool, a)
			got.refused(t, refusal.TableNotWritable, refusal.InvalidTableName)
		}
	}
	for _, where := range []string{"id = 1) RETURNING *), x AS (DELETE FROM secret.hidden RETURNING *) SELECT * FROM x --", "id = 1); DELETE FROM secret.hidden; --", "id IN (WITH d AS (DELETE FROM secret.hidden RETURNING id) SELECT id FROM d)", "true RETURNING (SELECT 1)", "id = 1 FOR UPDATE", "CURRENT OF sw_c"} {
		require.True(t, s.call("delete_rows", args{"table": "app.item", "where": where, "reason": "t"}).isError, where)
		require.True(t, s.call("update_rows", args{"table": "app.item", "set": args{"qty": 1}, "where": where, "reason": "t"}).isError, where)
	}
	for _, ddl := range []string{
		"DROP TABLE secret.hidden", "DROP TABLE app.item, secret.hidden", "ALTER TABLE secret.hidden ADD COLUMN x integer", "CREATE TABLE secret.fresh (id integer)", "CREATE TABLE app.x () INHERITS (secret.hidden)", "ALTER TABLE app.item SET SCHEMA secret", "ALTER TABLE app.item INHERIT secret.hidden", "ALTER SCHEMA app RENAME TO secret2",
		"CREATE INDEX ON secret.hidden (word)", "DROP SCHEMA secret CASCADE", "DROP SCHEMA app CASCADE", "TRUNCATE secret.hidden", "COMMENT ON TABLE secret.hidden IS 'x'", "GRANT ALL ON secret.hidden TO PUBLIC", "GRANT ALL ON app.item TO PUBLIC", "ALTER TABLE app.item OWNER TO writer",
		"CREATE TRIGGER x AFTER INSERT ON secret.hidden FOR EACH ROW EXECUTE FUNCTION app.note_change()", "CREATE RULE r AS ON INSERT TO app.item DO ALSO DELETE FROM secret.hidden", "CREATE FUNCTION app.f() RETURNS integer LANGUAGE sql AS 'DELETE FROM secret.hidden; SELECT 1'",
		"CREATE ROLE x", "ALTER ROLE writer SUPERUSER", "CREATE EXTENSION dblink", "ALTER SYSTEM SET fsync = off", "CREATE VIEW secret.v AS SELECT 1", "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC", "CREATE POLICY p ON secret.hidden USING (true)",
		"ALTER TABLE hidden ADD COLUMN x integer", "DROP TABLE hidden", "CREATE TABLE fresh (id integer)", "DROP VIEW secret.nothing, app.parents",
	} {
		if got := s.call("run_migration", args{"statement": ddl, "reason": "t"}); !got.isError {
			t.Errorf("run_migration took %q: %s", ddl, got.text)
		}
	}
	require.Equal(t, before, snapshot(t, db))
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status <> 'failed'"))
}

// S05 on the demo's data: what the product is for, in three calls.
func TestS05TheDemoData(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, db.Super)
	require.NoError(t, err)
	require.NoError(t, demo.Seed(ctx, conn, 1))
	require.NoError(t, conn.Close(ctx))
	s := start(t, db, options{config: map[string]any{"allowlist": map[string]any{"write": map[string]any{"schemas": []string{"public"}}}}})

	p := s.preview("delete_rows", args{"table": "public.customers", "where": "tenant = $1", "params": []any{"load-test"}, "reason": "t"})
	require.Equal(t, "awaiting_approval", p.Status)
	require.EqualValues(t, 8, p.Affected)
	deleted := map[string]int64{}
	for _, table := range p.Radius.Tables {
		deleted[table.Table] = table.Deleted
	}
	items := int64(number(t, db, "SELECT count(*) FROM order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id WHERE c.tenant = 'load-test'"))
	require.Positive(t, items)
	require.Equal(t, map[string]int64{"public.customers": 8, "public.orders": 320, "public.order_items": items}, deleted)
	require.Equal(t, 8+320+items, p.Radius.Total)
	waiting := s.begin("execute_plan", p.echo())

	r := s.call("delete_rows", args{"table": "public.orders", "where": "status = $1", "params": []any{"cancelled"}, "reason": "t"})
	r.refused(t, refusal.HardMaxRowsExceeded)
	require.NotContains(t, string(r.text), "token")
	require.Equal(t, 13200, number(t, db, "SELECT count(*) FROM orders WHERE status = 'cancelled'"))
	require.Equal(t, []string{p.Token}, s.waiting())

	require.False(t, waiting.answered())
	s.approve(p.Token)
	waiting.reply().ok(t, nil)
	require.Zero(t, number(t, db, "SELECT count(*) FROM customers WHERE tenant = 'load-test'"))
	require.Equal(t, 49992, number(t, db, "SELECT count(*) FROM customers"))
}
