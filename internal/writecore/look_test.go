package writecore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// TestASnapshotWaitsForWhatChangesNothing: an index, a comment, a check and what is rolled back are waited for, and
// stop nothing; nor does a table that a trigger creates, which only its own transaction sees.
func TestASnapshotWaitsForWhatChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, madeSQL+`CREATE FUNCTION grows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN CREATE TABLE app.grown (v int DEFAULT 1); RETURN NEW; END $$;
		CREATE TRIGGER grows AFTER UPDATE ON t FOR EACH ROW WHEN (NEW.id = 2) EXECUTE FUNCTION grows();`)
	for _, change := range []string{
		"CREATE INDEX ON log (v)", "COMMENT ON TABLE log IS 'x'; LOCK TABLE log", "ALTER TABLE log ADD CHECK (t < 1000)", "ALTER TABLE log SET (fillfactor = 90); LOCK TABLE log",
		"SAVEPOINT s; ALTER TABLE log ALTER v SET DEFAULT 2; ROLLBACK TO s; LOCK TABLE log", "ALTER TABLE log DISABLE TRIGGER ALL; ALTER TABLE log ENABLE TRIGGER ALL",
	} {
		r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "v + 1"}}, "id IN (SELECT 1 FROM app.child)")
		require.NoError(t, err, change)
		require.NoError(t, b.during(r, change), change)
	}
	r, err := b.update("app.t", setV("5"), nil, "id IN (SELECT 2 FROM app.child)")
	require.NoError(t, err)
	b.approve(r)
	_, err = b.execute(r)
	require.NoError(t, err)
	require.Equal(t, "1", b.one("SELECT count(*) FROM pg_class WHERE relname = 'grown'"))
}

// TestSnapshotsLeaveAConnection: an execute that runs on a snapshot needs a second connection before it can end;
// however many there are, one of the pool is left for that.
func TestSnapshotsLeaveAConnection(t *testing.T) {
	t.Parallel()
	const connections = 3
	var pools *postgres.DB
	b := setup(t, madeSQL+"INSERT INTO t SELECT n, 0 FROM generate_series(11, 20) n", func(o *writecore.Options) {
		o.Connections, o.LockTimeout = connections, 20*time.Second
		o.Acquire = func(ctx context.Context) (writecore.Session, error) { return pools.Writer().Acquire(ctx) }
	})
	var err error
	pools, err = postgres.Open(b.ctx, postgres.Options{ReadonlyURL: b.db.Readonly, WriterURL: b.db.Writer, MaxConnections: connections, AcquireTimeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(pools.Close)
	var plans []writecore.Reply
	for id := range 6 {
		r, err := b.update("app.t", setV("5"), nil, fmt.Sprintf("id IN (SELECT %d FROM app.child)", id+11))
		require.NoError(t, err)
		plans = append(plans, r)
	}
	holds := b.super("BEGIN; LOCK TABLE app.log")
	done := make(chan error, len(plans))
	for _, r := range plans {
		go func() { _, err := b.execute(r); done <- err }()
	}
	require.Eventually(t, func() bool {
		waiting := b.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		n, err := strconv.Atoi(waiting)
		return err == nil && (n == connections || n > 0 && n+writecore.Queued(b.core) == len(plans))
	}, 10*time.Second, 5*time.Millisecond)
	holds("COMMIT")
	for range plans {
		require.NoError(t, <-done)
	}
	require.Equal(t, "6", b.one("SELECT count(*) FROM app.t WHERE v = 5"))
}

// TestWhoWaitsForALockLeavesAConnection: what waits for the rows of an execute that is about to look does not hold the
// connection that this needs.
func TestWhoWaitsForALockLeavesAConnection(t *testing.T) {
	t.Parallel()
	const connections = 3
	var pools *postgres.DB
	b := setup(t, madeSQL, func(o *writecore.Options) {
		o.Connections, o.LockTimeout = connections, 20*time.Second
		o.Acquire = func(ctx context.Context) (writecore.Session, error) { return pools.Writer().Acquire(ctx) }
	})
	var err error
	pools, err = postgres.Open(b.ctx, postgres.Options{ReadonlyURL: b.db.Readonly, WriterURL: b.db.Writer, MaxConnections: connections, AcquireTimeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(pools.Close)
	looks, err := b.update("app.t", setV("5"), nil, "id IN (SELECT 1 FROM app.child)")
	require.NoError(t, err)
	plain, err := b.update("app.t", setV("6"), nil, "id = 1")
	require.NoError(t, err)
	again, err := b.guard.Update(b.ctx, b.pools.Writer().Catalog(), sqlguard.UpdateSpec{Table: "app.t", Set: setV("7"), Where: "id = 1"})
	require.NoError(t, err)
	waiting := func(n int) func() bool {
		return func() bool {
			w, err := strconv.Atoi(b.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
			return err == nil && w+writecore.Queued(b.core) == n
		}
	}
	holds := b.super("BEGIN; LOCK TABLE app.log")
	first, others := make(chan error, 1), make(chan error, 2)
	go func() { _, err := b.execute(looks); first <- err }()
	require.Eventually(t, waiting(1), 10*time.Second, 5*time.Millisecond)
	go func() { _, err := b.execute(plain); others <- err }()
	go func() {
		_, err := b.core.Preview(b.ctx, writecore.Request{Tool: "update_rows", Reason: "test", Statement: again})
		others <- err
	}()
	require.Eventually(t, waiting(3), 10*time.Second, 5*time.Millisecond)
	holds("COMMIT")
	require.NoError(t, <-first)
	for range cap(others) {
		if err := <-others; err != nil {
			requireCode(t, err, refusal.RowsetChanged) // of the plan, whose row is another now
		}
	}
	require.Equal(t, "5", b.one("SELECT v FROM app.t WHERE id = 1"))
}

// TestS04WhatCannotBeLookedAtIsNotCommitted: where a snapshot is too old to tell what ran and the look behind it
// fails, nothing is committed, nothing stays locked, and the plan can be executed once the look goes through.
func TestS04WhatCannotBeLookedAtIsNotCommitted(t *testing.T) {
	t.Parallel()
	answers := func(name, with string) func(*bundle) *cutting { // the server of the second connection says so
		return func(*bundle) *cutting {
			return &cutting{before: func(segments []wire.Segment) error {
				for i, st := range segments[0] {
					if strings.Contains(st.SQL, name) {
						segments[0][i].SQL = with
					}
				}
				return nil
			}}
		}
	}
	for name, c := range map[string]struct {
		second func(*bundle) *cutting
		want   refusal.Code
	}{
		"no connection":   {func(*bundle) *cutting { return nil }, refusal.TooBusy},
		"it is lost":      {func(*bundle) *cutting { return &cutting{before: func([]wire.Segment) error { return errCut }} }, refusal.DatabaseUnavailable},
		"it is silent":    {answers("pg_is_in_recovery", "SELECT pg_sleep(9)"), refusal.DatabaseUnavailable},
		"a standby":       {answers("pg_is_in_recovery", "SELECT 't'"), refusal.DatabaseUnavailable},
		"another server":  {answers("pg_control_system", "SELECT '4711', '00000009'"), refusal.DatabaseUnavailable},
		"a table is gone": {answers("unnest(ARRAY[", "SELECT 1, '', '', '' WHERE $1::text IS NULL"), ""},
		"the catalog is locked": {func(b *bundle) *cutting {
			go func() { b.db.Exec(b.t, "BEGIN; LOCK TABLE pg_trigger; COMMIT") }()
			b.waits() // for us, who have read it; whoever reads it now waits behind that
			return &cutting{}
		}, refusal.LockTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b *bundle
			var ran, looked atomic.Bool // the run is behind us; a connection was asked for since
			b = setup(t, madeSQL, func(o *writecore.Options) {
				inner := o.Acquire
				o.Acquire = func(ctx context.Context) (writecore.Session, error) {
					look := &cutting{after: func(segments []wire.Segment) error {
						if len(segments) == 1 && strings.Contains(str(segments), "pg_advisory_xact_lock") {
							ran.Store(true)
						}
						return nil
					}}
					if ran.Load() && !looked.Swap(true) {
						if look = c.second(b); look == nil {
							return nil, refusal.New(refusal.TooBusy, "none is free", "try again")
						}
					}
					s, err := inner(ctx)
					return cutting{Session: s, before: look.before, after: look.after}, err
				}
			})
			r, err := b.update("app.t", setV("5"), nil, "id IN (SELECT 1 FROM app.child)")
			require.NoError(t, err)
			_, err = b.execute(r)
			require.True(t, looked.Load(), "no second connection was taken")
			if c.want != "" {
				requireCode(t, err, c.want)
			} else {
				require.Error(t, err)
			}
			require.Equal(t, "0", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
			b.db.Exec(t, "BEGIN; SET LOCAL lock_timeout = '10s'; LOCK TABLE app.t, app.log; COMMIT")
			require.Equal(t, "0", b.one("SELECT v FROM app.t WHERE id = 1"))
			_, err = b.execute(r)
			require.NoError(t, err)
			require.Equal(t, "5", b.one("SELECT v FROM app.t WHERE id = 1"))
		})
	}
}
