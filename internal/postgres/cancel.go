package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// cancelPatience is how long the server may take to stop after it was asked to. After that the
	// connection is given up.
	cancelPatience = 2 * time.Second
	// A cancel request that the server took is delivered as a signal, a moment later. Without a
	// pause it could hit the next statement.
	cancelPause = 100 * time.Millisecond
)

// cancelHandler ends a flush whose context ended by asking the server (PostgreSQL manual, 55.2.8),
// so that the connection lives and a ROLLBACK behind still runs. The driver's handler of the same
// kind hangs up on its own request when the answer comes first, which PgBouncer 1.18 does not
// survive ("bad client state"); this one waits until the server has closed it.
type cancelHandler struct {
	pc   *pgconn.PgConn
	done chan struct{}
}

// HandleCancel implements ctxwatch.Handler.
func (h *cancelHandler) HandleCancel(context.Context) {
	h.done = make(chan struct{})
	deadline := time.Now().Add(cancelPatience)
	_ = h.pc.Conn().SetDeadline(deadline) // a dead socket shows at the next read
	go func() {                           //nolint:gosec // G118: the caller's context has ended, that is why this runs
		defer close(h.done)
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		_ = h.pc.CancelRequest(ctx) // best effort; the deadline is what holds
		time.Sleep(cancelPause)
	}()
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler.
func (h *cancelHandler) HandleUnwatchAfterCancel() {
	<-h.done
	_ = h.pc.Conn().SetDeadline(time.Time{})
}
