package plan_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Await waits only for a person, and ends with whatever ends the waiting.
func TestAwait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(t *testing.T, b *testBundle, p plan.Plan)
		code    refusal.Code // "" = may begin
		is      error
		after   time.Duration
	}{
		"approved": {happens: func(t *testing.T, b *testBundle, p plan.Plan) {
			_, _, err := b.Approve(p.Token, "maria")
			require.NoError(t, err)
		}, after: time.Second},
		"rejected": {happens: func(t *testing.T, b *testBundle, p plan.Plan) {
			_, _, err := b.Reject(p.Token, "maria", "no")
			require.NoError(t, err)
		}, code: refusal.PlanRejected, after: time.Second},
		"replaced": {happens: func(t *testing.T, b *testBundle, _ plan.Plan) {
			b.create(t, preview("DELETE FROM app.t", "others"), true)
		}, code: refusal.SupersededPlan, after: time.Second},
		"expired": {happens: func(*testing.T, *testBundle, plan.Plan) {}, code: refusal.ExpiredToken, after: approvalTTL},
		"joined, then expired": {happens: func(t *testing.T, b *testBundle, _ plan.Plan) {
			_, joined, err := b.Create(preview("DELETE FROM app.t", "rows"), true)
			require.NoError(t, err)
			require.True(t, joined)
		}, code: refusal.ExpiredToken, after: approvalTTL + time.Second},
		"closed": {happens: func(_ *testing.T, b *testBundle, _ plan.Plan) { b.Close() }, is: plan.ErrClosed, after: time.Second},
		"executed by another": {happens: func(t *testing.T, b *testBundle, p plan.Plan) {
			_, _, err := b.Approve(p.Token, "maria")
			require.NoError(t, err)
			b.begin(t, p.Token, echo(p))
		}, code: refusal.AlreadyExecuting, after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
				start := time.Now()
				var waiters sync.WaitGroup
				for range 8 {
					waiters.Go(func() {
						err := b.Await(t.Context(), p.Token, echo(p))
						switch {
						case c.is != nil:
							require.ErrorIs(t, err, c.is)
						case c.code != "":
							requireCode(t, err, c.code)
						default:
							require.NoError(t, err)
						}
						require.Equal(t, c.after, time.Since(start))
					})
				}
				time.Sleep(time.Second)
				synctest.Wait()
				c.happens(t, b, p)
				waiters.Wait()
				b.Close()
			})
		})
	}
}

// A plan that needs nobody does not wait; one that a caller left stays as it was.
func TestAwaitAndTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		free := b.create(t, preview("DELETE FROM app.u", "rows"), false)
		require.NoError(t, b.Await(t.Context(), free.Token, echo(free)))

		p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		require.ErrorIs(t, b.Await(ctx, p.Token, echo(p)), context.DeadlineExceeded)
		got, _ := b.Get(p.Token)
		require.Equal(t, p, got)

		gone, leave := context.WithCancel(t.Context())
		leave()
		_, _, err := b.Approve(p.Token, "maria")
		require.NoError(t, err)
		require.ErrorIs(t, b.Await(gone, p.Token, echo(p)), context.Canceled, "approved, but the caller has left")
		require.Equal(t, plan.Approved, b.state(t, p.Token))
		b.Close()
	})
}

// The timer fires by itself: callers are told and OnExpired is called although nobody asks.
func TestExpiryNeedsNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		events, cancel := b.Subscribe()
		defer cancel()
		long := b.create(t, preview("DELETE FROM app.t", "rows"), true)
		short := b.create(t, preview("DELETE FROM app.u", "rows"), false)
		require.Equal(t, plan.Added, (<-events).Kind)
		require.Equal(t, plan.Added, (<-events).Kind)
		for _, want := range []plan.Plan{short, long} {
			e := <-events
			require.Equal(t, plan.EventExpired, e.Kind)
			require.Equal(t, want.Token, e.Plan.Token)
			require.Equal(t, want.ExpiresAt, time.Now())
		}
		synctest.Wait()
		b.mu.Lock()
		require.Len(t, b.expired, 2)
		require.Equal(t, "checked", b.expired[1].Work, "the record needs the whole plan")
		b.mu.Unlock()
		b.Close()
	})
}

// An execution that fails after its plan's time never shows the plan as open again.
func TestALateFailureIsAnExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		p := b.create(t, preview("DELETE FROM app.t", "rows"), false)
		x := b.begin(t, p.Token, echo(p))
		events, cancel := b.Subscribe()
		defer cancel()
		time.Sleep(planTTL)
		x.Fail()
		require.Equal(t, plan.EventExpired, (<-events).Kind)
		b.Close()
		require.Len(t, b.expired, 1)
	})
}

// OnExpired may call the store, may be slow, and is waited for by Close.
func TestCloseWaitsForCallbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *testBundle
		var done atomic.Bool
		b = setup(t, func(o *plan.Options) {
			o.OnExpired = func(p plan.Plan) {
				time.Sleep(10 * time.Second)
				got, _ := b.Get(p.Token)
				done.Store(got.State == plan.Expired)
			}
		})
		b.create(t, preview("DELETE FROM app.t", "rows"), false)
		time.Sleep(planTTL)
		synctest.Wait()
		require.Empty(t, b.List(), "the store answers while the callback runs")
		b.Close()
		require.True(t, done.Load())
	})
}

func TestClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
	free := b.create(t, preview("DELETE FROM app.u", "rows"), false)
	x := b.begin(t, free.Token, echo(free))
	events, cancel := b.Subscribe()
	b.Close()
	b.Close()
	_, open := <-events
	require.False(t, open)
	cancel()
	late, cancel := b.Subscribe()
	_, open = <-late
	require.False(t, open)
	cancel()
	_, _, err := b.Create(preview("DELETE FROM app.v", "rows"), true)
	require.ErrorIs(t, err, plan.ErrClosed)
	_, _, err = b.Approve(p.Token, "maria")
	require.ErrorIs(t, err, plan.ErrClosed)
	_, _, err = b.Reject(p.Token, "maria", "no")
	require.ErrorIs(t, err, plan.ErrClosed)
	_, err = b.Begin(p.Token, echo(p))
	require.ErrorIs(t, err, plan.ErrClosed)
	require.ErrorIs(t, b.Await(t.Context(), p.Token, echo(p)), plan.ErrClosed)
	x.Confirm(3, time.Now()) // a commit under way still gets its end
	require.Equal(t, plan.Executed, b.state(t, free.Token))
}

// Of 50 calls at once one gets the plan, in every round.
func TestBeginOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		b := setup(t)
		p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
		_, _, err := b.Approve(p.Token, "maria")
		require.NoError(t, err)
		var won atomic.Int32
		start := make(chan struct{})
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				<-start
				x, err := b.Begin(p.Token, echo(p))
				if err == nil {
					won.Add(1)
					x.Confirm(8, time.Now())
					return
				}
				if !refusal.Is(err, refusal.AlreadyExecuting) && !refusal.Is(err, refusal.UsedToken) {
					t.Errorf("unexpected: %v", err)
				}
			})
		}
		close(start)
		calls.Wait()
		require.EqualValues(t, 1, won.Load())
		b.Close()
	}
}

// A subscriber that does not keep up is told to read again, and nothing blocks.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow, cancel := b.Subscribe()
	defer cancel()
	p := b.create(t, preview("DELETE FROM app.t", "rows"), false)
	for range 500 {
		_, joined, err := b.Create(preview("DELETE FROM app.t", "rows"), false)
		require.NoError(t, err)
		require.True(t, joined)
	}
	require.Equal(t, plan.Added, (<-slow).Kind)
	kinds := map[plan.EventKind]int{}
	last := plan.EventKind("")
	for len(slow) > 0 {
		last = (<-slow).Kind
		kinds[last]++
	}
	require.Equal(t, plan.Resync, last, "what was lost has a resync behind it")
	require.Equal(t, 1, kinds[plan.Resync])
	_, _, err := b.Reject(p.Token, "maria", "no")
	require.NoError(t, err)
	e := <-slow
	require.Equal(t, plan.EventRejected, e.Kind)
	require.Equal(t, plan.Rejected, e.Plan.State)
	cancel()
	cancel()
	_, open := <-slow
	require.False(t, open)
}

// The whole life is told, in order.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events, cancel := b.Subscribe()
	defer cancel()
	next := func(kind plan.EventKind, state plan.State) {
		t.Helper()
		e := <-events
		require.Equal(t, kind, e.Kind)
		require.Equal(t, state, e.Plan.State)
	}
	p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
	next(plan.Added, plan.AwaitingApproval)
	_, _, _ = b.Create(preview("DELETE FROM app.t", "rows"), true)
	next(plan.Joined, plan.AwaitingApproval)
	_, _, _ = b.Approve(p.Token, "maria")
	next(plan.EventApproved, plan.Approved)
	x := b.begin(t, p.Token, echo(p))
	next(plan.EventExecuting, plan.Executing)
	x.Fail()
	next(plan.Released, plan.Approved)
	b.begin(t, p.Token, echo(p)).Unknown("lost")
	next(plan.EventExecuting, plan.Executing)
	next(plan.EventUnknown, plan.Unknown)
	b.Settle(p.Token, true, 8, time.Now())
	next(plan.EventExecuted, plan.Executed)
	p = b.create(t, preview("DELETE FROM app.t", "rows"), false)
	next(plan.Added, plan.Previewed)
	b.begin(t, p.Token, echo(p)).Stop("ROWSET_CHANGED", "changed")
	next(plan.EventExecuting, plan.Executing)
	next(plan.EventStopped, plan.Stopped)
	b.create(t, preview("DELETE FROM app.t", "rows"), false)
	next(plan.Added, plan.Previewed)
	b.create(t, preview("DELETE FROM app.t", "others"), false)
	next(plan.EventSuperseded, plan.Superseded)
	next(plan.Added, plan.Previewed)

	recent := b.Recent(2)
	require.Len(t, recent, 2)
	require.Equal(t, plan.Superseded, recent[0].State)
	require.Equal(t, plan.Stopped, recent[1].State)
	require.Len(t, b.Recent(100), 3)
}
