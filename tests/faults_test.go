//go:build faults

// The slow part of what happens when the database goes away; the quick part is TestDatabaseDownAtStart and what
// internal/postgres tests of a pool by itself.
package tests

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// everyTool calls every tool once; each must succeed at the first call.
func everyTool(t testing.TB, s *server) {
	t.Helper()
	for _, r := range matrix {
		got := s.call(r.tool, r.sound())
		if r.tool == "execute_plan" {
			got.refused(t, refusal.UnknownToken)
			continue
		}
		require.False(t, got.isError, "%s: %s %s", r.tool, got.code, got.message)
	}
}

// warm makes connections in both pools, n in each: as many calls at once, of which none ends before all have begun.
func warm(t testing.TB, s *server, n int) {
	t.Helper()
	var calls []*pending
	for range n {
		calls = append(calls, s.begin("query", args{"statement": "SELECT pg_sleep(0.3)", "reason": "t"}))
	}
	release := locked(t, s.db)
	for range n {
		calls = append(calls, s.begin("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"}))
	}
	eventually(t, "all wait for the lock", func() bool {
		return number(t, s.db, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1", s.application) == n
	})
	release()
	for _, c := range calls {
		c.reply().ok(t, nil)
	}
}

func killBackends(t testing.TB, s *server) {
	t.Helper()
	s.db.Exec(t, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s'", s.application))
	eventually(t, "the backends are gone", func() bool { return len(s.backends()) == 0 })
}

// Field case 38: every backend is killed, and the first call of each tool succeeds.
func TestFaultKilledBackends(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, patient())
	for _, r := range matrix {
		if r.tool == "execute_plan" {
			continue
		}
		warm(t, s, 4)
		killBackends(t, s)
		s.call(r.tool, r.sound()).ok(t, nil)
	}
	// A plan outlives its connection: it held none.
	p := s.preview("delete_rows", args{"table": "app.item", "where": "id = 9", "reason": "t"})
	killBackends(t, s)
	s.execute(p)
	require.Equal(t, 1, executedRows(t, db, p.Token))
}

// The server is restarted, by a crash and in the orderly way; meanwhile each tool says that, and afterwards the first call of
// each works.
func TestFaultRestart(t *testing.T) {
	t.Parallel()
	db := world(t, pgtemp.OwnCluster(true))
	s := start(t, db, patient())
	warm(t, s, 3)
	p := s.preview("delete_rows", args{"table": "app.item", "where": "id = 9", "reason": "t"})
	require.NoError(t, db.Cluster.Kill())
	for _, r := range matrix {
		got := s.call(r.tool, r.sound())
		got.refused(t, refusal.DatabaseUnavailable)
		require.NotEmpty(t, got.hint)
	}
	s.call("execute_plan", p.echo()).refused(t, refusal.DatabaseUnavailable)
	require.NoError(t, db.Cluster.Restart(t.Context()))
	s.execute(p)
	everyTool(t, s)
	require.Equal(t, 1, executedRows(t, db, p.Token))
}

// Field case 40: a server that ends idle sessions, ten times over.
func TestFaultIdleSessionTimeout(t *testing.T) {
	t.Parallel()
	db := world(t)
	for _, role := range []string{"readonly", "writer"} {
		db.Exec(t, fmt.Sprintf(`ALTER ROLE %s IN DATABASE %q SET idle_session_timeout = '1s'`, role, db.Name))
	}
	s := start(t, db, options{})
	for range 5 { // ten times in all
		s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil)
		p := s.preview("update_rows", args{"table": "app.item", "set": args{"qty": 1}, "where": "id = 3", "reason": "t"})
		eventually(t, "the server has ended the sessions", func() bool { return len(s.backends()) == 0 })
		s.execute(p)
		eventually(t, "the server has ended the sessions", func() bool { return len(s.backends()) == 0 })
	}
}

// Half-open: the network goes away under idle connections and says nothing. The first call must not wait for it
// longer than it takes to see that nobody answers.
func TestFaultHalfOpen(t *testing.T) {
	t.Parallel()
	db := world(t)
	proxy := newProxy(t, db)
	s := start(t, db, proxy.proxied(db, patient()))
	warm(t, s, 4)
	// Idle for longer than the server trusts a connection without asking.
	time.Sleep(16 * time.Second) // the time that passes is what is tested
	old := map[*link]bool{}
	proxy.mu.Lock()
	for c := range proxy.conns {
		old[c] = true
	}
	proxy.mu.Unlock()
	require.Greater(t, len(old), 4)
	silent := func(f frame) verdict {
		if old[f.conn] {
			return hold
		}
		return pass
	}
	proxy.on(silent, silent)
	for _, call := range []func(){
		func() { s.call("query", args{"statement": "SELECT 1", "reason": "t"}).ok(t, nil) },
		func() { s.preview("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"}) },
	} {
		began := time.Now()
		call()
		took := time.Since(began)
		t.Logf("%s", took)
		require.Less(t, took, 10*time.Second)
	}
	proxy.on(nil, nil)
	proxy.cutAll()
}

// A black hole in the middle of a call: bounded, told, and the next one works.
func TestFaultBlackHoleInACall(t *testing.T) {
	t.Parallel()
	db := world(t)
	proxy := newProxy(t, db)
	o := proxy.proxied(db, options{config: map[string]any{
		"query": map[string]any{"statementTimeoutMs": 1000},
		"write": map[string]any{"statementTimeoutMs": 1000, "lockTimeoutMs": 500},
	}})
	s := start(t, db, o)
	everyTool(t, s)
	for tool, c := range map[string]struct {
		a  args
		at func(frame) bool
	}{
		"query":       {args{"statement": "SELECT 1", "reason": "t"}, func(f frame) bool { return carries(f, "DECLARE sw_c") }},
		"delete_rows": {args{"table": "app.item", "where": "id = 1", "reason": "t"}, func(f frame) bool { return carries(f, "WITH sw_m") }},
	} {
		// The answers of every connection that exists at that moment are lost.
		var holeFor sync.Map
		var open atomic.Bool
		proxy.on(func(f frame) verdict {
			if c.at(f) && open.CompareAndSwap(false, true) {
				holeFor.Store(f.conn, true)
			}
			if _, held := holeFor.Load(f.conn); held {
				return hold
			}
			return pass
		}, nil)
		began := time.Now()
		got := s.call(tool, c.a)
		t.Logf("%s: %s after %s", tool, got.code, time.Since(began))
		if got.isError { // a read is tried again on another connection
			got.refused(t, refusal.DatabaseUnavailable, refusal.StatementTimeout)
		}
		require.True(t, open.Load(), "the message never came")
		require.Less(t, time.Since(began), 40*time.Second)
		proxy.on(nil, nil)
		s.call(tool, c.a).ok(t, nil)
	}
}

// Failover: the address leads to a read-only standby for a while, and back to a primary. Writes say so, nothing is
// guessed, and when there is a primary again the first write works, though the connections to the standby are still good.
func TestFaultFailoverToAReadOnlyStandby(t *testing.T) {
	t.Parallel()
	db := world(t, pgtemp.OwnCluster(true))
	standby := db.Standby(t)
	standby.CaughtUp(t, db)
	proxy := newProxy(t, db)
	s := start(t, db, proxy.proxied(db, options{}))
	everyTool(t, s)
	p := s.preview("delete_rows", args{"table": "app.item", "where": "id = 9", "reason": "t"})

	require.NoError(t, db.Cluster.Kill())
	proxy.redirect(standby)
	proxy.cutAll()
	s.call("query", args{"statement": "SELECT count(*) FROM app.item", "reason": "t"}).ok(t, nil)
	s.call("describe_schema", args{"table": "app.item"}).ok(t, nil)
	for _, r := range writers() {
		got := s.call(r.tool, r.write.args(3))
		got.refused(t, refusal.DatabaseUnavailable)
		require.Contains(t, got.message, "standby", r.tool)
	}
	got := s.call("execute_plan", p.echo())
	got.refused(t, refusal.DatabaseUnavailable)
	require.Zero(t, executedRows(t, standby, p.Token))

	standby.Promote(t)
	s.execute(p)
	require.Equal(t, 1, executedRows(t, standby, p.Token))
	everyTool(t, s)
}

// Field case 44: while nothing listens, calls in parallel share an attempt.
func TestFaultOneDialAtATime(t *testing.T) {
	t.Parallel()
	db := world(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var dials, most, now atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			most.Store(max(most.Load(), now.Add(1)))
			go func() { // accepts and stays silent until the other side gives up
				_, _ = c.Read(make([]byte, 1))
				_, _ = c.Read(make([]byte, 1<<10))
				buf := make([]byte, 1)
				for {
					if _, err := c.Read(buf); err != nil {
						break
					}
				}
				now.Add(-1)
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	proxy := newProxy(t, db)
	o := proxy.proxied(db, options{})
	proxy.mu.Lock()
	proxy.target = l.Addr().String()
	proxy.mu.Unlock()
	s := start(t, db, o)
	calls := make([]*pending, 40)
	for i := range calls {
		calls[i] = s.begin("query", args{"statement": fmt.Sprintf("SELECT %d", i), "reason": "t"})
	}
	for _, c := range calls {
		r := c.reply()
		r.refused(t, refusal.DatabaseUnavailable)
		require.Contains(t, r.message, "did not answer")
	}
	// The start's own check of both roles is among them.
	require.LessOrEqual(t, most.Load(), int64(2), "dials at once")
	require.LessOrEqual(t, dials.Load(), int64(8), "for 40 calls")
	proxy.redirect(db)
	everyTool(t, s)
}

// A commit is never sent twice: whatever is lost around it, in each of the ways a connection can go.
func TestFaultCommitIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	r := writers()[0]
	for _, c := range crashes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, proxy, s, p := ready(t, r)
			o := at(cut, func(f frame) bool { return c.front != nil && c.front(f) || c.back != nil && c.back(f) })
			proxy.on(o.hook, o.hook)
			s.call("execute_plan", p.echo())
			o.await(t)
			commits := 0
			for _, f := range proxy.frames() {
				if commitSent(f) {
					commits++
				}
			}
			require.LessOrEqual(t, commits, 1)
			bound(t, db, r, p.Token, c.committed)
		})
	}
}

// The socket's keepalives are on: a connection that a firewall forgot is found by the system.
func TestFaultKeepalives(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{})
	everyTool(t, s)
	n := keepalives(t, s.cmd.Process.Pid, db.Cluster.Port())
	require.Positive(t, n)
}
