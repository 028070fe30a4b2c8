package tests

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// busy brings a server into a state from which the client leaves. It returns the call that runs.
type busy struct {
	name string
	set  func(t testing.TB, s *server) *pending
}

// locked holds row 1 of app.item locked until the test ends.
func locked(t testing.TB, db *pgtemp.DB) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	conn, err := pgx.Connect(ctx, db.Super)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "BEGIN; SELECT * FROM app.item WHERE id = 1 FOR UPDATE; SELECT * FROM app.parent LIMIT 1")
	require.NoError(t, err)
	return func() {
		require.NoError(t, conn.Close(ctx))
		cancel()
	}
}

var busyStates = []busy{
	{"idle", func(testing.TB, *server) *pending { return nil }},
	{"in a query", func(_ testing.TB, s *server) *pending {
		p := s.begin("query", args{"statement": "SELECT pg_sleep(60)", "reason": "t"})
		eventually(s.t, "the query runs", func() bool { return s.running("FETCH") > 0 })
		return p
	}},
	{"in a preview", func(_ testing.TB, s *server) *pending {
		p := s.begin("delete_rows", args{"table": "app.item", "where": "id = 2 AND pg_sleep(60) IS NOT NULL", "reason": "t"})
		eventually(s.t, "the preview runs", func() bool { return s.running("pg_sleep") > 0 })
		return p
	}},
	{"in a preview that waits for a lock", func(_ testing.TB, s *server) *pending {
		p := s.begin("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"})
		eventually(s.t, "the preview waits", func() bool { return s.locks() > 0 })
		return p
	}},
	{"waiting for a person", func(t testing.TB, s *server) *pending {
		plan := s.preview("run_migration", args{"statement": "CREATE TABLE app.made_1 (id integer)", "reason": "t"})
		p := s.begin("execute_plan", plan.echo())
		s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
		return p
	}},
	{"executing, before COMMIT", func(t testing.TB, s *server) *pending {
		plan := s.preview("run_migration", args{"statement": "ALTER TABLE app.item ADD COLUMN extra integer", "reason": "t"})
		s.approve(plan.Token)
		release := locked(t, s.db)
		t.Cleanup(release)
		p := s.begin("execute_plan", plan.echo())
		eventually(s.t, "the statement waits for its lock", func() bool { return s.locks() > 0 })
		return p
	}},
}

// locks counts this server's backends that wait for a lock.
func (s *server) locks() int {
	s.t.Helper()
	return number(s.t, s.db, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", s.application)
}

// patient are timeouts that no test reaches by itself.
func patient() options {
	return options{config: map[string]any{
		"write":     map[string]any{"statementTimeoutMs": 90000, "lockTimeoutMs": 90000, "approvalRequiredAboveRows": 100},
		"query":     map[string]any{"statementTimeoutMs": 90000},
		"migration": map[string]any{"previewLockMs": 90000},
	}}
}

// S17: a client that leaves changes nothing. It has the machine to itself, since it measures the
// contract's two seconds.
func TestS17ALeavingClientChangesNothing(t *testing.T) {
	ways := map[string]func(*server){
		"EOF":     func(s *server) { s.closeIn() },
		"SIGTERM": func(s *server) { require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM)) },
		"SIGINT":  func(s *server) { require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGINT)) },
	}
	for _, b := range busyStates {
		for way, leave := range ways {
			if way == "SIGINT" && b.name != "in a preview" {
				continue // one path for both signals
			}
			t.Run(way+" "+b.name, func(t *testing.T) {
				db := world(t)
				s := start(t, db, patient())
				port := s.pageURL().Host
				if b.name == "in a preview that waits for a lock" {
					t.Cleanup(locked(t, db))
				}
				b.set(t, s)
				before := snapshot(t, db)
				leave(s)
				took := s.awaitEnd(stopWithin)
				require.Zero(t, s.exit, "%s", s.log())
				t.Logf("ended after %s", took)
				within(t, time.Second, "the statements of the server are gone", func() bool { return len(s.backends()) == 0 })
				require.Equal(t, before, snapshot(t, db))
				require.Zero(t, executedRows(t, db, ""))
				_, err := net.Dial("tcp", port)
				require.Error(t, err, "the page still listens")
			})
		}
	}
}

// S17, cancel: the statement is gone within a second, nothing is left, and the server answers on.
func TestS17CancelStopsTheStatement(t *testing.T) {
	for _, b := range busyStates[1:] {
		t.Run(b.name, func(t *testing.T) {
			db := world(t)
			s := start(t, db, patient())
			var release func()
			if b.name == "in a preview that waits for a lock" {
				release = locked(t, db)
			}
			call := b.set(t, s)
			before := snapshot(t, db)
			call.cancel()
			within(t, time.Second, "no transaction is open", func() bool {
				for _, row := range s.backends() {
					if row[0] != "idle" {
						return false
					}
				}
				return true
			})
			if release != nil {
				release()
			}
			require.Equal(t, before, snapshot(t, db))
			require.Zero(t, executedRows(t, db, ""))
			require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status = 'previewed'"), "a plan was made for a call that was cancelled")
			s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
			if b.name == "waiting for a person" { // the plan stays as it was
				require.Len(t, s.waiting(), 1)
				s.approve(s.waiting()[0])
				require.Equal(t, before, snapshot(t, db), "approved, and nobody asked for it to run")
			}
		})
	}
}

// S17: once COMMIT was sent the commit finishes, whoever leaves.
func TestS17ACommitInFlightFinishes(t *testing.T) {
	for way, leave := range map[string]func(*server, *pending){
		"EOF":     func(s *server, _ *pending) { s.closeIn() },
		"SIGTERM": func(s *server, _ *pending) { require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM)) },
		"cancel":  func(_ *server, p *pending) { p.cancel() },
	} {
		t.Run(way, func(t *testing.T) {
			db, proxy, s, p := ready(t, writers()[0])
			seen, goOn := make(chan struct{}), make(chan struct{})
			waits := false
			proxy.on(nil, func(f frame) verdict {
				if commitDone(f) && !waits {
					waits = true // one goroutine reads this connection, and only here
					close(seen)
					<-goOn
				}
				return pass
			})
			call := s.begin("execute_plan", p.echo())
			<-seen
			leave(s, call)
			// Longer than an idle process may take: it must not leave a commit alone.
			select {
			case <-s.ended:
				t.Error("the process ended while a commit was in flight")
			case <-time.After(stopWithin + time.Second/2):
			}
			close(goOn)
			if way != "cancel" {
				s.awaitEnd(stopWithin)
				require.Zero(t, s.exit)
			} else {
				// The call that left still executes for a moment; then its token is used.
				again := s.call("execute_plan", p.echo())
				for deadline := time.Now().Add(10 * time.Second); again.code == string(refusal.AlreadyExecuting) && time.Now().Before(deadline); {
					again = s.call("execute_plan", p.echo())
				}
				again.refused(t, refusal.UsedToken)
			}
			bound(t, db, writers()[0], p.Token, true)
		})
	}
}
