package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// cancelPatience is how long the server may be silent after it was asked to stop, and cancelLimit how
	// long it may go on sending rows that it had made. After that the connection is given up.
	cancelPatience = 2 * time.Second
	cancelLimit    = 10 * time.Second
	// cancelEvery is the pause between requests, as long as nothing was heard of the first.
	cancelEvery = 100 * time.Millisecond
	// A cancel request that the server took is delivered as a signal, a moment later. Without a
	// pause it could hit the next statement.
	cancelPause = 100 * time.Millisecond
)

// cancelKey is where a connection's CustomData holds its *cancelHandler.
const cancelKey = "sw-cancel"

// cancelHandler ends a flush whose context ended by asking the server (PostgreSQL manual, 55.2.8),
// so that the connection lives and a ROLLBACK behind still runs. The driver's handler of the same
// kind hangs up on its own request when the answer comes first, which PgBouncer 1.18 does not
// survive ("bad client state"); this one waits until the server has closed it.
//
// It asks again until something is heard: Postgres drops a request that arrives between two
// statements, and also one that arrives while it sends rows of a FETCH, since it looks for it only
// when it reads the next statement, and there ignores it (PostgresMain in its postgres.c). A flush
// holds many statements. See TestCancelBetweenStatements.
type cancelHandler struct {
	pc *pgconn.PgConn

	mu   sync.Mutex
	stop chan struct{} // open while requests go out
	done chan struct{}

	until atomic.Int64 // when the connection is given up at the latest; 0 unless cancelled
}

// HandleCancel implements ctxwatch.Handler.
func (h *cancelHandler) HandleCancel(context.Context) {
	stop, done := make(chan struct{}), make(chan struct{})
	h.mu.Lock()
	h.stop, h.done = stop, done
	h.mu.Unlock()
	_ = h.pc.Conn().SetDeadline(time.Now().Add(cancelPatience)) // a dead socket shows at the next read
	end := time.Now().Add(cancelLimit)
	h.until.Store(end.UnixNano())
	go func() { //nolint:gosec // G118: the caller's context has ended, that is why this runs
		defer close(done)
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		again := time.NewTimer(0)
		defer again.Stop()
		for {
			select {
			case <-stop:
				time.Sleep(cancelPause)
				return
			case <-ctx.Done():
				return
			case <-again.C:
			}
			h.request(ctx)
			again.Reset(cancelEvery)
		}
	}()
}

// request asks once. It is best effort; the deadline is what holds.
func (h *cancelHandler) request(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	_ = h.pc.CancelRequest(ctx)
}

// alive tells that a row arrived: the server is not silent.
func (h *cancelHandler) alive() {
	if until := h.until.Load(); until != 0 {
		_ = h.pc.Conn().SetDeadline(time.Unix(0, min(until, time.Now().Add(cancelPatience).UnixNano())))
	}
}

// heard tells that the server answered something which ends what was to be cancelled: an error, or the
// end of a segment. What follows in the flush (ROLLBACK) is meant to run.
func (h *cancelHandler) heard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil {
		close(h.stop)
		h.stop = nil
	}
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler.
func (h *cancelHandler) HandleUnwatchAfterCancel() {
	h.heard()
	<-h.done
	h.until.Store(0)
	_ = h.pc.Conn().SetDeadline(time.Time{})
}

// cancelsOf is the handler of a connection of a pool.
func cancelsOf(pc *pgconn.PgConn) *cancelHandler {
	if h, ok := pc.CustomData()[cancelKey].(*cancelHandler); ok {
		return h
	}
	return &cancelHandler{pc: pc} // one that was never cancelled
}
