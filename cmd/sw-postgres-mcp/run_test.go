package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// in runs a command inside the test process.
func in(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{
		in: strings.NewReader(""), out: &out, err: &errs,
		env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"nope"}, {"--nope"}, {"version", "extra"}, {"serve", "extra"}, {"check-config", "--x"}, {"--config"}} {
		code, stdout, stderr := in(t, nil, args...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, "sw-postgres-mcp:")
		require.Contains(t, stderr, "--help")
	}
	for _, args := range [][]string{{"--help"}, {"help", "serve"}, {"version"}} {
		code, stdout, stderr := in(t, nil, args...)
		require.Equal(t, exitOK, code, args)
		require.NotEmpty(t, stdout)
		require.Empty(t, stderr)
	}
	_, stdout, _ := in(t, nil, "version")
	require.Contains(t, stdout, version)
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	code, stdout, stderr := once(t, env, "check-config")
	require.Equal(t, exitOK, code, stdout+stderr)
	require.NotContains(t, stdout, "FAIL")
	for _, want := range []string{"ok    readonly", "ok    writer", "ok    audit", "configuration file: ", "writable: ", db.Name} {
		require.Contains(t, stdout, want)
	}
	require.NotContains(t, stdout+stderr, "postgres://")

	code, stdout, _ = once(t, nowhere, "check-config")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stdout, "FAIL  readonly")
	require.Contains(t, stdout, "FAIL  writer")
	noSecret(t, stdout)

	code, stdout, _ = once(t, nil, "check-config")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stdout, "DATABASE_URL_READONLY")

	code, stdout, _ = once(t, []string{env[0], strings.Replace(env[0], "READONLY", "WRITER", 1)}, "check-config")
	require.Equal(t, exitUsage, code, stdout)

	db.Exec(t, "DROP SCHEMA mcp_audit CASCADE")
	code, stdout, _ = once(t, env, "check-config")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stdout, "02_audit.sql")
}

// What the allowlists name is looked for, and the grants to use it; neither is a failure.
func TestCheckConfigAllowlists(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	db.Exec(t, `CREATE SCHEMA sales; CREATE SCHEMA shut; CREATE SCHEMA bare; CREATE TABLE sales.orders (id int); CREATE TABLE sales."Order Items" (id int); CREATE TABLE sales.half (id int, v int);
		CREATE MATERIALIZED VIEW sales.mv AS SELECT 1 AS one; CREATE TABLE shut.t (id int); CREATE SEQUENCE sales.seq;
		CREATE TABLE sales.parts (id int) PARTITION BY LIST (id); CREATE TABLE sales.parts_1 PARTITION OF sales.parts FOR VALUES IN (1);
		GRANT USAGE ON SCHEMA sales, bare TO readonly, writer; GRANT SELECT ON ALL TABLES IN SCHEMA sales, shut TO readonly, writer; REVOKE SELECT ON sales.half FROM readonly;
		GRANT INSERT, UPDATE, DELETE ON sales.orders, sales."Order Items", sales.parts TO writer; GRANT INSERT, UPDATE (v) ON sales.half TO writer`)
	check := func(read, write string) (lines []string) {
		path := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"allowlist":{"read":{`+read+`},"write":{`+write+`}}}`), 0o600))
		code, stdout, stderr := once(t, env[:2], "check-config", "--config", path)
		require.Equal(t, exitOK, code, stdout+stderr)
		for line := range strings.Lines(stdout) {
			if _, after, ok := strings.Cut(line, "  allowlist."); ok {
				lines = append(lines, strings.TrimSpace(line[:4])+" "+strings.Join(strings.Fields(after), " "))
			}
		}
		return lines
	}
	require.Equal(t, []string{"ok read empty: everything that the role may read: 5 of 7 tables and views", "ok write empty: nothing is writable"}, check(``, ``))
	// What may be written and not looked at.
	require.Equal(t, []string{
		"ok read empty: everything that the role may read: 5 of 7 tables and views",
		"warn write sales.half: role writer lacks DELETE",
		"ok write 1 of 2 tables are there with the grants that role writer needs",
		"warn write role readonly may not read 1 of the tables that may be written, for example sales.half: describe_schema and query do not show them",
	}, check(``, `"tables":["sales.orders","sales.half"]`))
	// A list of tables that the role may not read, and one that it may read in part.
	db.Exec(t, "GRANT SELECT (id) ON sales.half TO readonly")
	require.Equal(t, []string{
		"warn read shut.t: role readonly lacks USAGE on the schema",
		"ok read 1 of 2 tables are there with the grants that role readonly needs",
		"ok write empty: nothing is writable",
	}, check(`"tables":["sales.half","shut.t"]`, ``))
	db.Exec(t, "REVOKE SELECT (id) ON sales.half FROM readonly")
	require.Equal(t, []string{
		"warn read sales.half: role readonly lacks SELECT",
		"ok write empty: nothing is writable",
	}, check(`"tables":["sales.half"]`, ``))
	require.Equal(t, []string{
		"warn write names what allowlist.read does not: app.*, nothing_like_it.*. There update_rows and delete_rows, which show rows, are refused; insert_rows is not",
		"warn read schema bare holds no tables",
		"warn read there is no schema sale; did you mean sales?",
		"warn read schema sales: role readonly lacks SELECT on 1 of 5, for example sales.half",
		"warn read schema shut: role readonly lacks USAGE on the schema on 1 of 1, for example shut.t",
		"ok write schema app: 1 with the grants that role writer needs",
		"warn write there is no schema nothing_like_it",
		"warn write schema sales: role writer lacks DELETE on 1 of 4, for example sales.half",
	}, check(`"schemas":["sales","sale","bare","shut"]`, `"schemas":["sales","app","nothing_like_it"]`))
	require.Equal(t, []string{
		`warn write names what allowlist.read does not: app.itms, sale.orders, sales."Order Items", sales.half, sales.mv, sales.seq. There update_rows and delete_rows, which show rows, are refused; insert_rows is not`,
		"ok read 2 of 3 tables are there with the grants that role readonly needs",
		`warn read there is no table sales."order items"; did you mean sales."Order Items", app.items?`,
		"warn write sales.half: role writer lacks DELETE",
		"warn write sales.mv is a materialized view, which is never writable",
		"ok write 2 of 7 tables are there with the grants that role writer needs",
		"warn write there is no table app.itms; did you mean app.items?",
		"warn write there is no table sale.orders; did you mean sales.orders?",
		"warn write sales.seq is not a table or view",
	}, check(`"tables":["sales.orders","sales.\"order items\"","sales.parts_1"]`,
		`"tables":["sales.orders","sales.\"Order Items\"","sales.half","sales.mv","app.itms","sale.orders","sales.seq"]`))
}

// Who does not own a table cannot alter it. What of the writable tables run_migration can alter is a line of its
// own, a warning where it can do nothing at all.
func TestCheckConfigMigrations(t *testing.T) {
	t.Parallel()
	db, env := database(t)
	deputy := "deputy_" + db.Name
	db.Exec(t, `CREATE SCHEMA mine AUTHORIZATION migrator; CREATE SCHEMA theirs; CREATE SCHEMA shut;
		CREATE TABLE mine.a (id int); CREATE VIEW mine.v AS SELECT 1 AS one; ALTER TABLE mine.a OWNER TO migrator; ALTER VIEW mine.v OWNER TO migrator;
		CREATE TABLE theirs."B" (id int); CREATE TABLE theirs.c (id int);
		CREATE TABLE shut.d (id int); ALTER TABLE shut.d OWNER TO migrator; GRANT USAGE ON SCHEMA shut TO migrator;
		CREATE ROLE `+deputy+` NOLOGIN; GRANT migrator TO `+deputy)
	t.Cleanup(func() { db.Exec(t, `DROP ROLE `+deputy) })
	check := func(role, write string, more ...string) (lines []string) {
		path := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"database":{"migrationRole":"`+role+`"},"allowlist":{"write":{"schemas":[`+write+`]}}}`), 0o600))
		code, stdout, stderr := once(t, env[:2], append([]string{"check-config", "--config", path}, more...)...)
		require.Equal(t, exitOK, code, stdout+stderr)
		for line := range strings.Lines(stdout) {
			if f := strings.Fields(line); f[1] == "database.migrationRole" {
				lines = append(lines, f[0]+" "+strings.Join(f[2:], " "))
			}
		}
		return lines
	}
	for _, c := range []struct {
		role, write string
		want        []string
	}{
		{"migrator", ``, nil},
		{"migrator", `"nothing_there"`, nil},
		{"migrator", `"mine"`, []string{"ok role migrator owns what may be written: run_migration can alter it"}},
		{"migrator", `"mine","theirs"`, []string{`ok there are 4 tables and views that may be written, 2 of them owned by role migrator; run_migration cannot alter the others, for example theirs."B" (README, On your own database)`}},
		{"migrator", `"mine","shut"`, []string{"warn role migrator lacks USAGE or CREATE on the schema shut, whose tables it owns: GRANT USAGE, CREATE ON SCHEMA shut TO migrator"}},
		{"migrator", `"theirs","shut"`, []string{
			`ok there are 3 tables and views that may be written, 1 of them owned by role migrator; run_migration cannot alter the others, for example theirs."B" (README, On your own database)`,
			"warn role migrator lacks USAGE or CREATE on the schema shut, whose tables it owns: GRANT USAGE, CREATE ON SCHEMA shut TO migrator",
		}},
		{"migratr", `"mine"`, []string{"warn there is no role migratr: run_migration will fail"}},
		{deputy, `"mine"`, []string{"warn role writer is no member of " + deputy + ": run_migration will fail (GRANT " + deputy + " TO writer)"}},
		{"", `"mine"`, []string{"ok none: run_migration runs as role writer, which owns nothing of what may be written and can alter none of it"}},
	} {
		require.Equal(t, c.want, check(c.role, c.write), "%s %s", c.role, c.write)
	}
	require.Empty(t, check("migratr", `"mine"`, "--tools", "default -ddl"), "nobody can call it")
	db.Exec(t, `CREATE VIEW mine.w AS SELECT 1 AS one; ALTER VIEW mine.w OWNER TO writer`)
	require.Equal(t, []string{"ok there are 3 tables and views that may be written, 1 of them owned by role writer; run_migration cannot alter the others, for example mine.a (README, On your own database)"}, check("", `"mine"`))
}

// A role without any grant is told of, as is an empty database: an agent would see nothing.
func TestCheckConfigNothingReadable(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	env := []string{"DATABASE_URL_READONLY=" + db.Readonly, "DATABASE_URL_WRITER=" + db.Writer, "SW_POSTGRES_CONFIG=" + configFile(t)}
	db.Exec(t, "DROP SCHEMA public CASCADE")
	db.Exec(t, "CREATE SCHEMA app; CREATE TABLE app.items (id bigint PRIMARY KEY); GRANT USAGE ON SCHEMA app TO readonly")
	code, stdout, stderr := once(t, env, "check-config")
	require.Equal(t, exitOK, code, stdout+stderr)
	require.Regexp(t, `warn  allowlist.read +empty: everything that the role may read, and role readonly may read none of \d+ tables`, stdout)
	require.Regexp(t, `warn  allowlist.write +role readonly may not read 1 of the tables that may be written, for example app.items`, stdout)

	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"database":{"readonlyConnectionString":"`+db.Readonly+`","writerConnectionString":"`+db.Writer+`"}}`), 0o600))
	_, stdout, _ = once(t, nil, "check-config", "--config", path)
	require.NotContains(t, stdout, "other accounts")
	require.NoError(t, os.Chmod(path, 0o644))
	_, stdout, _ = once(t, nil, "check-config", "--config", path)
	require.Contains(t, stdout, "may be read by other accounts of this machine (mode 0644)")
}

func TestSeedDemo(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	for range 2 { // as often as you like
		code, stdout, stderr := once(t, []string{"DATABASE_URL=" + db.Writer}, "seed-demo", "--seed", "7")
		require.Equal(t, exitOK, code, stderr)
		require.Contains(t, stdout, "50000 customers, 2000 products, 60000 orders")
	}
	require.Equal(t, "50000", db.Query(t, "select count(*) from public.customers")[0][0])

	code, stdout, stderr := once(t, []string{"DATABASE_URL_WRITER=" + nowhere[1]}, "seed-demo", "--connection", "postgres://writer:S3cr3t@127.0.0.1:1/x")
	require.Equal(t, exitRuntime, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "--connection")
	noSecret(t, stderr)

	code, _, stderr = once(t, nil, "seed-demo", "--connection", "postgres://writer:S3cr3t@b]ad:x/y")
	require.Equal(t, exitRuntime, code)
	require.Contains(t, stderr, "percent-encoded")
	noSecret(t, stderr)

	other := pgtemp.New(t)
	other.Exec(t, "CREATE TABLE public.customers (id bigint); GRANT ALL ON public.customers TO writer")
	code, _, stderr = once(t, []string{"DATABASE_URL_WRITER=" + other.Writer}, "seed-demo")
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, "--yes")
}
