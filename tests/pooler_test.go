//go:build pooler && unix

package tests

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// What goes wrong behind a pooler: a prepared statement that is not there, a message out of place, one
// that is there already (PostgreSQL manual, appendix A).
var poolerFaults = []string{"26000", "08P01", "42P05"}

// mixed is what the clients do, and what of it must be in the database.
type mixed struct {
	mu       sync.Mutex
	executed []string // tokens
}

// call is one client's work, of the kind that its number says.
func (m *mixed) call(t *testing.T, db *pgtemp.DB, s *server, n int) {
	ok := func(tool string, a args) {
		s.patient(tool, a).ok(t, nil)
	}
	write := func(r row, n int) {
		var p preview
		s.patient(r.tool, r.write.args(n)).ok(t, &p)
		if p.Status == "awaiting_approval" {
			s.approve(p.Token)
		}
		s.patient("execute_plan", p.echo()).ok(t, nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.executed = append(m.executed, p.Token)
	}
	switch n % 10 {
	case 0:
		ok("query", args{"statement": "SELECT count(*) FROM app.parent WHERE grp = $1", "params": []any{n}, "reason": "t"})
	case 1:
		ok("describe_schema", args{"table": "app.item"})
	case 2:
		ok("explain_plan", args{"statement": "SELECT * FROM app.item WHERE id = $1", "params": []any{n}, "reason": "t"})
	case 3, 4, 5, 6:
		for _, r := range writers()[n%10-3:][:1] {
			write(r, n)
		}
	case 7:
		r := s.patient("query", args{"statement": "SELECT 1 / (count(*) - count(*)) FROM app.item", "reason": "t"})
		r.refused(t, refusal.QueryFailed)
	case 8: // what stays in a session unless it is taken back
		ok("query", args{"statement": "SELECT app.leaks(" + strconv.Itoa(n) + ")", "reason": "t"})
		ok("update_rows", args{"table": "app.item", "set": args{"name": "x"}, "where": "id = 50 AND app.leaks($1) > 0", "params": []any{n}, "reason": "t"})
	case 9: // a client that gives up
		p := s.begin("query", args{"statement": "SELECT pg_sleep(30)", "reason": "t"})
		eventually(t, "it runs", func() bool {
			return p.answered() || number(t, db, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'FETCH%' AND datname = current_database()") > 0
		})
		p.cancel()
	}
}

// patient calls again where all connections are in use or another migration is rehearsed, as the hints say.
func (s *server) patient(tool string, a args) reply {
	s.t.Helper()
	for {
		if r := s.call(tool, a); r.code != string(refusal.TooBusy) && r.code != string(refusal.MigrationBusy) {
			return r
		}
	}
}

// S18 and field case 41: 50 clients at once on two connections per role. Nothing goes wrong, and nothing of what
// one did is there for the next.
func TestPoolerMixedCalls(t *testing.T) {
	t.Parallel()
	for mode, connections := range map[string]int{"transaction": 10, "session": 2} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			db.Exec(t, `CREATE FUNCTION app.leaks(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
				PERFORM pg_advisory_lock_shared(n), set_config('work_mem', '77MB', false);
				EXECUTE 'PREPARE leak_' || n || '_' || (random() * 1e9)::int || ' AS SELECT 1';
				RETURN 1; END $$`)
			b := newBouncer(t, db, mode)
			s := b.serve(t, options{config: map[string]any{
				"database": map[string]any{"maxConnections": connections},
				"query":    map[string]any{"statementTimeoutMs": 60_000, "allowFunctions": []string{"app.leaks"}},
			}})
			var m mixed
			var all sync.WaitGroup
			for n := range 50 {
				all.Go(func() { m.call(t, db, s, n) })
			}
			all.Wait()
			require.Len(t, m.executed, 20)
			for _, token := range m.executed {
				require.Equal(t, 1, executedRows(t, db, token), token)
			}
			for _, fault := range poolerFaults {
				require.NotContains(t, s.log()+b.logged(t), fault)
			}
			s.finish()
			b.nothingLeaked(t)
		})
	}
}

// An execute on a snapshot that wrote to more than its target looks over a second connection before it commits.
// However many there are at once, the pooler's two are enough.
func TestPoolerSnapshotsTakeTurns(t *testing.T) {
	t.Parallel()
	const plans = 6
	db := world(t)
	db.Exec(t, `INSERT INTO app.audited SELECT n, 0 FROM generate_series(1001, 1006) n;
		CREATE FUNCTION app.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END $$;
		CREATE TRIGGER slow AFTER UPDATE ON app.audited FOR EACH STATEMENT EXECUTE FUNCTION app.slow()`)
	b := newBouncer(t, db, "transaction")
	s := b.serve(t, options{})
	var made []preview
	for n := range plans {
		var p preview
		s.patient("update_rows", args{"table": "app.audited", "set": args{"v": 5}, "where": fmt.Sprintf("id IN (SELECT $1::int FROM app.item WHERE id = %d)", n+1), "params": []any{1001 + n}, "reason": "t"}).ok(t, &p)
		require.Greater(t, p.Radius.Total, p.Affected, "the trigger writes elsewhere")
		made = append(made, p)
	}
	var all sync.WaitGroup
	for _, p := range made {
		all.Go(func() { s.patient("execute_plan", p.echo()).ok(t, nil) })
	}
	all.Wait()
	for _, p := range made {
		require.Equal(t, 1, executedRows(t, db, p.Token))
	}
}

// nothingLeaked looks into every connection that the pooler has to Postgres.
func (b *bouncer) nothingLeaked(t *testing.T) {
	t.Helper()
	const look = `SELECT 'setting ' || name || ' = ' || setting FROM pg_catalog.pg_settings WHERE source = 'session'
			AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings', 'transaction_isolation', 'transaction_read_only', 'transaction_deferrable')
		UNION ALL SELECT 'role ' || current_user WHERE current_user <> session_user
		UNION ALL SELECT 'prepared statement ' || name FROM pg_catalog.pg_prepared_statements WHERE name <> ''
		UNION ALL SELECT 'cursor ' || name FROM pg_catalog.pg_cursors WHERE name <> ''
		UNION ALL SELECT 'listens to ' || c FROM pg_catalog.pg_listening_channels() c
		UNION ALL SELECT 'advisory lock ' || objid FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid()
		UNION ALL SELECT 'temporary ' || relname FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema()`
	ctx := t.Context()
	for _, raw := range []string{b.db.Readonly, b.db.Writer} {
		pids := map[string]bool{}
		var open []*pgconn.PgConn
		for range 2 { // both open at once, so that each has one of the two
			c, err := pgconn.Connect(ctx, b.through(t, raw))
			require.NoError(t, err)
			open = append(open, c)
			results, err := c.Exec(ctx, "BEGIN; SELECT pg_backend_pid(); "+look).ReadAll()
			require.NoError(t, err)
			pids[string(results[1].Rows[0][0])] = true
			for _, row := range results[2].Rows {
				t.Errorf("left in a connection of the pooler (S18): %s", row[0])
			}
		}
		require.Len(t, pids, 2)
		for _, c := range open {
			_, err := c.Exec(ctx, "ROLLBACK").ReadAll()
			require.NoError(t, err)
			require.NoError(t, c.Close(context.WithoutCancel(ctx)))
		}
	}
}

// S14 behind a pooler: a COMMIT whose answer is lost is looked up under the token's lock, in a transaction of
// its own, on whatever connection that is.
func TestPoolerLostCommitIsLookedUp(t *testing.T) {
	t.Parallel()
	r := writers()[0]
	for _, mode := range []string{"transaction", "session"} {
		for _, c := range crashes {
			t.Run(mode+", cut "+c.name, func(t *testing.T) {
				t.Parallel()
				db := world(t)
				b := newBouncer(t, db, mode)
				proxy := newProxy(t, db)
				proxy.mu.Lock()
				proxy.target = net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port))
				proxy.mu.Unlock()
				s := start(t, nil, options{
					readonly: proxy.through(db.Readonly), writer: proxy.through(db.Writer),
					config: map[string]any{"database": map[string]any{"maxConnections": 2}},
				})
				p := s.preview(r.tool, r.write.args(1))
				o := at(cut, func(f frame) bool { return c.front != nil && c.front(f) || c.back != nil && c.back(f) })
				proxy.on(o.hook, o.hook)
				got := s.call("execute_plan", p.echo())
				o.await(t)
				if c.committed {
					got.ok(t, nil)
				} else {
					got.refused(t, refusal.DatabaseUnavailable)
				}
				bound(t, db, r, p.Token, c.committed)
				again := s.call("execute_plan", p.echo())
				if c.committed {
					again.refused(t, refusal.UsedToken)
				} else {
					again.ok(t, nil)
				}
				bound(t, db, r, p.Token, true)
			})
		}
	}
}

// What is different behind a pooler is said at the start and by check-config, and what it announces as the
// process of a connection is not taken for one: a lock holder is rather not named.
func TestPoolerIsNoticed(t *testing.T) {
	t.Parallel()
	db := world(t)
	b := newBouncer(t, db, "transaction")
	const said = "leads through a connection pooler"
	direct := runToEnd(t, db, options{args: []string{"check-config"}})
	require.Zero(t, direct.code, "%s%s", direct.stdout, direct.stderr)
	require.NotContains(t, direct.stdout+direct.stderr, said)
	pooled := options{readonly: b.through(t, db.Readonly), writer: b.through(t, db.Writer), args: []string{"check-config"}}
	got := runToEnd(t, db, pooled)
	require.Zero(t, got.code, "%s%s", got.stdout, got.stderr)
	require.Equal(t, 2, strings.Count(got.stdout, said), "%s", got.stdout)

	s := b.serve(t, options{config: map[string]any{"write": map[string]any{"lockTimeoutMs": 500}}})
	s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
	require.Contains(t, s.log(), said)
	release := locked(t, db)
	r := s.call("update_rows", args{"table": "app.item", "set": args{"name": "x"}, "where": "id = 1", "reason": "t"})
	release()
	r.refused(t, refusal.LockTimeout)
	require.NotContains(t, r.message, "pid ")

	// A pooler takes no settings at the start of a connection.
	pooled.writer += "&options=-csearch_path%3Dapp"
	got = runToEnd(t, db, pooled)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stdout, "refused the start-up parameters")
	require.Contains(t, got.stdout, "leave options=… and settings out of database.writerConnectionString")
}

// In session mode a connection of ours is one of the pooler's: more than it has can only wait, and the
// refusal must come in time.
func TestPoolerWithTooFewConnections(t *testing.T) {
	t.Parallel()
	db := world(t)
	b := newBouncer(t, db, "session")
	s := b.serve(t, options{config: map[string]any{"database": map[string]any{"maxConnections": 10}}})
	calls := make([]*pending, 6)
	for i := range calls {
		calls[i] = s.begin("query", args{"statement": fmt.Sprintf("SELECT %d, pg_sleep(0.2)", i), "reason": "t"})
	}
	for _, c := range calls {
		if r := c.reply(); r.isError {
			r.refused(t, refusal.DatabaseUnavailable, refusal.TooBusy)
		}
	}
	s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
}
