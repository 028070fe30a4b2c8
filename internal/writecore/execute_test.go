package writecore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const tinySQL = `CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL); INSERT INTO t SELECT g, 0 FROM generate_series(1, 300) g;`

func setV(v string) []sqlguard.SetValue {
	return []sqlguard.SetValue{{Column: "v", Value: json.RawMessage(v)}}
}

// TestS09ATokenWorksOnce: 50 callers, one commit, 49 clear refusals.
func TestS09ATokenWorksOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "v + 1"}}, "id <= 10")
	require.NoError(t, err)
	var wins atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 50 {
		wg.Go(func() {
			<-start
			_, err := b.execute(r)
			if err == nil {
				wins.Add(1)
				return
			}
			code, ok := refusal.As(err)
			if !ok || (code.Code != refusal.UsedToken && code.Code != refusal.AlreadyExecuting) {
				t.Errorf("want USED_TOKEN or ALREADY_EXECUTING, got %v", err)
			}
		})
	}
	close(start)
	wg.Wait()
	require.EqualValues(t, 1, wins.Load())
	require.Equal(t, "10", b.one("SELECT sum(v) FROM app.t"))
	require.Equal(t, "1", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
	_, err = b.execute(r)
	require.Contains(t, requireCode(t, err, refusal.UsedToken), "10 rows")
}

// TestUsedTokenAfterRestart: a token that another process executed is found in the ledger.
func TestUsedTokenAfterRestart(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	r, err := b.update("app.t", setV("5"), nil, "id <= 3")
	require.NoError(t, err)
	_, err = b.execute(r)
	require.NoError(t, err)
	fresh := setupOn(t, b.db, "")
	_, err = fresh.execute(r)
	require.Contains(t, requireCode(t, err, refusal.UsedToken), "changed 3 rows")
	r.Plan.Token = plan.NewToken()
	_, err = fresh.execute(r)
	requireCode(t, err, refusal.UnknownToken)
}

// TestTheDatabaseRefusesASecondCommit: two processes that both believe a token is theirs; the unique
// index lets one through.
func TestTheDatabaseRefusesASecondCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "v + 1"}}, "id = 1")
	require.NoError(t, err)
	b.db.Exec(t, "INSERT INTO mcp_audit.log (tool, statement, status, plan_token, actual_rows, caller_id) VALUES ('update_rows', '', 'executed', '"+string(r.Plan.Token)+"', 1, 'other')")
	_, err = b.execute(r)
	requireCode(t, err, refusal.UsedToken)
	require.Equal(t, "0", b.one("SELECT v FROM app.t WHERE id = 1"))
}

// TestS14AuditInsertFails: fail closed commits nothing; fail open commits and is loud.
func TestS14AuditInsertFails(t *testing.T) {
	t.Parallel()
	for name, required := range map[string]bool{"required": true, "not required": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tinySQL, func(o *writecore.Options) { o.AuditRequired = required })
			r, err := b.update("app.t", setV("5"), nil, "id = 1")
			require.NoError(t, err)
			b.db.Exec(t, "REVOKE INSERT ON mcp_audit.log FROM writer")
			out, err := b.execute(r)
			if required {
				requireCode(t, err, refusal.AuditUnavailable)
				require.Equal(t, "0", b.one("SELECT v FROM app.t WHERE id = 1"))
				_, err = b.update("app.t", setV("6"), nil, "id = 2")
				requireCode(t, err, refusal.AuditUnavailable)
				b.db.Exec(t, "GRANT INSERT ON mcp_audit.log TO writer")
				_, err = b.execute(r)
				require.NoError(t, err, "the plan may be tried again")
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 1, out.AffectedRows)
			require.Equal(t, "5", b.one("SELECT v FROM app.t WHERE id = 1"))
			require.Contains(t, b.log.String(), "COMMITTING WITHOUT AN AUDIT ROW")
			_, err = b.execute(r)
			requireCode(t, err, refusal.UsedToken)
		})
	}
}

// cutting wraps a session so that a test decides what happens at a flush.
type cutting struct {
	writecore.Session
	before func(segments []wire.Segment) error // an error = the connection dies before sending
	after  func(segments []wire.Segment) error // an error = the answer is lost
}

func (c cutting) Flush(ctx context.Context, segments ...wire.Segment) ([]wire.Reply, error) {
	if c.before != nil {
		if err := c.before(segments); err != nil {
			if s, ok := c.Session.(*postgres.Session); ok { // the backend goes with the connection
				s.Discard()
				s.Release()
			}
			return nil, err
		}
	}
	r, err := c.Session.Flush(ctx, segments...)
	if err == nil && c.after != nil {
		if lost := c.after(segments); lost != nil {
			return nil, lost
		}
	}
	return r, err
}

func holdsCommit(segments []wire.Segment) bool {
	for _, s := range segments {
		for _, st := range s {
			if st.SQL == "COMMIT" {
				return true
			}
		}
	}
	return false
}

// cut makes a bundle whose writer sessions can be cut.
func cut(t *testing.T, c *cutting) *bundle {
	t.Helper()
	return setup(t, tinySQL, func(o *writecore.Options) {
		inner := o.Acquire
		o.Acquire = func(ctx context.Context) (writecore.Session, error) {
			s, err := inner(ctx)
			if err != nil {
				return nil, err
			}
			return cutting{Session: s, before: c.before, after: c.after}, nil
		}
	})
}

var errCut = errors.Join(wire.ErrConnectionLost, errors.New("cut by the test"))

// TestS14ALostAnswerIsLookedUp: COMMIT went through and its answer was lost: executed, not guessed. The
// connection died before COMMIT reached the server: certainly not, and the plan can be run again.
func TestS14ALostAnswerIsLookedUp(t *testing.T) {
	t.Parallel()
	t.Run("after COMMIT", func(t *testing.T) {
		t.Parallel()
		c := &cutting{}
		b := cut(t, c)
		c.after = func(s []wire.Segment) error {
			if holdsCommit(s) {
				return errCut
			}
			return nil
		}
		r, err := b.update("app.t", setV("5"), nil, "id <= 7")
		require.NoError(t, err)
		out, err := b.execute(r)
		require.NoError(t, err)
		require.EqualValues(t, 7, out.AffectedRows)
		require.Equal(t, "35", b.one("SELECT sum(v) FROM app.t"))
	})
	t.Run("before COMMIT", func(t *testing.T) {
		t.Parallel()
		c := &cutting{}
		b := cut(t, c)
		var once sync.Once
		c.before = func(s []wire.Segment) (err error) {
			if holdsCommit(s) {
				once.Do(func() { err = errCut })
			}
			return err
		}
		r, err := b.update("app.t", setV("5"), nil, "id <= 7")
		require.NoError(t, err)
		_, err = b.execute(r)
		require.Contains(t, requireCode(t, err, refusal.DatabaseUnavailable), "not committed")
		require.Equal(t, "0", b.one("SELECT sum(v) FROM app.t"))
		_, err = b.execute(r)
		require.NoError(t, err)
		require.Equal(t, "35", b.one("SELECT sum(v) FROM app.t"))
	})
	t.Run("and the ledger cannot be asked", func(t *testing.T) {
		t.Parallel()
		c := &cutting{}
		b := cut(t, c)
		var blind atomic.Bool
		c.before = func([]wire.Segment) error {
			if blind.Load() {
				return errCut
			}
			return nil
		}
		c.after = func(s []wire.Segment) error {
			if holdsCommit(s) {
				blind.Store(true)
				return errCut
			}
			return nil
		}
		r, err := b.update("app.t", setV("5"), nil, "id <= 7")
		require.NoError(t, err)
		_, err = b.execute(r)
		requireCode(t, err, refusal.OutcomeUnknown)
		_, err = b.execute(r)
		requireCode(t, err, refusal.OutcomeUnknown)
		blind.Store(false)
		_, err = b.execute(r)
		require.Contains(t, requireCode(t, err, refusal.UsedToken), "changed 7 rows")
		require.Equal(t, "35", b.one("SELECT sum(v) FROM app.t"))
	})
}

// TestCommitAnsweredByRollback: a failed transaction answers COMMIT with ROLLBACK; that is not executed.
func TestCommitAnsweredByRollback(t *testing.T) {
	t.Parallel()
	c := &cutting{}
	b := cut(t, c)
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	// As many steps as ever, and the last one answers as COMMIT does in a failed transaction: no error, the
	// tag ROLLBACK, an idle connection.
	c.before = func(s []wire.Segment) error {
		if holdsCommit(s) {
			s[0][len(s[0])-1] = wire.Step{SQL: "ROLLBACK"}
		}
		return nil
	}
	_, err = b.execute(r)
	require.Contains(t, requireCode(t, err, refusal.WriteFailed), "rollback")
	require.Equal(t, "0", b.one("SELECT v FROM app.t WHERE id = 1"))
	p, _ := b.store.Get(r.Plan.Token)
	require.Equal(t, plan.Previewed, p.State)
}

// TestS17ALeavingClientCommitsNothing: cancelled before COMMIT is sent rolls back; after it the commit stands.
func TestS17ALeavingClientCommitsNothing(t *testing.T) {
	t.Parallel()
	t.Run("between statement and COMMIT", func(t *testing.T) {
		t.Parallel()
		c := &cutting{}
		b := cut(t, c)
		r, err := b.update("app.t", setV("5"), nil, "id = 1")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(b.ctx)
		c.after = func(s []wire.Segment) error {
			if strings.HasPrefix(s[0][0].SQL, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE") {
				cancel()
			}
			return nil
		}
		b.ctx = ctx
		_, err = b.execute(r)
		require.ErrorIs(t, err, context.Canceled)
		b.ctx = t.Context()
		require.Equal(t, "0", b.one("SELECT v FROM app.t WHERE id = 1"))
		_, err = b.execute(r)
		require.NoError(t, err, "the plan stays as it was")
	})
	t.Run("while COMMIT is on its way", func(t *testing.T) {
		t.Parallel()
		c := &cutting{}
		b := cut(t, c)
		r, err := b.update("app.t", setV("5"), nil, "id = 1")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(b.ctx)
		c.before = func(s []wire.Segment) error {
			if holdsCommit(s) {
				cancel()
			}
			return nil
		}
		b.ctx = ctx
		_, err = b.execute(r)
		require.NoError(t, err)
		require.Equal(t, "5", b.one("SELECT v FROM app.t WHERE id = 1"))
	})
	t.Run("while waiting for a person", func(t *testing.T) {
		t.Parallel()
		b := setup(t, tinySQL)
		r, err := b.update("app.t", setV("5"), nil, "id <= 200")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(b.ctx)
		b.ctx = ctx
		done := make(chan error, 1)
		go func() { _, err := b.execute(r); done <- err }()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		b.ctx = t.Context()
		b.approve(r)
		require.Equal(t, "0", b.one("SELECT sum(v) FROM app.t"), "an approval after the caller left commits nothing")
		_, err = b.execute(r)
		require.NoError(t, err)
	})
}

// TestWaiting: blocks until a person decides; answers AWAITING_APPROVAL after its time; only so many wait.
func TestWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.ExecuteWait, o.MaxWaiting = 300*time.Millisecond, 1 })
	r, err := b.update("app.t", setV("5"), nil, "id <= 200")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	var notes atomic.Int64
	waiting := make(chan error, 1)
	go func() {
		_, err := b.core.Execute(b.ctx, writecore.ExecuteRequest{Token: r.Plan.Token, Echo: plan.Echo{Payload: &r.Plan.Payload}, Progress: func(string) { notes.Add(1) }})
		waiting <- err
	}()
	require.Eventually(t, func() bool { return notes.Load() > 0 }, 5*time.Second, time.Millisecond)
	_, err = b.execute(r)
	requireCode(t, err, refusal.TooManyWaiting)
	mismatch := r
	mismatch.Plan.Payload = plan.Payload{Statement: "DELETE FROM app.t"}
	_, err = b.execute(mismatch)
	requireCode(t, err, refusal.StatementMismatch) // answers at once, takes no place
	requireCode(t, <-waiting, refusal.AwaitingApproval)

	go func() { _, err := b.execute(r); waiting <- err }()
	b.approve(r)
	require.NoError(t, <-waiting)
	require.Equal(t, "1000", b.one("SELECT sum(v) FROM app.t"))
}

// TestRejected: final, with the person's reason, and remembered at the next preview.
func TestRejected(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	r, err := b.update("app.t", setV("5"), nil, "id <= 200")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { _, err := b.execute(r); done <- err }()
	_, _, err = b.core.Reject(b.ctx, r.Plan.Token, "kim", "wrong table")
	require.NoError(t, err)
	require.Contains(t, requireCode(t, <-done, refusal.PlanRejected), "wrong table")
	_, _, err = b.core.Approve(b.ctx, r.Plan.Token, "kim")
	requireCode(t, err, refusal.PlanRejected)
	r, err = b.update("app.t", setV("5"), nil, "id <= 200")
	require.NoError(t, err)
	require.NotNil(t, r.Plan.Earlier)
	require.Equal(t, "wrong table", r.Plan.Earlier.Reason)
	require.Equal(t, "1", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'rejected' AND reason = 'wrong table' AND approved_by = 'kim'"))
}

// TestNoApprovalSurface: "cannot ask" is not "need not ask".
func TestNoApprovalSurface(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.ApprovalURL = func() string { return "" } })
	_, err := b.update("app.t", setV("5"), nil, "id <= 200")
	requireCode(t, err, refusal.ApprovalUnavailable)
	_, err = b.migrate("ALTER TABLE app.t ADD COLUMN x int")
	requireCode(t, err, refusal.ApprovalUnavailable)
	require.Empty(t, b.store.List())
	r, err := b.update("app.t", setV("5"), nil, "id <= 2")
	require.NoError(t, err)
	require.Equal(t, plan.Previewed, r.Plan.State)
}

// TestLockTimeout: a preview or execute does not queue for long.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL, func(o *writecore.Options) { o.LockTimeout = 200 * time.Millisecond })
	r, err := b.update("app.t", setV("5"), nil, "id = 1")
	require.NoError(t, err)
	s, err := b.pools.Writer().Acquire(b.ctx)
	require.NoError(t, err)
	defer s.Release()
	_, err = s.Flush(b.ctx, wire.Segment{{SQL: "BEGIN"}, {SQL: "SELECT * FROM app.t WHERE id = 1 FOR UPDATE"}})
	require.NoError(t, err)
	_, err = b.execute(r)
	requireCode(t, err, refusal.LockTimeout)
	_, err = b.update("app.t", setV("6"), nil, "id = 1")
	requireCode(t, err, refusal.LockTimeout)
	_, err = s.Flush(b.ctx, wire.Segment{{SQL: "ROLLBACK"}})
	require.NoError(t, err)
	_, err = b.execute(r)
	require.NoError(t, err)
}

// TestMigration: facts in the rehearsal, no trace of it, then the change, once.
func TestMigration(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL+"CREATE VIEW seen AS SELECT id, v FROM t;")
	before := b.one("SELECT md5(string_agg(attname || atttypid::text, ',' ORDER BY attrelid, attnum)) FROM pg_attribute WHERE attrelid IN ('app.t'::regclass, 'app.seen'::regclass)")
	r, err := b.migrate("ALTER TABLE app.t DROP COLUMN v CASCADE")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	require.EqualValues(t, 0, r.Plan.AffectedRows)
	f := r.Plan.Facts
	require.Equal(t, []plan.Lost{{Relation: "app.t", Column: "v", NonNullValues: 300}}, f.Lost)
	require.Contains(t, f.Drops, plan.Drop{Type: "view", Name: "app.seen"})
	require.Contains(t, f.Drops, plan.Drop{Type: "column", Name: "app.t.v"})
	require.Equal(t, "AccessExclusiveLock", f.Locks[len(f.Locks)-1].Mode)
	require.Contains(t, str(r.Plan.Warnings), plan.WarnCascadeDrops)
	require.Contains(t, str(r.Plan.Warnings), plan.WarnDataLost)
	require.Equal(t, before, b.one("SELECT md5(string_agg(attname || atttypid::text, ',' ORDER BY attrelid, attnum)) FROM pg_attribute WHERE attrelid IN ('app.t'::regclass, 'app.seen'::regclass)"))
	b.approve(r)
	_, err = b.execute(r)
	require.NoError(t, err)
	require.Equal(t, "1", b.one("SELECT count(*) FROM pg_attribute WHERE attrelid = 'app.t'::regclass AND attnum > 0 AND NOT attisdropped"))
	_, err = b.execute(r)
	requireCode(t, err, refusal.UsedToken)

	r, err = b.migrate("CREATE TABLE app.fresh (id int PRIMARY KEY, t_id int REFERENCES app.t)")
	require.NoError(t, err)
	require.Empty(t, r.Plan.Facts.Unreadable, "default privileges make it readable")
	b.approve(r)
	b.db.Exec(t, "ALTER TABLE app.t ADD COLUMN late int")
	_, err = b.execute(r)
	require.Contains(t, requireCode(t, err, refusal.RowsetChanged), "app.t")
}

// TestTheLedgerKeepsTheOrder: the row of a decision stands before what it let happen.
func TestTheLedgerKeepsTheOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, tinySQL)
	for i := range 10 {
		r, err := b.update("app.t", setV(fmt.Sprint(i+1)), nil, "id <= 200")
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { _, err := b.execute(r); done <- err }()
		if i%2 == 0 {
			b.approve(r)
			require.NoError(t, <-done)
			continue
		}
		_, _, err = b.core.Reject(b.ctx, r.Plan.Token, "kim", "no")
		require.NoError(t, err)
		requireCode(t, <-done, refusal.PlanRejected)
	}
	var got []string
	for _, row := range b.trail() {
		got = append(got, row[1])
	}
	want := []string{}
	for range 5 {
		want = append(want, "awaiting_approval", "approved", "executed", "awaiting_approval", "rejected", "failed")
	}
	require.Equal(t, want, got)
}
