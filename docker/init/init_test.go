package initsql_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	initsql "github.com/jpka/sw-postgres-mcp/docker/init"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := initsql.Files.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// do runs SQL, many statements if need be, as the simple protocol has them.
func do(t *testing.T, conn *pgx.Conn, sql string) error {
	t.Helper()
	_, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil && conn.PgConn().TxStatus() != 'I' {
		_, rollback := conn.PgConn().Exec(t.Context(), "rollback").ReadAll()
		require.NoError(t, rollback)
	}
	return err
}

func refused(t *testing.T, conn *pgx.Conn, state, sql string) {
	t.Helper()
	var e *pgconn.PgError
	require.ErrorAs(t, do(t, conn, sql), &e, sql)
	require.Equal(t, state, e.Code, "%s: %s", sql, e.Message)
}

const denied = "42501" // insufficient_privilege

const executed = `insert into mcp_audit.log (tool, status, plan_token, actual_rows) values ('delete_rows', 'executed', $1, 8)`

// grantsSQL is everything the files give: owners, access lists, default privileges, memberships, role attributes.
const grantsSQL = `
select 'schema', nspname, pg_get_userbyid(nspowner), nspacl::text from pg_namespace where nspname in ('public', 'mcp_audit')
union all select 'relation', oid::regclass::text, pg_get_userbyid(relowner), relacl::text from pg_class
  where relnamespace in ('public'::regnamespace, 'mcp_audit'::regnamespace) and relkind in ('r', 'S', 'v')
union all select 'function', oid::regprocedure::text, pg_get_userbyid(proowner), proacl::text from pg_proc where pronamespace = 'mcp_audit'::regnamespace
union all select 'constraint', conname, conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint where connamespace in ('public'::regnamespace, 'mcp_audit'::regnamespace)
union all select 'trigger', tgname, tgenabled::text, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
union all select 'default', defaclrole::regrole::text, defaclobjtype::text, defaclacl::text from pg_default_acl
union all select 'role', rolname, concat(rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication), array_to_string(rolconfig, ',') from pg_roles where rolname in ('readonly', 'writer', 'migrator')
union all select 'member', member::regrole::text, roleid::regrole::text, admin_option::text from pg_auth_members where roleid::regrole::text = 'migrator'
order by 1, 2, 3`

// Roles are cluster-wide, and ALTER ROLE in two sessions at once can fail, so the tests that run
// 01_roles.sql again have a cluster of their own.
func TestEachFileTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(false), pgtemp.WithDemo())
	db.Exec(t, "insert into mcp_audit.log (tool, status, plan_token, actual_rows) values ('x', 'executed', 'p', 1)")
	before := db.Query(t, grantsSQL)
	require.NotEmpty(t, before)
	for _, name := range []string{"01_roles.sql", "02_audit.sql", "03_demo.sql"} {
		db.Exec(t, file(t, name))
		db.Exec(t, file(t, name))
	}
	require.Equal(t, before, db.Query(t, grantsSQL))
	require.Equal(t, [][]string{{"1"}}, db.Query(t, "select count(*) from mcp_audit.log"))

	// What somebody granted in between is taken back where it would break the record.
	db.Exec(t, "grant all on mcp_audit.log to writer, migrator, public; grant all on schema mcp_audit to writer; grant execute on function mcp_audit.outcome(text) to public")
	db.Exec(t, file(t, "02_audit.sql"))
	require.Equal(t, before, db.Query(t, grantsSQL))
}

// The container's entry point runs the files through psql, which has a syntax of its own on top.
func TestFilesRunThroughPsql(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed; the files are otherwise tested over the protocol")
	}
	db := pgtemp.New(t, pgtemp.OwnCluster(false))
	db.Exec(t, "create database fresh template template0")
	url := strings.Replace(db.Super, "/"+db.Name, "/fresh", 1)
	for range 2 {
		for _, name := range []string{"01_roles.sql", "02_audit.sql", "03_demo.sql"} {
			out, err := exec.Command(psql, "-X", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", name).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	var n int
	require.NoError(t, connect(t, url).QueryRow(t.Context(),
		"select count(*) from pg_tables where schemaname = 'public' and tableowner = 'migrator'").Scan(&n))
	require.Equal(t, 4, n)

	// Then the script that gives the roles the container's passwords, whatever is in them.
	cfg, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	const password = `it's $HOME "quoted" \d :x ; -- %20`
	run := func(env ...string) error {
		script := exec.Command("sh", "./04_passwords.sh")
		script.Env = append(os.Environ(), "PGHOST=127.0.0.1", fmt.Sprint("PGPORT=", cfg.Port), "PGPASSWORD="+cfg.Password,
			"POSTGRES_USER=postgres", "POSTGRES_DB=fresh")
		script.Env = append(script.Env, env...)
		out, err := script.CombinedOutput()
		t.Logf("%s", out)
		return err
	}
	require.NoError(t, run("READONLY_PASSWORD=r", "WRITER_PASSWORD="+password))
	cfg.User, cfg.Password = "writer", password
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.Error(t, run("READONLY_PASSWORD=r"), "a role without a password is a mistake of the deployment")
}

func TestS15WriterMayOnlyInsert(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	w := connect(t, db.Writer)

	_, err := w.Exec(t.Context(), executed, "token")
	require.NoError(t, err)
	for _, sql := range []string{
		"select * from mcp_audit.log",
		"select count(*) from mcp_audit.log",
		"update mcp_audit.log set reason = 'x'",
		"delete from mcp_audit.log",
		"truncate mcp_audit.log",
		"insert into mcp_audit.log (tool, status, error_code) values ('x', 'failed', 'X') returning id",
		"insert into mcp_audit.log (tool, status, error_code) values ('x', 'failed', 'X') on conflict do nothing returning ts",
		"merge into mcp_audit.log l using (select 1) s on true when matched then delete",
		"drop table mcp_audit.log",
		"drop schema mcp_audit cascade",
		"create table mcp_audit.other (a int)",
		"alter table mcp_audit.log add column x int",
		"alter table mcp_audit.log disable trigger all",
		"alter table mcp_audit.log owner to writer",
		"create trigger t before insert on mcp_audit.log for each row execute function mcp_audit.refuse_change()",
		"create index on mcp_audit.log (tool)",
		"do $$ begin lock table mcp_audit.log in share mode; end $$",
		"select setval('mcp_audit.log_id_seq', 1)",
		"create or replace function mcp_audit.outcome(token text) returns table (ts timestamptz, actual_rows bigint, blast_radius jsonb) language sql as 'select null, null, null'",
		"select mcp_audit.refuse_change()",
	} {
		if strings.HasPrefix(sql, "merge") && serverMajor(t, w) < 15 {
			continue // no MERGE there
		}
		refused(t, w, denied, sql)
		refused(t, w, denied, "begin; set local role migrator; "+sql)
	}
	refused(t, w, denied, "begin; set local role migrator; insert into mcp_audit.log (tool, status, error_code) values ('x', 'failed', 'X')")
	refused(t, w, denied, "begin; set local role migrator; select * from mcp_audit.outcome('token')")
	// Who cannot grant is told so by a warning only; the lists below show that nothing came of it.
	require.NoError(t, do(t, w, "grant all on mcp_audit.log to writer, public"))
	refused(t, w, "428C9", "insert into mcp_audit.log (id, tool, status, error_code) values (1, 'x', 'failed', 'X')")

	require.Equal(t, [][]string{{"INSERT"}}, db.Query(t, `
		select p from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
		where has_table_privilege('writer', 'mcp_audit.log', p)`))
	require.Empty(t, db.Query(t, `
		select r, p from unnest(array['writer', 'readonly', 'migrator']) r, unnest(array['INSERT', 'UPDATE', 'REFERENCES']) p
		where has_any_column_privilege(r, 'mcp_audit.log', p) and (r, p) <> ('writer', 'INSERT')`))
	require.Equal(t, [][]string{{"postgres"}}, db.Query(t, `
		select distinct pg_get_userbyid(o) from (select nspowner o from pg_namespace where nspname = 'mcp_audit'
		union all select relowner from pg_class where relnamespace = 'mcp_audit'::regnamespace
		union all select proowner from pg_proc where pronamespace = 'mcp_audit'::regnamespace) x`))
}

func TestS15OwnerIsStoppedToo(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	s := connect(t, db.Super)
	_, err := s.Exec(t.Context(), executed, "token")
	require.NoError(t, err)
	for _, sql := range []string{
		"update mcp_audit.log set reason = 'x'", "delete from mcp_audit.log", "truncate mcp_audit.log", "delete from mcp_audit.log where false",
	} {
		refused(t, s, denied, sql)
	}
	// On purpose it can be done, and running the file again does not undo the decision.
	require.NoError(t, do(t, s, "alter table mcp_audit.log disable trigger log_append_only"))
	require.NoError(t, do(t, s, file(t, "02_audit.sql")))
	require.NoError(t, do(t, s, "delete from mcp_audit.log"))
}

func TestS09DatabaseRefusesSecondExecution(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	w := connect(t, db.Writer)
	_, err := w.Exec(t.Context(), executed, "token")
	require.NoError(t, err)
	_, err = w.Exec(t.Context(), executed, "token")
	var e *pgconn.PgError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "23505", e.Code)
	require.Equal(t, "log_executed_once", e.ConstraintName)
	_, err = w.Exec(t.Context(), executed, "another")
	require.NoError(t, err)
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	w := connect(t, db.Writer)
	for _, sql := range []string{
		"insert into mcp_audit.log (tool, status, plan_token) values ('delete_rows', 'previewed', 'a')",
		"insert into mcp_audit.log (tool, status, plan_token, actual_rows, blast_radius) values ('delete_rows', 'executed', 'b', 8, '{\"total_rows\": 9}')",
		"insert into mcp_audit.log (tool, status, plan_token, error_code) values ('delete_rows', 'failed', 'c', 'ROWSET_CHANGED')",
	} {
		require.NoError(t, do(t, w, sql))
	}
	outcome := func(token string) (n int, rows int64, radius string) {
		require.NoError(t, w.QueryRow(t.Context(),
			"select count(*), coalesce(max(actual_rows), -1), coalesce(max(blast_radius::text), '') from mcp_audit.outcome($1) where ts is not null", token).Scan(&n, &rows, &radius))
		return n, rows, radius
	}
	for _, token := range []string{"a", "c", "never", ""} {
		n, _, _ := outcome(token)
		require.Zero(t, n, token)
	}
	n, rows, radius := outcome("b")
	require.Equal(t, 1, n)
	require.EqualValues(t, 8, rows)
	require.JSONEq(t, `{"total_rows": 9}`, radius)

	refused(t, connect(t, db.Readonly), denied, "select * from mcp_audit.outcome('b')")
	other, url := db.Role(t, "")
	refused(t, connect(t, url), denied, "select * from mcp_audit.outcome('b')")
	db.Exec(t, "grant usage on schema mcp_audit to "+other)
	refused(t, connect(t, url), denied, "select * from mcp_audit.outcome('b')")

	// Nobody's objects stand in for the log: the search path is the function's own.
	require.NoError(t, do(t, w, "create temp table log (plan_token text, status text, ts timestamptz, actual_rows bigint, blast_radius jsonb); insert into log values ('fake', 'executed', now(), 1, null); set search_path = pg_temp, mcp_audit"))
	n, _, _ = outcome("fake")
	require.Zero(t, n)
	require.NoError(t, do(t, w, "drop table pg_temp.log"))
}

func TestStatusesAreConstrained(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	w := connect(t, db.Writer)
	for sql, constraint := range map[string]string{
		"(tool, status, plan_token) values ('x', 'done', 't')":                "log_status_known",
		"(tool, status) values ('x', 'previewed')":                            "log_plan_has_token",
		"(tool, status) values ('x', 'awaiting_approval')":                    "log_plan_has_token",
		"(tool, status, actual_rows) values ('x', 'executed', 1)":             "log_plan_has_token",
		"(tool, status, plan_token) values ('x', 'executed', 't')":            "log_executed_says_rows",
		"(tool, status, plan_token) values ('approve_plan', 'approved', 't')": "log_decision_has_actor",
		"(tool, status, plan_token) values ('reject_plan', 'rejected', 't')":  "log_decision_has_actor",
		"(tool, status) values ('x', 'failed')":                               "log_failure_has_code",
	} {
		var e *pgconn.PgError
		require.ErrorAs(t, do(t, w, "insert into mcp_audit.log "+sql), &e, sql)
		require.Equal(t, constraint, e.ConstraintName, sql)
	}
	for _, sql := range []string{
		"(tool, status, error_code) values ('x', 'failed', 'NO_WHERE_CLAUSE')",
		"(tool, status, preview_rows, error_code) values ('x', 'hard_cap_refused', 10001, 'HARD_MAX_ROWS_EXCEEDED')",
		"(tool, status, plan_token, approved_by) values ('reject_plan', 'rejected', 't', 'unknown')",
	} {
		require.NoError(t, do(t, w, "insert into mcp_audit.log "+sql), sql)
	}
}

// ts is the moment of the row, not the start of a transaction that may have waited.
func TestTimeIsTheMoment(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	require.NoError(t, do(t, connect(t, db.Writer), "begin; select pg_sleep(0.05); insert into mcp_audit.log (tool, status, error_code) select 'x', 'failed', now()::text; commit"))
	require.Equal(t, [][]string{{"t"}}, db.Query(t, "select ts >= error_code::timestamptz + interval '50 ms' from mcp_audit.log"))
}

func TestS11ReadonlyIsNarrow(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	db.Exec(t, "insert into products (sku, name, category, price) values ('a', 'b', 'c', 1)")
	r := connect(t, db.Readonly)
	require.NoError(t, do(t, r, "select * from customers; select * from products; select * from mcp_audit.log"))

	refused(t, r, "25006", "insert into products (sku, name, category, price) values ('x', 'b', 'c', 1)") // read_only_sql_transaction
	require.NoError(t, do(t, r, "set default_transaction_read_only = off"), "a wall behind which the grants stand")
	for _, sql := range []string{
		"insert into products (sku, name, category, price) values ('x', 'b', 'c', 1)",
		"update products set price = 2", "delete from products", "truncate products", "select * from products for update",
		"insert into mcp_audit.log (tool, status, error_code) values ('x', 'failed', 'X')",
		"delete from mcp_audit.log", "update mcp_audit.log set reason = 'x'",
		"create table public.t (a int)", "create function public.f() returns int language sql as 'select 1'", "create schema s",
		"alter table products add column x int", "drop table products",
		"select nextval('products_id_seq')", "select setval('products_id_seq', 1)",
		"set role migrator", "set role writer", "set session authorization writer",
		"create role x", "alter role readonly superuser",
	} {
		refused(t, r, denied, sql)
	}
	require.Empty(t, db.Query(t, "select roleid::regrole from pg_auth_members where member = 'readonly'::regrole"))
	require.Equal(t, [][]string{{"f", "f"}}, db.Query(t, "select pg_has_role('readonly', 'migrator', 'member'), pg_has_role('readonly', 'writer', 'member')"))
}

func TestWriterHasNoOwnerRightsUntilItBecomesMigrator(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	w := connect(t, db.Writer)

	require.NoError(t, do(t, w, `
		insert into products (sku, name, category, price) values ('a', 'b', 'c', 1);
		update products set price = 2; select * from products for update; delete from products`))
	for _, sql := range []string{
		"drop table products", "alter table products add column x int", "truncate products", "create index on products (name)",
		"create table public.t (a int)", "create schema s", "drop schema public cascade", "alter schema public owner to writer",
		"alter table products enable row level security",
		"create trigger t before insert on products for each row execute function suppress_redundant_updates_trigger()",
		"select setval('products_id_seq', 1)", "alter role writer superuser", "grant migrator to readonly",
	} {
		refused(t, w, denied, sql)
	}

	// What migrator creates is usable by both at once, by exactly these rights.
	require.NoError(t, do(t, w, `begin; set local role migrator;
		create table public.made (id serial primary key, n int); create view public.seen as select n from public.made;
		alter table products add column note text; reset role;
		insert into made (n) values (1); commit`))
	require.NoError(t, do(t, connect(t, db.Readonly), "select * from made; select * from seen"))
	require.Equal(t, [][]string{
		{"readonly", "SELECT"}, {"writer", "DELETE"}, {"writer", "INSERT"}, {"writer", "SELECT"}, {"writer", "UPDATE"},
	}, db.Query(t, `select grantee::regrole::text, privilege_type from pg_class, aclexplode(relacl) where oid = 'made'::regclass and grantee <> relowner order by 1, 2`))
	refused(t, w, denied, "drop table made")

	// The switch ends with the transaction.
	var who string
	require.NoError(t, w.QueryRow(t.Context(), "select current_user").Scan(&who))
	require.Equal(t, "writer", who)
	refused(t, w, denied, "set role postgres")
	refused(t, w, denied, "set role readonly")
}

// A schema that the owner hands over is usable without further grants.
func TestNewSchemaOfMigrator(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "create schema app authorization migrator; set role migrator; create table app.t (id serial, n int)")
	require.NoError(t, do(t, connect(t, db.Writer), "insert into app.t (n) values (1)"))
	require.NoError(t, do(t, connect(t, db.Readonly), "select * from app.t"))
}

func TestPublicMayNotCreateInPublic(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	_, url := db.Role(t, "")
	refused(t, connect(t, url), denied, "create table public.t (a int)")
}

func TestRolesThatAreTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(false))
	s := connect(t, db.Super)
	for _, attribute := range []string{"superuser", "bypassrls", "createrole", "createdb", "replication"} {
		for _, role := range []string{"readonly", "writer", "migrator"} {
			require.NoError(t, do(t, s, "alter role "+role+" "+attribute))
			require.ErrorContains(t, do(t, s, file(t, "01_roles.sql")), `role "`+role+`" exists and is more than an ordinary role`)
			require.NoError(t, do(t, s, "alter role "+role+" no"+attribute))
		}
	}
	require.NoError(t, do(t, s, file(t, "01_roles.sql")))
}

func TestAuditOfTheWrongOwnerIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	s := connect(t, db.Super)
	for _, role := range []string{"writer", "migrator", "readonly"} {
		require.NoError(t, do(t, s, "drop schema mcp_audit cascade; create schema mcp_audit authorization "+role))
		require.ErrorContains(t, do(t, s, file(t, "02_audit.sql")), `mcp_audit must not belong to "`+role+`"`)
	}
	require.NoError(t, do(t, s, "drop schema mcp_audit cascade; set role writer"))
	require.Error(t, do(t, s, file(t, "02_audit.sql")))
	require.NoError(t, do(t, s, "reset role"))
	require.NoError(t, do(t, s, file(t, "02_audit.sql")))
}

func TestDemoNeverTakesAnothersTable(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "create table public.orders (id int, precious text); insert into orders values (1, 'x'); comment on table orders is 'ours'")
	s := connect(t, db.Super)
	require.ErrorContains(t, do(t, s, file(t, "03_demo.sql")), "public.orders exists and is not the demo's")
	require.Equal(t, [][]string{{"orders", "ours", "postgres"}},
		db.Query(t, "select tablename, obj_description(('public.' || tablename)::regclass), tableowner from pg_tables where schemaname = 'public'"))
}

// seed-demo applies the schema over the writer's connection.
func TestDemoAsWriterBelongsToMigrator(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	w := connect(t, db.Writer)
	require.NoError(t, do(t, w, file(t, "03_demo.sql")))
	require.NoError(t, do(t, w, file(t, "03_demo.sql")))
	require.Equal(t, [][]string{{"migrator"}}, db.Query(t, "select distinct tableowner from pg_tables where schemaname = 'public'"))
	require.NoError(t, do(t, connect(t, db.Readonly), "select * from order_items"))
}

func TestDeletingACustomerCascades(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	require.Equal(t, [][]string{{"c"}}, db.Query(t, "select distinct confdeltype from pg_constraint where contype = 'f'"))
	require.NoError(t, do(t, connect(t, db.Writer), `
		insert into customers (id, tenant, name, email, country) values (1, 't', 'n', 'e', 'DE');
		insert into products (id, sku, name, category, price) values (1, 's', 'n', 'c', 1);
		insert into orders (id, customer_id, status) values (1, 1, 'paid');
		insert into order_items (order_id, product_id, quantity, unit_price) values (1, 1, 1, 1);
		delete from customers`))
	require.Equal(t, [][]string{{"0", "0"}}, db.Query(t, "select (select count(*) from orders), (select count(*) from order_items)"))
}

func serverMajor(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	var v int
	require.NoError(t, conn.QueryRow(t.Context(), "select current_setting('server_version_num')::int / 10000").Scan(&v))
	return v
}
