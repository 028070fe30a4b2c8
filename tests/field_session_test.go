package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// leaves are what a function of the database may leave in the session that calls it, past the end of the
// transaction. Each is a body in plpgsql.
var leaves = map[string]string{
	"an advisory lock":      "PERFORM pg_advisory_lock(7)",
	"a shared lock":         "PERFORM pg_advisory_lock_shared(7, 8)",
	"a prepared statement":  "EXECUTE 'PREPARE left_' || (random() * 1e9)::int || ' AS SELECT 1'",
	"a LISTEN":              "EXECUTE 'LISTEN left_here'",
	"a temporary table":     "EXECUTE 'CREATE TEMPORARY TABLE left_over_table (id int)'",
	"a cursor WITH HOLD":    "EXECUTE 'DECLARE left_' || (random() * 1e9)::int || ' CURSOR WITH HOLD FOR SELECT 1'",
	"a setting of its own":  "PERFORM set_config('own.note', 'left', false)",
	"a setting of Postgres": "PERFORM set_config('work_mem', '77MB', false)",
	"a role":                "PERFORM set_config('role', 'none', false)",
}

// D6, for each pool: whatever a trigger or a function leaves in a session is not there for the next call, which
// gets the same connection: after a read, after a preview, and after a commit.
func TestFieldD6NothingStaysPerPool(t *testing.T) {
	t.Parallel()
	for what, body := range leaves {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			db.Exec(t, fmt.Sprintf(`
				CREATE FUNCTION app.leaves() RETURNS int LANGUAGE plpgsql AS $$ BEGIN %s; RETURN 1; END $$;
				CREATE FUNCTION app.on_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.leaves(); RETURN NULL; END $$;
				CREATE TABLE app.leaky (id int PRIMARY KEY, v text); INSERT INTO app.leaky VALUES (1, ''), (2, '');
				CREATE TRIGGER leaky AFTER UPDATE ON app.leaky FOR EACH STATEMENT EXECUTE FUNCTION app.on_change();
				CREATE TABLE app.looked (id int PRIMARY KEY, v text); INSERT INTO app.looked VALUES (1, ''), (2, '');
				CREATE FUNCTION app.left_over() RETURNS text LANGUAGE sql STABLE AS $$ SELECT pg_backend_pid() || ':' || coalesce(string_agg(x, ', '), '') FROM (
					SELECT 'a setting ' || name FROM pg_settings WHERE source = 'session' AND name = 'work_mem' AND setting = '78848'
					UNION ALL SELECT 'own.note' WHERE coalesce(current_setting('own.note', true), '') <> ''
					UNION ALL SELECT 'prepared ' || name FROM pg_prepared_statements WHERE name LIKE 'left%%'
					UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE name LIKE 'left%%'
					UNION ALL SELECT 'listens ' || c FROM pg_listening_channels() c
					UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objid IN (7, 8) AND mode LIKE '%%Lock'
					UNION ALL SELECT 'temporary ' || relname FROM pg_class WHERE relnamespace = pg_my_temp_schema()) y(x) $$;
				GRANT SELECT, INSERT, UPDATE, DELETE ON app.leaky, app.looked TO writer`, body))
			s := start(t, db, options{config: map[string]any{
				"query":    map[string]any{"allowFunctions": []string{"app.leaves", "app.left_over"}},
				"database": map[string]any{"migrationRole": "migrator", "maxConnections": 2},
				"write":    map[string]any{"maxOpenPlans": 200},
			}})
			// Two calls at a time, until each connection of the pool was looked into.
			look := func(begin func(id int) *pending, left func(r reply) string) {
				t.Helper()
				seen := map[string]bool{}
				eventually(t, "both connections of a pool are used", func() bool {
					for _, call := range []*pending{begin(1), begin(2)} {
						pid, what, _ := strings.Cut(left(call.reply()), ":")
						require.Empty(t, what)
						seen[pid] = true
					}
					return len(seen) >= 2
				})
			}
			n := 0
			clean := func() {
				t.Helper()
				look(func(int) *pending {
					return s.begin("query", args{"statement": "SELECT app.left_over() AS x, pg_sleep(0.2)", "reason": "t"})
				}, func(r reply) string {
					var q struct{ Rows []struct{ X string } }
					r.ok(t, &q)
					return q.Rows[0].X
				})
				look(func(id int) *pending {
					n++ // a statement of its own, since the same one joins its plan and shows what that saw
					return s.begin("update_rows", args{"table": "app.looked", "set": args{}, "set_expressions": args{"v": "app.left_over() || left(pg_sleep(0.2)::text, 0)"}, "where": "id = $1 AND $2::int > 0", "params": []any{id, n}, "reason": "t"})
				}, func(r reply) string {
					var p struct {
						Sample []struct{ V string } `json:"sample_rows"`
					}
					r.ok(t, &p)
					return p.Sample[0].V
				})
			}
			if what != "a role" { // the superuser's is its own
				conn, err := pgx.Connect(t.Context(), db.Super)
				require.NoError(t, err)
				_, err = conn.Exec(t.Context(), "SELECT app.leaves()")
				require.NoError(t, err)
				var found string
				require.NoError(t, conn.QueryRow(t.Context(), "SELECT app.left_over()").Scan(&found))
				require.Regexp(t, "^[0-9]+:.", found, "what looks for it must find it")
				require.NoError(t, conn.Close(t.Context()))
			}
			reading := "" // LISTEN and a table cannot come of a READ ONLY transaction
			if what == "a temporary table" {
				reading = "25006"
			}
			for range 3 {
				r := s.call("query", args{"statement": "SELECT app.leaves()", "reason": "t"})
				require.Equal(t, reading != "", r.isError, "%s", r.message)
				require.Contains(t, r.message, reading)
			}
			clean()
			r := s.call("update_rows", args{"table": "app.leaky", "set": args{"v": "x"}, "where": "id = 1", "reason": "t"})
			clean()
			require.False(t, r.isError, "%s", r.message)
			var p preview
			r.ok(t, &p)
			if p.Status == "awaiting_approval" {
				s.approve(p.Token)
			}
			s.call("execute_plan", p.echo()).ok(t, nil)
			clean()
		})
	}
}
