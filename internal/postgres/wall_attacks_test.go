package postgres_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// wallSchema is what an owner may have made that is worse than world.sql: rights on everything, and
// functions that run any text, as their caller and as their owner.
const wallSchema = `
	GRANT ALL ON ALL TABLES IN SCHEMA app, secret TO readonly; GRANT ALL ON ALL SEQUENCES IN SCHEMA app TO readonly;
	GRANT USAGE, CREATE ON SCHEMA app, secret, public TO readonly;
	CREATE FUNCTION app.run(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE $1; RETURN 'done'; END $$;
	CREATE FUNCTION app.run_as_owner(text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN EXECUTE $1; RETURN 'done'; END $$;
	CREATE PROCEDURE app.commits() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.item (name) VALUES ('committed'); COMMIT; END $$;
	CREATE PROCEDURE app.writes() LANGUAGE sql AS 'INSERT INTO app.item (name) VALUES (''called'')';
	SELECT lo_from_bytea(5000, 'before'); ALTER LARGE OBJECT 5000 OWNER TO readonly`

// wallAttacks add to the attacks of the S11 list what the guard knows by name, forms that only a function
// can run, and what another connection could do.
var wallAttacks = []string{
	// Large objects, with and without a right on one.
	"SELECT lo_unlink(5000)", "SELECT lo_put(5000, 0, 'after')", "SELECT lowrite(lo_open(5000, 131072), 'after')", "SELECT lo_truncate(lo_open(5000, 131072), 0)", "SELECT lo_creat(-1)", "SELECT lo_get(5000)",
	// Transactions, sessions, notices to others.
	"SELECT pg_export_snapshot()", "SELECT txid_current(), pg_current_xact_id()", "SELECT pg_notify('c', 'x'), pg_notify('d', 'y')", "SELECT pg_logical_emit_message(true, 'a', 'b')", "SELECT pg_logical_emit_message(false, 'a', 'b')",
	"SELECT set_config('role', 'none', false)", "SELECT set_config('session_authorization', 'writer', false)", "SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)",
	"SELECT set_config('transaction_read_only', 'off', false)", "SELECT set_config('transaction_isolation', 'serializable', false)", "SELECT set_config('session_replication_role', 'replica', false)",
	"SELECT set_config('client_encoding', 'LATIN1', false)", "SELECT set_config('standard_conforming_strings', 'off', false)", "SELECT set_config('row_security', 'off', false)", "SELECT set_config('own.setting', 'x', false)", "SELECT set_config('own.setting', 'x', true)",
	"SELECT pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock(2, 3), pg_advisory_lock_shared(4), pg_advisory_xact_lock(5)", "SELECT pg_try_advisory_lock(g) FROM generate_series(1, 50) g",
	"SELECT setseed(0.5)", "SELECT pg_stat_clear_snapshot()", "SELECT pg_stat_reset_single_table_counters('app.item'::regclass)", "SELECT pg_create_restore_point('x')", "SELECT pg_promote()", "SELECT pg_rotate_logfile()",
	"SELECT pg_create_physical_replication_slot('s')", "SELECT pg_create_logical_replication_slot('s', 'pgoutput')", "SELECT pg_replication_origin_create('o')", "SELECT pg_import_system_collations('app')", "SELECT pg_extension_config_dump('app.item', '')",
	"SELECT pg_terminate_backend(pg_backend_pid())", "SELECT pg_cancel_backend(pg_backend_pid())",
	// Prepared statements, cursors, temporary tables.
	"PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE ALL", "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM app.item", "SELECT 1; DECLARE c CURSOR WITH HOLD FOR SELECT 1", "CLOSE ALL", "CLOSE sw_c", "FETCH ALL FROM sw_c", "MOVE ALL FROM sw_c",
	"CREATE TEMP TABLE t (id int)", "CREATE TEMP VIEW v AS SELECT 1", "SELECT 1 AS id INTO TEMP t", "SELECT * INTO UNLOGGED app.t FROM app.item", "CREATE TABLE app.t AS TABLE app.item", "WITH x AS (SELECT 1) SELECT * INTO app.t FROM x",
	"SAVEPOINT s", "RELEASE s", "ROLLBACK TO s", "PREPARE TRANSACTION 'x'", "COMMIT PREPARED 'x'", "SET TRANSACTION READ WRITE", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "SET LOCAL transaction_read_only = off",
	// Files and programs.
	"SELECT * FROM pg_read_file('PG_VERSION')", "SELECT * FROM pg_read_binary_file('PG_VERSION')", "SELECT * FROM pg_stat_file('PG_VERSION')", "SELECT pg_file_write('/tmp/x', 'y', false)", "COPY (SELECT 1) TO '/tmp/sw-wall'", "COPY app.item FROM PROGRAM 'echo 1'",
	// Another connection. Without a password dblink takes none but a superuser's word.
	"SELECT dblink_exec('dbname=' || current_database(), 'DELETE FROM app.item')", "SELECT * FROM dblink('user=postgres dbname=' || current_database(), 'DELETE FROM app.item RETURNING 1') AS x(i int)", "SELECT dblink_connect('n', 'host=127.0.0.1 user=writer')",
	"SELECT dblink_connect('host=127.0.0.1 user=readonly dbname=' || current_database())", "SELECT dblink_connect_u('n', 'user=postgres')",
}

// insideFunctions are run by app.run and app.run_as_owner: as a function's body they pass DECLARE's grammar.
var insideFunctions = []string{
	"DELETE FROM app.item", "INSERT INTO app.item (name) VALUES ('x')", "UPDATE app.item SET qty = 0", "TRUNCATE app.item", "MERGE INTO app.item i USING app.parent p ON i.id = p.id WHEN MATCHED THEN DELETE",
	"COMMIT", "ROLLBACK", "CALL app.commits()", "CALL app.writes()", "DO 'BEGIN DELETE FROM app.item; COMMIT; END'", "SET TRANSACTION READ WRITE", "SET transaction_read_only = off", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "START TRANSACTION READ WRITE",
	"CREATE TABLE app.t (id int)", "CREATE TEMP TABLE t (id int)", "CREATE TEMP TABLE t AS SELECT 1", "SELECT 1 AS id INTO TEMP t", "DROP TABLE app.item", "ALTER TABLE app.item ADD x int", "CREATE INDEX ON app.item (qty)", "COMMENT ON TABLE app.item IS 'x'", "GRANT ALL ON app.item TO PUBLIC", "REFRESH MATERIALIZED VIEW app.m",
	"SET ROLE writer", "SET SESSION AUTHORIZATION writer", "RESET ALL", "DISCARD ALL", "DISCARD TEMP", "SET search_path = secret", "SET default_transaction_read_only = off", "SET statement_timeout = 0", "SET own.setting = 'x'", "ALTER ROLE readonly SET work_mem = '1MB'", "ALTER SYSTEM SET work_mem = '1MB'", "SET session_replication_role = replica",
	"PREPARE p AS DELETE FROM app.item", "LISTEN c", "NOTIFY c", "DECLARE c CURSOR WITH HOLD FOR SELECT 1", "CLOSE ALL", "DEALLOCATE ALL", "LOCK TABLE app.item IN ACCESS EXCLUSIVE MODE", "LOCK TABLE app.item IN SHARE MODE", "LOAD 'plpgsql'", "CHECKPOINT", "VACUUM app.item", "ANALYZE app.item", "CLUSTER app.item", "REINDEX TABLE app.item",
	"COPY app.item FROM PROGRAM 'echo 1'", "COPY app.item TO '/tmp/sw-wall'", "SELECT lo_unlink(5000)", "SELECT nextval('app.counter')", "SELECT setval('app.counter', 9)", "SELECT pg_advisory_lock(77)", "SELECT * FROM app.item FOR UPDATE", "EXPLAIN ANALYZE DELETE FROM app.item", "SECURITY LABEL ON TABLE app.item IS 'x'", "IMPORT FOREIGN SCHEMA x FROM SERVER y INTO app",
}

// sessionState is everything of a session that could outlive a transaction, as one text.
const sessionState = `SELECT concat_ws(' | ', current_user, session_user, pg_my_temp_schema(), (SELECT string_agg(c, ',') FROM pg_listening_channels() c),
	(SELECT string_agg(name, ',') FROM pg_prepared_statements WHERE name <> ''), (SELECT string_agg(name, ',') FROM pg_cursors WHERE name <> ''),
	(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN ('advisory', 'transactionid', 'object')),
	(SELECT array_to_string(dblink_get_connections(), ',')), nullif(current_setting('own.setting', true), ''),
	(SELECT md5(string_agg(name || '=' || coalesce(setting, ''), ';' ORDER BY name)) FROM pg_settings WHERE name NOT LIKE '%.%'))` // a custom setting keeps its name, empty

// wallState is everything of the database that could have been changed.
func wallState(t *testing.T, pg *pgtemp.DB, definitions string) string {
	t.Helper()
	var out strings.Builder
	for _, row := range pg.Query(t, "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND n.nspname IN ('app', 'secret', 'public', 'mcp_audit') ORDER BY 1") {
		fmt.Fprintln(&out, row[0], pg.Query(t, fmt.Sprintf("SELECT count(*), md5(coalesce(string_agg(x.ctid::text || x.xmin::text || x::text, ',' ORDER BY x.ctid), '')) FROM %s x", row[0]))[0])
	}
	for _, row := range pg.Query(t, definitions) {
		fmt.Fprintln(&out, row)
	}
	fmt.Fprintln(&out, pg.Query(t, `SELECT (SELECT last_value || is_called::text FROM app.counter), convert_from(lo_get(5000), 'UTF8'), (SELECT count(*) FROM pg_replication_slots),
		(SELECT count(*) FROM pg_replication_origin), (SELECT count(*) FROM pg_ls_dir('pg_snapshots')), (SELECT count(*) FROM pg_collation), (SELECT count(*) FROM pg_prepared_xacts)`))
	return out.String()
}

// S11 with the guard switched off: each attack goes to the wall itself, by a role that may write and with
// functions that run any text. Nothing changes, neither in the database nor in the session, which is
// the same connection or gone.
func TestS11EveryAttackOnTheWall(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MaxConnections = 1 })
	read := func(name string) string {
		text, err := os.ReadFile("../../tests/" + name)
		require.NoError(t, err)
		return string(text)
	}
	b.PG.Exec(t, read("world.sql"))
	b.PG.Exec(t, "CREATE EXTENSION dblink; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO readonly") // also dblink_connect_u
	b.PG.Exec(t, wallSchema)
	all := append(strings.Split(strings.TrimSpace(read("testdata/s11_attacks.sql")), "\n"), wallAttacks...)
	for _, text := range insideFunctions {
		for _, f := range []string{"app.run", "app.run_as_owner"} {
			all = append(all, "SELECT "+f+"($q$"+text+"$q$)", "SELECT id FROM app.item WHERE "+f+"($q$"+text+"$q$) = 'done'")
		}
	}
	require.Greater(t, len(all), 300)
	session := func() (pid, state string) {
		s := acquire(t, b.Readonly())
		defer s.Release()
		replies, err := s.Flush(t.Context(), seg("SELECT pg_backend_pid()", sessionState))
		require.NoError(t, err)
		require.Nil(t, replies[0].Err)
		return string(replies[0].Results[0].Rows[0][0]), string(replies[0].Results[1].Rows[0][0])
	}
	definitions := read("snapshot.sql")
	before := wallState(t, b.PG, definitions)
	pid, state := session()
	took := 0
	for i, sql := range all {
		if strings.Contains(sql, "FROM pg_stat_activity") {
			sql = "SELECT pg_terminate_backend(pg_backend_pid())" // the other readers of this server are other tests
		}
		_, err := b.Readonly().RunUnguarded(t.Context(), sql, nil)
		if err == nil {
			took++
		}
		_ = b.Readonly().ExplainUnguarded(t.Context(), sql) // it may plan what it likes
		nowPID, now := session()
		if now != state {
			t.Errorf("%s: the session is another (took: %v)\nwas %s\nis  %s", sql, err == nil, state, now)
			state = now
		}
		if nowPID != pid && err == nil {
			t.Logf("%s: took, and the connection was dropped", sql)
		}
		pid = nowPID
		if i%40 == 0 || i == len(all)-1 {
			require.Equal(t, before, wallState(t, b.PG, definitions), "at the latest %s", sql)
		}
	}
	t.Logf("%d of %d were taken and left nothing", took, len(all))
	require.Less(t, took, len(all)/3)
}

// The same by way of the guard: the operator allowed a function that prepares a statement.
func TestAnAllowedFunctionLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MaxConnections = 1 })
	b.PG.Exec(t, `CREATE FUNCTION prepares() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN EXECUTE ''PREPARE left_behind AS SELECT 1''; RETURN 1; END'`)
	st, err := sqlguard.New(sqlguard.Policy{AllowFunctions: []string{"prepares"}}).Read(t.Context(), b.Readonly().Catalog(), "SELECT prepares()", nil)
	require.NoError(t, err)
	for range 2 { // a second PREPARE of that name would fail
		r, err := b.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
		require.NoError(t, err)
		require.Equal(t, "[[1]]", asJSON(t, r))
	}
}
