package writecore

import (
	"context"
	"errors"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Consult gives a person who is not at the approval page the chance to decide while a call waits. It
// decides nothing itself: a yes goes through [TwoPhaseWrite.Recheck] and [TwoPhaseWrite.Approve] like
// the page's, and every gate is asked again behind it.
type Consult interface {
	// Before runs first. An error ends the call with it.
	Before(ctx context.Context, p plan.Plan) error
	// Beside runs while the call waits, until ctx ends. An error ends the wait with it; nil does not.
	Beside(ctx context.Context, p plan.Plan) error
}

// ended is an answer of a Consult that ends the call, also where its code says that the plan still waits.
type ended struct{ error }

// Unwrap implements errors.Is and errors.As.
func (e ended) Unwrap() error { return e.error }

// asked says that a Consult has ended the call.
func asked(err error) bool {
	_, ok := errors.AsType[ended](err)
	return ok
}

// consult runs Before, where there is one, and passes the gates once more: AWAITING_APPROVAL means that
// the call may wait.
func (w *TwoPhaseWrite) consult(ctx context.Context, req ExecuteRequest) error {
	if req.Consult != nil {
		if p, ok := w.o.Store.Get(req.Token); ok {
			if err := req.Consult.Before(ctx, p); err != nil {
				return ended{err}
			}
		}
	}
	return w.o.Store.Check(req.Token, req.Echo)
}

// waitFor waits for a decision with Beside at its side. It returns only behind Beside, so that a question
// is withdrawn before its call is answered.
func (w *TwoPhaseWrite) waitFor(ctx context.Context, req ExecuteRequest) error {
	p, ok := w.o.Store.Get(req.Token)
	if req.Consult == nil || !ok {
		return w.o.Store.Await(ctx, req.Token, req.Echo)
	}
	wait, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := req.Consult.Beside(wait, p); err != nil && wait.Err() == nil {
			stop(ended{err})
		}
	}()
	err := w.o.Store.Await(wait, req.Token, req.Echo)
	stop(nil)
	<-done
	if cause := context.Cause(wait); err != nil && errors.Is(err, context.Canceled) && asked(cause) {
		return cause
	}
	return err
}
