package tests

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	initsql "github.com/jpka/sw-postgres-mcp/docker/init"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// as runs one statement as the role of a connection string and returns the SQLSTATE, "" for success.
func as(t testing.TB, dsn, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	if err == nil {
		return ""
	}
	var e *pgconn.PgError
	require.ErrorAs(t, err, &e)
	return e.Code
}

// S15: the audit table only grows, whoever asks and by whichever way.
func TestS15TheAuditTableOnlyGrows(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 1000}}})
	s.execute(s.preview("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"}))
	content := func() string {
		return fmt.Sprint(db.Query(t, "SELECT l::text FROM mcp_audit.log l WHERE l.status <> 'failed' ORDER BY id"))
	}
	before, definitions := content(), snapshot(t, db)
	for _, sql := range []string{
		"UPDATE mcp_audit.log SET reason = 'x'", "UPDATE mcp_audit.log SET status = 'rejected' WHERE false", "DELETE FROM mcp_audit.log", "TRUNCATE mcp_audit.log",
		"SELECT count(*) FROM mcp_audit.log", "ALTER TABLE mcp_audit.log DISABLE TRIGGER ALL", "DROP TABLE mcp_audit.log", "DROP INDEX mcp_audit.log_executed_once",
		"GRANT ALL ON mcp_audit.log TO writer; UPDATE mcp_audit.log SET reason = 'x'", "SET ROLE migrator; DELETE FROM mcp_audit.log", "SET ROLE migrator; TRUNCATE mcp_audit.log",
		"CREATE RULE r AS ON INSERT TO mcp_audit.log DO INSTEAD NOTHING", "CREATE OR REPLACE FUNCTION mcp_audit.outcome(token text) RETURNS TABLE (ts timestamptz, actual_rows bigint, blast_radius jsonb) LANGUAGE sql AS 'SELECT NULL::timestamptz, NULL::bigint, NULL::jsonb'",
		"ALTER SCHEMA mcp_audit RENAME TO gone", "SET session_replication_role = replica; DELETE FROM mcp_audit.log",
	} {
		require.Equal(t, "42501", as(t, db.Writer, sql), "as writer: %s", sql)
	}
	for _, sql := range []string{"INSERT INTO mcp_audit.log (tool, status, error_code) VALUES ('x', 'failed', 'x')", "UPDATE mcp_audit.log SET reason = 'x'", "DELETE FROM mcp_audit.log", "TRUNCATE mcp_audit.log"} {
		require.Contains(t, []string{"42501", "25006"}, as(t, db.Readonly, sql), "as readonly: %s", sql)
		require.Equal(t, "42501", as(t, db.Readonly, "BEGIN READ WRITE; "+sql), "as readonly: %s", sql)
	}
	for _, sql := range []string{"UPDATE mcp_audit.log SET reason = 'x'", "DELETE FROM mcp_audit.log", "TRUNCATE mcp_audit.log"} {
		require.Equal(t, "42501", as(t, db.Super, sql), "as superuser, who must switch the trigger off first: %s", sql)
	}
	// By way of the tools.
	s.call("delete_rows", args{"table": "mcp_audit.log", "where": "true", "confirm_full_table": true, "reason": "t"}).refused(t, refusal.TableNotWritable)
	s.call("update_rows", args{"table": "mcp_audit.log", "set": args{"reason": "x"}, "where": "id = 1", "reason": "t"}).refused(t, refusal.TableNotWritable)
	s.call("insert_rows", args{"table": "mcp_audit.log", "columns": []any{"tool"}, "rows": []any{[]any{"x"}}, "reason": "t"}).refused(t, refusal.TableNotWritable)
	for _, ddl := range []string{
		"DROP TABLE mcp_audit.log", "ALTER TABLE mcp_audit.log ADD COLUMN x integer", "ALTER TABLE mcp_audit.log DISABLE TRIGGER ALL", "DROP TRIGGER log_append_only ON mcp_audit.log",
		"DROP INDEX mcp_audit.log_executed_once", "DROP SCHEMA mcp_audit CASCADE", "ALTER SCHEMA mcp_audit RENAME TO x", "ALTER TABLE mcp_audit.log SET SCHEMA app", "CREATE TABLE mcp_audit.other (id integer)",
		"CREATE INDEX ON mcp_audit.log (reason)", "COMMENT ON TABLE mcp_audit.log IS 'x'", "DROP FUNCTION mcp_audit.outcome(text)",
	} {
		require.True(t, s.call("run_migration", args{"statement": ddl, "reason": "t"}).isError, ddl)
	}
	require.Equal(t, before, content())
	require.Equal(t, definitions, snapshot(t, db))
}

// S15: every event of a plan's life has its row, also those that never reached Postgres.
func TestS15EveryEventHasItsRow(t *testing.T) {
	t.Parallel()
	db := world(t)
	db.Exec(t, "INSERT INTO app.child (parent_id) SELECT 1 FROM generate_series(1, 1000)")
	s := start(t, db, options{config: map[string]any{"write": map[string]any{"approvalRequiredAboveRows": 10, "hardMaxRows": 1000, "planTtlMs": 2000, "approvalTtlMs": 30000}}})
	del := func(where string, params ...any) args {
		return args{"table": "app.item", "where": where, "params": append([]any{}, params...), "reason": "the reason"}
	}
	var want []string
	expect := func(line string) {
		t.Helper()
		want = append(want, line)
		eventually(t, line, func() bool { return len(audit(t, db)) >= len(want) })
		rows := audit(t, db)
		require.Len(t, rows, len(want))
		last := rows[len(rows)-1]
		require.Equal(t, line, strings.TrimSpace(strings.Join(last[:3], " ")))
	}
	p := s.preview("delete_rows", del("id = 1"))
	expect("delete_rows previewed")
	s.execute(p)
	expect("delete_rows executed")
	s.call("execute_plan", p.echo()).refused(t, refusal.UsedToken)
	expect("execute_plan failed USED_TOKEN")

	p = s.preview("delete_rows", del("id BETWEEN 2 AND 20"))
	expect("delete_rows awaiting_approval")
	s.approve(p.Token)
	expect("approve_plan approved")
	s.execute(p)
	expect("delete_rows executed")

	p = s.preview("run_migration", args{"statement": "CREATE TABLE app.x (id integer)", "reason": "t"})
	expect("run_migration awaiting_approval")
	s.reject(p.Token, "no")
	expect("reject_plan rejected")

	s.call("delete_rows", args{"table": "app.child", "where": "v >= 0", "reason": "t"}).refused(t, refusal.HardMaxRowsExceeded)
	expect("delete_rows hard_cap_refused HARD_MAX_ROWS_EXCEEDED")
	for _, c := range []struct {
		tool string
		args args
		code string
	}{
		{"delete_rows", args{"table": "secret.hidden", "where": "id = 1", "reason": "t"}, "TABLE_NOT_WRITABLE"},
		{"delete_rows", args{"table": "app.nothing", "where": "id = 1", "reason": "t"}, "INVALID_TABLE_NAME"},
		{"delete_rows", args{"table": "app.item", "reason": "t"}, "NO_WHERE_CLAUSE"},
		{"delete_rows", args{"table": "app.item", "where": "id = 1"}, "MISSING_REASON"},
		{"update_rows", args{"table": "app.item", "set": args{"qty": -1}, "where": "id = 40", "reason": "t"}, "WRITE_FAILED"},
		{"update_rows", args{"table": "app.item", "set": args{}, "where": "id = 40", "reason": "t"}, "INVALID_ARGUMENTS"},
		{"insert_rows", args{"table": "app.item", "columns": "name", "rows": 1, "reason": "t"}, "INVALID_ARGUMENTS"},
		{"run_migration", args{"statement": "DELETE FROM app.item", "reason": "t"}, "INVALID_INPUT"},
		{"run_migration", args{"statement": "VACUUM", "reason": "t"}, "UNSUPPORTED_MIGRATION"},
	} {
		got := s.call(c.tool, c.args)
		require.True(t, got.isError)
		require.Equal(t, c.code, got.code, "%s %v: %s", c.tool, c.args, got.message)
		expect(c.tool + " failed " + c.code)
	}
	// The same statement over other rows takes the first plan's place.
	p = s.preview("delete_rows", del("id > 48"))
	expect("delete_rows previewed")
	db.Exec(t, "INSERT INTO app.item (id, name) VALUES (100, 'x')")
	next := s.preview("delete_rows", del("id > 48"))
	s.call("execute_plan", p.echo()).refused(t, refusal.SupersededPlan)
	want = append(want, "?", "?", "?") // the new plan, the end of the old one, and the call that met it, in any order
	eventually(t, "both rows", func() bool { return len(audit(t, db)) >= len(want) })
	require.Equal(t, 1, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE plan_token = $1 AND status = 'failed' AND error_code = 'SUPERSEDED_PLAN' AND tool = 'delete_rows'", p.Token))
	require.Equal(t, 1, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE plan_token = $1 AND status = 'previewed'", next.Token))
	// Rows that changed.
	db.Exec(t, "UPDATE app.item SET name = 'y' WHERE id = 100")
	s.call("execute_plan", next.echo()).refused(t, refusal.RowsetChanged)
	expect("delete_rows failed ROWSET_CHANGED")
	p = s.preview("delete_rows", del("id = 30"))
	expect("delete_rows previewed")
	expect("delete_rows failed EXPIRED_TOKEN")
	s.call("execute_plan", p.echo()).refused(t, refusal.ExpiredToken)
	expect("execute_plan failed EXPIRED_TOKEN")

	// And what the rows hold.
	require.Equal(t, [][]string{{"the reason", "1", "1", "", "tests", "0"}}, db.Query(t, `SELECT reason, preview_rows, actual_rows, coalesce(approved_by, ''), caller_id, jsonb_array_length(params_redacted)
		FROM mcp_audit.log WHERE status = 'executed' ORDER BY id LIMIT 1`))
	require.Equal(t, [][]string{{"Ada"}, {"Ada"}}, db.Query(t, "SELECT approved_by FROM mcp_audit.log WHERE approved_by IS NOT NULL AND status IN ('approved', 'rejected') ORDER BY id"))
	require.Equal(t, [][]string{{"Ada"}}, db.Query(t, "SELECT DISTINCT approved_by FROM mcp_audit.log WHERE status = 'executed' AND approved_by IS NOT NULL"))
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE ts IS NULL OR duration_ms IS NULL AND tool NOT IN ('approve_plan', 'reject_plan')"))
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('executed', 'previewed') AND blast_radius IS NULL"))
}

// S15: no value of a parameter is in the table, whatever became of the call.
func TestS15NoValueIsRecorded(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{"audit": map[string]any{"reads": true}}})
	const marker = "mArKeR-5317-value"
	m := func(i int) string { return fmt.Sprintf("%s-%d", marker, i) }
	p := s.preview("update_rows", args{"table": "app.item", "set": args{"name": m(1), "doc": args{m(2): []any{m(3)}}}, "where": "id = 1 OR name = $1", "params": []any{m(4)}, "reason": "t"})
	s.execute(p)
	p = s.preview("insert_rows", args{"table": "app.item", "columns": []any{"name", "doc"}, "rows": []any{[]any{m(5), `"` + m(6) + `"`}, []any{m(7), args{"k": m(8)}}}, "reason": "t"})
	s.call("execute_plan", args{"plan_token": p.Token, "statement": p.Statement, "params": []any{m(9)}}).refused(t, refusal.StatementMismatch)
	s.execute(p)
	s.preview("delete_rows", args{"table": "app.item", "where": "name = $1", "params": []any{m(10)}, "reason": "t"})
	for _, failing := range []args{
		{"table": "app.parent", "columns": []any{"id", "name"}, "rows": []any{[]any{1, m(11)}}, "reason": "t"},        // duplicate key: DETAIL holds values
		{"table": "app.item", "columns": []any{"qty", "name"}, "rows": []any{[]any{m(12), "x"}}, "reason": "t"},       // the message holds the value
		{"table": "app.item", "columns": []any{"qty", "name"}, "rows": []any{[]any{-1, m(13)}}, "reason": "t"},        // check: DETAIL holds the row
		{"table": "app.item", "columns": []any{"name", "nope"}, "rows": []any{[]any{m(14), m(15)}}, "reason": "t"},    // never reaches Postgres
		{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{m(16), m(17)}}, "reason": "t"},            // wrong number
		{"table": "app.item", "columns": []any{"name"}, "rows": []any{[]any{m(18)}}, "reason": "t", "unknown": m(19)}, // not decoded
		{"table": "secret.hidden", "columns": []any{"id", "word"}, "rows": []any{[]any{7, m(20)}}, "reason": "t"},     // not writable
	} {
		require.True(t, s.call("insert_rows", failing).isError)
	}
	s.call("query", args{"statement": "SELECT $1::text", "params": []any{m(21)}, "reason": "t"}).ok(t, nil)
	rows := number(t, db, "SELECT count(*) FROM mcp_audit.log")
	require.Greater(t, rows, 10)
	for _, row := range db.Query(t, "SELECT l::text FROM mcp_audit.log l ORDER BY id") {
		require.NotContains(t, row[0], marker)
	}
	require.NotContains(t, s.log(), marker)
	require.Contains(t, fmt.Sprint(db.Query(t, "SELECT params_redacted FROM mcp_audit.log")), `"length"`, "shapes are kept")
}

// S15: the agent cannot switch its record off by what it writes into it.
func TestS15NothingSwitchesTheRecordOff(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"UTF8", "LATIN1"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			o := everyPlanWaits()
			o.config["audit"] = map[string]any{"required": true}
			if encoding == "LATIN1" {
				o.readonly, o.writer = latin1(t, db)
			}
			s := start(t, db, o)
			count := func() int {
				return number(t, db, "SELECT count(*) FROM mcp_audit.log")
			}
			if encoding == "LATIN1" {
				super := withDatabase(t, db.Super, db.Name+"_latin1")
				count = func() int { return numberAt(t, super, "SELECT count(*) FROM mcp_audit.log") }
			}
			for i, nasty := range []string{
				"a\x00b", "\x00", strings.Repeat("x", 1<<20), strings.Repeat("\x00", 10_000), "€ and 😀 and ß and \u202e", "\ufffd\uffff\U0010ffff", "'; DROP TABLE mcp_audit.log; --", "\\", "\\u0000", "\x1b[31m\r\n\t\x7f", strings.Repeat("😀", 20_000),
			} {
				before := count()
				got := s.call("delete_rows", args{"table": "app.item", "where": "id = $1", "params": []any{i + 1}, "reason": "why: " + nasty})
				if strings.Contains(nasty, "\x00") { // Postgres has no place for it, so nothing runs
					got.refused(t, refusal.InvalidInput)
				} else {
					require.False(t, got.isError, "reason %.30q: %s %s", nasty, got.code, got.message)
				}
				require.Equal(t, before+1, count(), "reason %.30q", nasty)
				if got.isError {
					got = s.call("delete_rows", args{"table": "app.item", "where": "id = $1", "params": []any{i + 1}, "reason": "t"})
					before++
				}
				var p preview
				got.ok(t, &p)
				// Whatever is refused is recorded too.
				require.True(t, s.call("delete_rows", args{"table": first(nasty, 5000), "where": first(nasty, 5000), "reason": "why: " + first(nasty, 5000)}).isError)
				require.Equal(t, before+2, count(), "table %.30q", nasty)
				require.True(t, s.call("execute_plan", args{"plan_token": first(nasty, 5000), "statement": first(nasty, 5000), "reason": first(nasty, 5000)}).isError)
				require.Equal(t, before+3, count(), "token %.30q", nasty)
				// A person's words are bounded by the page: 200 and 4,000 characters.
				a := s.post("/api/plans/"+p.Token+"/reject", args{"rejectedBy": first(nasty, 200), "reason": first(nasty, 4000)})
				require.Equal(t, 200, a.status, "%.30q: %s", nasty, a.body)
				require.Equal(t, before+4, count(), "reject reason %.30q", nasty)
			}
			s.approveAndExecute(args{"table": "app.item", "where": "id = $1", "params": []any{40}, "reason": "€😀"})
			// The caller's name is the deployment's, and just as hostile.
			o.env = map[string]string{"SW_CALLER_ID": "caller € 😀 ß"}
			named := start(t, db, o)
			named.approveAndExecute(args{"table": "app.item", "where": "id = $1", "params": []any{41}, "reason": "t"})
		})
	}
}

func first(s string, runes int) string {
	r := []rune(s)
	return string(r[:min(len(r), runes)])
}

func (s *server) approveAndExecute(a args) {
	s.t.Helper()
	p := s.preview("delete_rows", a)
	s.approve(p.Token)
	s.execute(p)
}

func withDatabase(t testing.TB, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Path = "/" + name
	q := u.Query()
	q.Set("client_encoding", "UTF8") // as psql sets it
	u.RawQuery = q.Encode()
	return u.String()
}

func numberAt(t testing.TB, dsn, sql string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	var n int
	require.NoError(t, conn.QueryRow(ctx, sql).Scan(&n))
	return n
}

// latin1 makes a database beside db whose encoding lacks most characters, and returns the
// connection strings of readonly and writer.
func latin1(t testing.TB, db *pgtemp.DB) (readonly, writer string) {
	t.Helper()
	name := db.Name + "_latin1"
	db.Exec(t, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
	t.Cleanup(func() { db.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	super := withDatabase(t, db.Super, name)
	for _, file := range []string{"01_roles.sql", "02_audit.sql"} {
		sql, err := initsql.Files.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, as(t, super, string(sql)), "%s in a LATIN1 database", file)
	}
	require.Empty(t, as(t, super, worldSQL))
	return withDatabase(t, db.Readonly, name), withDatabase(t, db.Writer, name)
}
