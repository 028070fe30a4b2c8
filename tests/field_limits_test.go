package tests

// What people reported of limits, cancelling and the shape of statements (field cases D), as tests. Cases
// that another test holds whole:
//
//	D52 a cap after loading everything: TestS21FiveMillionRows, TestS21WideRowsStopEarly
//	D55 a cancelled request runs on:    TestS17CancelStopsTheStatement, TestCancelBetweenStatements
//	D58 measured plans, D60 long descriptions: the tests of explain_plan and describe_schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// capped is a server that returns at most 10 rows.
func capped(t *testing.T) *server {
	t.Helper()
	db := world(t)
	db.Exec(t, `CREATE TABLE app.nine AS SELECT g AS id, 'row ' || g AS name FROM generate_series(1, 9) g;
		CREATE TABLE app.ten AS SELECT g AS id, 'row ' || g AS name FROM generate_series(1, 10) g;
		CREATE TABLE app.eleven AS SELECT g AS id, 'row ' || g AS name FROM generate_series(1, 11) g;
		GRANT SELECT ON ALL TABLES IN SCHEMA app TO readonly`)
	return start(t, db, options{config: map[string]any{"query": map[string]any{"maxRows": 10}}})
}

// D47: the cap says so exactly when there was more, whichever of the two caps it is.
func TestFieldD47TheCapIsTold(t *testing.T) {
	t.Parallel()
	s := capped(t)
	for table, want := range map[string]struct {
		rows      int
		truncated bool
	}{"nine": {9, false}, "ten": {10, false}, "eleven": {10, true}} {
		for _, a := range []args{{}, {"limit": 10}, {"limit": 11}, {"limit": 1_000_000}} { // the ceiling wins
			a["statement"], a["reason"] = "SELECT * FROM app."+table, "t"
			var got rowsRead
			s.call("query", a).ok(t, &got)
			require.Equal(t, want.rows, got.Count, "%v", a)
			require.Equal(t, want.truncated, got.Truncated, "%v", a)
			require.Equal(t, want.truncated, got.Hint != "", "%v: %s", a, got.Hint)
		}
		for limit := 1; limit <= 11; limit++ {
			got := s.read("SELECT * FROM app."+table, "limit", limit)
			require.Equal(t, min(want.rows, limit), got.Count)
			require.Equal(t, limit < want.rows || want.truncated, got.Truncated, "%s, limit %d", table, limit)
		}
	}
	// An agent's own LIMIT is its business and no truncation.
	require.False(t, s.read("SELECT * FROM app.eleven LIMIT 5").Truncated)
	require.True(t, s.read("SELECT * FROM app.eleven LIMIT 11").Truncated)
	for _, limit := range []any{0, -1, "5", 1.5, true, []any{5}} {
		s.call("query", args{"statement": "SELECT 1", "limit": limit, "reason": "t"}).refused(t, refusal.InvalidArguments)
	}
}

// D48: every form of a read is capped alike, and what is no read is refused by its name.
func TestFieldD48EveryFormIsCapped(t *testing.T) {
	t.Parallel()
	s := capped(t)
	for _, sql := range []string{
		"SELECT * FROM app.eleven", "-- c\nSELECT * FROM app.eleven", "/* c */ SELECT * FROM app.eleven", "/* a /* nested */ */\n\t SELECT * FROM app.eleven",
		"WITH x AS (SELECT * FROM app.eleven) SELECT * FROM x", "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x WHERE n < 11) SELECT * FROM x", "with x as materialized (table app.eleven) table x",
		"(SELECT * FROM app.eleven)", "((SELECT * FROM app.eleven))", "(SELECT id FROM app.eleven) UNION (SELECT 1)", "(SELECT id FROM app.nine) UNION ALL (SELECT id FROM app.nine)", "(SELECT id FROM app.eleven ORDER BY 1) EXCEPT (SELECT 0)",
		"TABLE app.eleven", "(TABLE app.eleven)", "VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11)", "SELECT generate_series(1, 11)", "SELECT * FROM generate_series(1, 11)", "SELECT unnest(ARRAY[1,2,3,4,5,6,7,8,9,10,11])",
		"SELECT * FROM app.eleven ORDER BY id DESC", "SELECT id, count(*) FROM app.eleven GROUP BY id", "SELECT DISTINCT id FROM app.eleven", "SELECT * FROM app.eleven LIMIT ALL", "SELECT * FROM app.eleven LIMIT NULL OFFSET 0", "SELECT * FROM app.eleven FETCH FIRST 11 ROWS ONLY",
		"SELECT * FROM app.eleven LIMIT 11 -- 5", "SELECT * FROM app.eleven WHERE name <> 'limit 5'", "SELECT sum(id) OVER (ORDER BY id) FROM app.eleven", "SELECT a.id FROM app.eleven a JOIN app.eleven b USING (id)", "SELECT * FROM app.eleven;",
	} {
		got := s.read(sql)
		require.Equal(t, 10, got.Count, sql)
		require.True(t, got.Truncated, sql)
		require.Len(t, s.read(sql, "limit", 3).Rows, 3, sql)
	}
	for _, sql := range []string{"SHOW work_mem", "show all", "-- c\nSHOW work_mem", "EXPLAIN SELECT 1", "FETCH ALL FROM sw_c", "EXECUTE x", "CHECKPOINT", "VALUES (1) FOR UPDATE"} {
		r := s.call("query", args{"statement": sql, "reason": "t"})
		require.True(t, r.isError, sql)
		require.NotEmpty(t, r.hint)
	}
	s.call("query", args{"statement": "SHOW work_mem", "reason": "t"}).refused(t, refusal.NotSelect)
	for _, sql := range []string{"", " ", "-- nothing", "/* */", ";", " ; ; "} {
		s.call("query", args{"statement": sql, "reason": "t"}).refused(t, refusal.EmptyStatement)
	}
}

// D49: whatever stands at the end of a text, the limit holds.
func TestFieldD49WhatStandsAtTheEnd(t *testing.T) {
	t.Parallel()
	s := capped(t)
	for _, end := range []string{
		"", " -- top", "-- top", " -- top\n", " -- )", " --", " /* top */", " /* top */ -- top", " /* ; */", ";", " ;", "; -- x", ";--x", "; /* x */", "\n;\n-- x\n", "\t;\r\n", " -- c\r\n;", " -- LIMIT 2", "/* a /* b */ c */;",
	} {
		got := s.read("select name from app.ten"+end, "limit", 5)
		require.Equal(t, 5, got.Count, "%q", end)
		require.True(t, got.Truncated, "%q", end)
		got = s.read("select name from app.ten where name <> $1"+end, "limit", 5, "params", []any{"x"})
		require.Equal(t, 5, got.Count, "%q with a parameter", end)
		var plan struct {
			Rows json.Number `json:"rows"`
		}
		s.call("explain_plan", args{"statement": "select name from app.ten" + end, "reason": "t"}).ok(t, &plan)
		// The condition of a write is such a text too.
		r := s.call("delete_rows", args{"table": "app.item", "where": "id = 1" + end, "reason": "t"})
		if strings.Contains(strings.NewReplacer("/* ; */", "").Replace(end), ";") {
			r.refused(t, refusal.InvalidInput)
			continue
		}
		var p preview
		r.ok(t, &p)
		require.EqualValues(t, 1, p.Affected, "%q", end)
	}
	for _, sql := range []string{"select name, $$x$$ as d from app.ten where name <> $$--$$", "select name from app.ten where name <> $q$ ; $q$", "select name from app.ten where name <> ' -- '", "select name as \"--\" from app.ten", "select name from app.ten where $1 = $$;$$"} {
		a := args{"statement": sql, "limit": 5, "reason": "t"}
		if strings.Contains(sql, "$1") {
			a["params"] = []any{";"}
		}
		var got rowsRead
		s.call("query", a).ok(t, &got)
		require.Equal(t, 5, got.Count, sql)
	}
	for _, sql := range []string{"select 1 /* open", "select 'open", "select $$open", `select "open`, "select 1 -- c\n)", "select (1"} {
		s.call("query", args{"statement": sql, "reason": "t"}).refused(t, refusal.InvalidInput)
	}
}

// D51: a semicolon at the end, or inside of a literal, is no second statement; a second statement is.
func TestFieldD51Semicolons(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{})
	for sql, want := range map[string]string{
		"select 1 as x;": "1", "select ';' as x": ";", "select $$;$$ as x": ";", "select 1 as x ; ; ": "1", "select 1 as x;;;": "1", "select 1 as x; -- c\n ; /* d */ ;": "1", ";select 1 as x": "1", "; ; select ';' as x ;": ";",
		`select E'\';' as x`: "';", `select 1 as x -- ; select 2`: "1", `select /* ; select 2 */ 1 as x`: "1", `select ';' || $t$;select 2;$t$ as x`: ";;select 2;", `select U&'\003b' as x`: ";",
	} {
		got := s.read(sql)
		require.Len(t, got.Rows, 1, sql)
		require.Equal(t, want, fmt.Sprint(got.Rows[0]["x"]), sql)
		s.call("explain_plan", args{"statement": sql, "reason": "t"}).ok(t, nil)
	}
	require.Len(t, s.read(`select 1 as ";"`).Rows, 1)
	for _, sql := range []string{"select 1; select 2", "select 1; ; select 2", "select ';'; select 2;", "select 1; -- c\nselect 2", "select $$;$$; commit", "select 1;\ufeffselect 2"} {
		for _, tool := range []string{"query", "explain_plan", "run_migration"} {
			s.call(tool, args{"statement": sql, "reason": "t"}).refused(t, refusal.MultiStatement, refusal.InvalidInput)
		}
	}
	s.call("query", args{"statement": "select 1; select 2", "reason": "t"}).refused(t, refusal.MultiStatement)
	for _, end := range []string{";", " ; ; ", "; -- x"} {
		p := s.preview("run_migration", args{"statement": "CREATE TABLE app.semi (id integer)" + end, "reason": "t"})
		require.NotContains(t, p.Statement, ";")
		s.reject(p.Token, "next")
	}
}

// D54: what is too big is answered with less of it and says so; no line of stdout is longer than what the
// limits allow.
func TestFieldD54TooBig(t *testing.T) {
	t.Parallel()
	db := world(t)
	db.Exec(t, `CREATE TABLE app.big AS SELECT g AS id, repeat('x', 200000) AS word FROM generate_series(1, 20) g;
		CREATE TABLE app.giant AS SELECT 1 AS id, repeat('y', 30000000) AS word, 'short' AS s;
		CREATE TABLE app.blob AS SELECT decode(repeat('ff', 300000), 'hex') AS b, array_fill('z'::text, ARRAY[100000]) AS many, to_jsonb(repeat('j', 300000)) AS j, xmlparse(content repeat('k', 300000)) AS x;
		GRANT SELECT ON ALL TABLES IN SCHEMA app TO readonly, writer; GRANT UPDATE, DELETE ON app.big, app.giant TO writer`)
	s := start(t, db, options{})
	got := s.read("SELECT * FROM app.big")
	require.True(t, got.Truncated)
	require.Greater(t, got.Count, 5)
	require.Less(t, got.Count, 20)
	require.Contains(t, got.Hint, "word", "the column that was cut")
	require.Contains(t, got.Hint, "query.maxBytes")
	for _, row := range got.Rows {
		require.Regexp(t, `^x+… \(200000 bytes\)$`, row["word"])
	}
	got = s.read("SELECT * FROM app.giant")
	require.Equal(t, 1, got.Count)
	require.False(t, got.Truncated, "it is the only row")
	require.Contains(t, got.Rows[0]["word"], "… (30000000 bytes)")
	require.Equal(t, "short", got.Rows[0]["s"])
	got = s.read("SELECT * FROM app.blob")
	require.Equal(t, 1, got.Count)
	for _, column := range []string{"b", "many", "j", "x"} {
		require.Contains(t, got.Hint, column)
		require.Regexp(t, `… \(\d+ bytes\)$`, got.Rows[0][column], column)
	}
	// More than one message may hold at all is a refusal that says what to do.
	r := s.call("query", args{"statement": "SELECT repeat('x', 100000000)", "reason": "t"})
	r.refused(t, refusal.QueryFailed)
	require.Contains(t, r.message+r.hint, "64 MB")
	require.Contains(t, r.hint, "left(")
	// Previews show big rows too.
	for _, table := range []string{"app.big", "app.giant"} {
		s.preview("delete_rows", args{"table": table, "where": "id = 1", "reason": "t"})
		s.preview("update_rows", args{"table": table, "set": args{}, "set_expressions": args{"word": "word || 'z'"}, "where": "id = 1", "reason": "t"})
	}
	require.LessOrEqual(t, len(s.get("/api/plans?all=1").body), 4<<20)
	s.finish()
	for _, line := range s.stdout {
		require.LessOrEqual(t, len(line), 6<<20, "twice the bytes, since text and structuredContent are equal, and escapes")
	}
}

// D57: reading, writing and waiting for a lock have a setting each, and the refusal names the one.
func TestFieldD57TimeoutsAreSettings(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{
		"query": map[string]any{"statementTimeoutMs": 200}, "write": map[string]any{"statementTimeoutMs": 4000, "lockTimeoutMs": 700},
	}})
	slow := []string{
		"SELECT pg_sleep(10)", "SELECT g, pg_sleep(0.05) FROM generate_series(1, 1000) g", "SELECT count(*) FROM generate_series(1, 1000000000)", "WITH x AS MATERIALIZED (SELECT pg_sleep(10)) SELECT 1 FROM x",
	}
	for _, sql := range slow {
		r := s.call("query", args{"statement": sql, "reason": "t"})
		r.refused(t, refusal.StatementTimeout)
		require.Contains(t, r.message, "query.statementTimeoutMs", sql)
		require.Contains(t, r.hint, "query.statementTimeoutMs", sql)
	}
	require.Zero(t, s.running("FETCH"))
	// What is too long for a read is not for a write.
	require.EqualValues(t, 1, s.preview("delete_rows", args{"table": "app.item", "where": "id = 2 AND (SELECT count(pg_sleep(0.4))) = 1", "reason": "t"}).Affected)
	r := s.call("delete_rows", args{"table": "app.item", "where": "id = 2 AND pg_sleep(30) IS NOT NULL", "reason": "t"})
	r.refused(t, refusal.StatementTimeout)
	require.Contains(t, r.message, "write.statementTimeoutMs")
	require.NotContains(t, r.message, "query.")
	release := locked(t, db)
	r = s.call("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"})
	release()
	r.refused(t, refusal.LockTimeout)
	require.Contains(t, r.message, "write.lockTimeoutMs")
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
	// By the environment as well, and it is in force there.
	from := time.Now()
	short := start(t, db, options{env: map[string]string{"SW_QUERY_STATEMENT_TIMEOUT_MS": "150"}})
	short.call("query", args{"statement": "SELECT pg_sleep(60)", "reason": "t"}).refused(t, refusal.StatementTimeout)
	require.Less(t, time.Since(from), 30*time.Second)
}

// D6: what a session would keep is gone before the next call, on every connection, even where the operator
// allowed a function that does it.
func TestFieldD6NothingStaysInTheSession(t *testing.T) {
	t.Parallel()
	db := world(t)
	db.Exec(t, `CREATE FUNCTION app.stays() RETURNS text LANGUAGE plpgsql VOLATILE AS $$ BEGIN
		PERFORM pg_advisory_lock(1), pg_advisory_lock(2, 3), pg_advisory_lock_shared(4);
		PERFORM set_config('default_transaction_read_only', 'off', false), set_config('search_path', 'secret', false), set_config('statement_timeout', '0', false), set_config('own.note', 'left', false);
		EXECUTE 'PREPARE left_behind AS SELECT 1';
		RETURN current_setting('search_path') || current_setting('own.note'); END $$;
		GRANT EXECUTE ON FUNCTION app.stays() TO readonly, writer`)
	s := start(t, db, options{config: map[string]any{
		"query": map[string]any{"allowFunctions": []string{"app.stays", "current_setting"}}, "database": map[string]any{"migrationRole": "migrator", "maxConnections": 2},
	}})
	for range 3 { // a second PREPARE of that name would fail
		require.Equal(t, "secretleft", s.read("SELECT app.stays() AS x").Rows[0]["x"])
		now := s.read("SELECT current_setting('default_transaction_read_only') AS ro, current_setting('search_path') AS path, coalesce(current_setting('own.note', true), '') AS note").Rows[0]
		require.Equal(t, map[string]any{"ro": "on", "path": `"$user", public`, "note": ""}, now)
		require.Zero(t, number(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"))
	}
	// In a preview it changes the session under the statement, and that is refused.
	s.call("delete_rows", args{"table": "app.item", "where": "id = 1 AND app.stays() <> ''", "reason": "t"}).refused(t, refusal.WriteFailed)
	require.Zero(t, number(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"))
	s.preview("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"})
	// Without that allowance none of it begins.
	strict := start(t, db, options{})
	for _, sql := range []string{"SELECT pg_advisory_lock(1)", "SELECT set_config('default_transaction_read_only', 'off', false)", "SELECT app.stays()"} {
		strict.call("query", args{"statement": sql, "reason": "t"}).refused(t, refusal.FunctionNotAllowed)
	}
}

// D7: READ ONLY lets NOTIFY and more of its kind pass; query takes what is like a SELECT and nothing else.
func TestFieldD7OnlySelect(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{})
	for _, sql := range []string{
		"NOTIFY x", "notify x, 'y'", "LISTEN x", "UNLISTEN *", "SHOW work_mem", "SET work_mem = '1MB'", "SET LOCAL work_mem = '1MB'", "RESET work_mem", "DISCARD PLANS", "PREPARE x AS SELECT 1", "EXECUTE x", "DEALLOCATE x",
		"DECLARE c CURSOR FOR SELECT 1", "FETCH c", "MOVE c", "CLOSE c", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "SET CONSTRAINTS ALL DEFERRED", "LOCK TABLE app.item IN ACCESS SHARE MODE", "CHECKPOINT", "LOAD 'plpgsql'", "EXPLAIN SELECT 1", "DO 'BEGIN END'", "CALL app.x()", "COPY app.item TO STDOUT",
		"/* SELECT */ NOTIFY x", "-- SELECT 1\nNOTIFY x", "(NOTIFY x)",
	} {
		for _, tool := range []string{"query", "explain_plan"} {
			r := s.call(tool, args{"statement": sql, "reason": "t"})
			if sql == "(NOTIFY x)" {
				r.refused(t, refusal.InvalidInput)
				continue
			}
			r.refused(t, refusal.NotSelect)
			require.NotEmpty(t, r.hint, sql)
		}
	}
	s.call("query", args{"statement": "SELECT pg_notify('x', 'y')", "reason": "t"}).refused(t, refusal.FunctionNotAllowed)
}
