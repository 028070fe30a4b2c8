package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// hostile are texts that would end a transaction, begin another statement, or write, if anything
// ran them as they are.
var hostile = []string{
	";", "; COMMIT", "COMMIT", "commit work", "ROLLBACK", "END", "ABORT", "END; DELETE FROM app.item",
	"PREPARE TRANSACTION 'x'", "COMMIT PREPARED 'x'", "SAVEPOINT a", "RELEASE a", "BEGIN", "START TRANSACTION", "SET TRANSACTION READ WRITE",
	"1=1; COMMIT; DROP TABLE app.item", "1=1); COMMIT; --", "1=1) ; delete from app.item; --", "select 1) ; delete from app.item",
	"true) RETURNING *), x AS (DELETE FROM app.item RETURNING *) SELECT 1 --",
	"/**/ select 1; create table app.x()", "-- c\ncommit", "-- c\rcommit", "/* a /* nested */ */ commit", "select 1 /* ; */; commit",
	"\uFEFFcommit", "\uFEFFselect 1; commit", "\u00a0commit", "commit\u2028", "select 1\x00; commit",
	"$$;$$; commit", "$a$ $a$; drop table app.item; $a$ $a$", "select $x$;$x$; commit", `select E'\'; commit; --'`, `select '\'; commit; --'`,
	`U&"x"; commit`, `select U&'\0027'; commit`, "select 1 \\; commit", "\\commit", "select 1\\g\ncommit",
	"DO $$BEGIN DELETE FROM app.item; END$$", "DO $$BEGIN COMMIT; END$$", "CALL app.nothing()", "prepare p as delete from app.item", "EXECUTE p", "DEALLOCATE ALL",
	"SET SESSION AUTHORIZATION postgres", "RESET ROLE", "SET ROLE migrator", "SET search_path = secret", "DISCARD ALL",
	"COPY app.item FROM STDIN", "COPY app.item TO STDOUT", "COPY app.item TO PROGRAM 'true'", "COPY (DELETE FROM app.item RETURNING *) TO STDOUT",
	"WITH d AS (DELETE FROM app.item RETURNING *) SELECT * FROM d", "SELECT * INTO app.stolen FROM app.item", "CREATE TABLE app.x AS SELECT 1",
	"create table app.x()", "DROP TABLE app.item", "TRUNCATE app.item", "DELETE FROM app.item", "INSERT INTO app.item (name) VALUES ('x')",
	"EXPLAIN ANALYZE DELETE FROM app.item", "analyze delete from app.item", "(analyze) delete from app.item", "ANALYZE app.item", "VACUUM", "REINDEX TABLE app.item", "CLUSTER app.item",
	"LOCK TABLE app.item", "NOTIFY x", "LISTEN x", "CHECKPOINT", "LOAD 'x'", "ALTER SYSTEM SET work_mem = '1MB'", "CREATE DATABASE x", "REFRESH MATERIALIZED VIEW app.m",
	"DECLARE c CURSOR WITH HOLD FOR SELECT 1", "FETCH 1 FROM sw_c", "CLOSE sw_c", "MERGE INTO app.item i USING app.parent p ON i.id = p.id WHEN MATCHED THEN DELETE",
	"select setval('app.counter', 99)", "select nextval('app.counter')", "select lo_create(424242)", "select lo_from_bytea(424243, 'x')", "select pg_advisory_lock(1)",
	"select set_config('role', 'migrator', false)", "select pg_notify('x', 'y')", "select app.boom()", "select app.quiet_boom()", "app.boom() = 1", "app.quiet_boom() = 1",
	"setval('app.counter', 99) > 0", "lo_create(424244) > 0", "(select count(*) from app.boom()) > 0", "pg_advisory_lock(2) is null",
	"app.item; commit", "app.item WHERE true; --", `app."item"; commit; --"`, `app.item" ; commit; --`, "app.item, app.parent", "app.item USING app.parent", "ONLY app.item",
	"app.item AS t", "app.item -- x", "(SELECT * FROM app.item)", "app.item RETURNING *", "name) VALUES ('a'), ('b'); commit; --", "name = name, qty", "DEFAULT; commit", "name FROM app.parent",
	"(SELECT 1); commit", "'", `"`, "$$", `\`, "/*", "--", "id = 1 ; ;", "id = 1 --", "id = 1 /*", "id = $1 OR true", "true", "1=1 OR", ")", "(", "",
}

// S02: whatever an agent puts into whichever argument of whichever tool, nothing commits, and
// nothing of it goes out by the protocol that would run more than one statement.
func TestS02NothingCommitsExceptThroughExecutePlan(t *testing.T) {
	t.Parallel()
	for _, r := range matrix {
		t.Run(r.tool, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			proxy := newProxy(t, db)
			s := start(t, db, proxy.proxied(db, options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 10000, "statementTimeoutMs": 2000}}}))
			before := snapshot(t, db)
			for _, p := range r.places {
				for _, text := range hostile {
					s.call(r.tool, p.with(text))
				}
				s.idle()
				require.Equal(t, before, snapshot(t, db), "%s: a text in %s changed the database", r.tool, p.name)
			}
			require.Zero(t, executedRows(t, db, ""))
			require.Equal(t, [][]string{{"1", "f"}}, db.Query(t, "SELECT last_value, is_called FROM app.counter"), "a sequence was set")
			if r.tool != "execute_plan" || len(proxy.frames()) > 0 {
				proxy.noSimpleProtocol()
			}
		})
	}
}

// S02, by the shape of the arguments: what is not exactly what the tool takes is refused before
// anything looks at it, and a yes is only a JSON true.
func TestS02OddArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 10000}}})
	before := snapshot(t, db)
	for _, r := range matrix {
		sound, err := json.Marshal(r.sound())
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(sound, &fields))
		inner := strings.TrimSuffix(strings.TrimPrefix(string(sound), "{"), "}")
		comma := ","
		if inner == "" {
			comma = ""
		}
		wrong := []string{
			`[]`, `"x"`, `42`, `true`, `[` + string(sound) + `]`,
			`{` + inner + comma + `"nobody_knows_this":1}`, `{` + inner + comma + `"Reason":"x"}`, `{` + inner + comma + `"":""}`,
		}
		for name, value := range fields {
			wrong = append(wrong,
				fmt.Sprintf(`{%s,%q:%s}`, inner, name, value),                  // twice
				fmt.Sprintf(`{%s,%q:%s}`, inner, strings.ToUpper(name), value), // in other letters
				strings.Replace(string(sound), fmt.Sprintf("%q:%s", name, value), fmt.Sprintf("%q:%s", name, "false"), 1),
			)
		}
		for _, name := range append([]string{"limit", "confirm_full_table"}, slices.Collect(maps.Keys(fields))...) {
			if _, has := fields[name]; !has && slices.Contains(r.plain, name) {
				for _, v := range []string{`"true"`, `"5"`, `1.5`, `-1`, `[]`, `{}`, `"yes"`, `1e400`} {
					wrong = append(wrong, fmt.Sprintf(`{%s,%q:%s}`, inner, name, v))
				}
			}
		}
		for _, w := range wrong {
			m := s.request("tools/call", map[string]any{"name": r.tool, "arguments": json.RawMessage(w)}).wait()
			got, complaint := readReply(m)
			require.Empty(t, complaint, "%s %s", r.tool, w)
			require.True(t, got.isError, "%s took %s: %s", r.tool, w, got.text)
			if got.rpc == nil {
				require.Equal(t, string(refusal.InvalidArguments), got.code, "%s %s: %s", r.tool, w, got.message)
			}
		}
		// Required fields, one by one.
		for name := range fields {
			without := r.sound()
			delete(without, name)
			got := s.call(r.tool, without)
			switch {
			case name == "reason" && r.tool != "describe_schema" && r.tool != "execute_plan":
				got.refused(t, refusal.MissingReason)
			case name == "params":
				got.refused(t, refusal.InvalidInput)
			case name == "where":
				require.True(t, got.isError, "%s without where: %s", r.tool, got.text)
			default:
				got.refused(t, refusal.InvalidArguments)
			}
		}
	}
	require.Equal(t, before, snapshot(t, db))
	require.Zero(t, executedRows(t, db, ""))
}

// A write to every row asks for a yes that is no string and no number.
func TestS02WholeTableNeedsAYes(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{})
	for _, where := range []string{"", " ", "true", "1=1", "NOT false", "/* all */ true", "TRUE OR id = 1", "'a' = 'a'"} {
		for _, tool := range []string{"delete_rows", "update_rows"} {
			a := args{"table": "app.item", "where": where, "reason": "t"}
			if tool == "update_rows" {
				a["set"] = args{"qty": 1}
			}
			s.call(tool, a).refused(t, refusal.NoWhereClause)
			for _, yes := range []any{"true", 1, "yes", []any{true}} {
				a["confirm_full_table"] = yes
				s.call(tool, a).refused(t, refusal.InvalidArguments)
			}
			a["confirm_full_table"] = true
			require.EqualValues(t, 50, s.preview(tool, a).Affected)
		}
	}
}
