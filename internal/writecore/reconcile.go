package writecore

import (
	"context"
	"fmt"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// settleAttempts and settlePause bound how long a lost COMMIT is looked up before the agent is
// answered OUTCOME_UNKNOWN. A later call looks again.
const (
	settleAttempts = 5
	settlePause    = 400 * time.Millisecond
)

// verdict is what the ledger says of a token.
type verdict int

const (
	cannotTell verdict = iota
	committed
	absent
)

// settleLost answers a COMMIT whose answer never came: the ledger is asked, on the primary, under the
// token's lock, on the same server and timeline. Never guessed (TestS14).
func (w *TwoPhaseWrite) settleLost(ctx context.Context, ex *plan.Execution, t *trial, started time.Time, cause error) (Outcome, error) {
	token := ex.Plan().Token
	w.o.Logger.Error("the connection was lost during COMMIT; asking the ledger", "plan_token_prefix", tokenPrefix(token), "cause", cause)
	for i := range settleAttempts {
		if i > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(settlePause):
			}
		}
		switch v, _, _ := w.ask(ctx, token, t.identity); v {
		case committed:
			return w.done(ctx, nil, ex, t, started), nil
		case absent:
			ex.Fail()
			return Outcome{}, refusal.New(refusal.DatabaseUnavailable,
				"The connection was lost during COMMIT. The ledger was asked: the change was not committed.",
				"Call execute_plan again with the same arguments.")
		case cannotTell:
		}
		if ctx.Err() != nil {
			break
		}
	}
	err := outcomeUnknown()
	w.identities.Store(token, t.identity)
	ex.Unknown(err.Message)
	return Outcome{}, err
}

func outcomeUnknown() *refusal.Error {
	return refusal.New(refusal.OutcomeUnknown,
		"COMMIT was sent and its answer was lost; the ledger could not be asked yet whether the change was committed.",
		"Call execute_plan again with the same arguments: it asks the ledger again and never commits twice.")
}

// reconcile asks again about a plan whose outcome was unknown.
func (w *TwoPhaseWrite) reconcile(ctx context.Context, req ExecuteRequest, unknown error) error {
	identity, ok := w.identities.Load(req.Token)
	if !ok { // committed without a row: nothing to ask
		return unknown
	}
	v, when, rows := w.ask(ctx, req.Token, identity.(string))
	switch v {
	case committed:
		var n int64
		_, _ = fmt.Sscan(rows, &n)
		w.o.Store.Settle(req.Token, true, n, time.Now())
		return usedToken(when, rows)
	case absent:
		w.o.Store.Settle(req.Token, false, 0, time.Now())
		return refusal.New(refusal.DatabaseUnavailable,
			"The ledger was asked: the change was not committed when the connection was lost.",
			"Call execute_plan again with the same arguments.")
	case cannotTell:
	}
	return unknown
}

// ask looks a token up under its lock. identity is the server's at BEGIN; another one means that this
// is not the ledger that was written to.
func (w *TwoPhaseWrite) ask(ctx context.Context, token plan.Token, identity string) (v verdict, when, rows string) {
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return cannotTell, "", ""
	}
	defer s.Release()
	seg := wire.Segment{
		step("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"),
		settings(s, w.o.StatementTimeout, w.o.LockTimeout, mark()),
		tokenKey(token), // whoever ran it is gone once we hold this
		step("SELECT pg_catalog.pg_is_in_recovery()"),
		step(identitySQL),
		audit.OutcomeStep(string(token)),
	}
	replies, err := s.Flush(ctx, append([]wire.Segment{seg}, closing(s.ServerVersion())...)...)
	if err != nil || replies[0].Err != nil || len(replies[0].Results) != len(seg) {
		return cannotTell, "", ""
	}
	r := replies[0].Results
	if cell(r[3], 0, 0) != "f" || cell(r[4], 0, 0)+"/"+cell(r[4], 0, 1) != identity {
		return cannotTell, "", ""
	}
	if len(r[5].Rows) == 0 {
		return absent, "", ""
	}
	return committed, cell(r[5], 0, 0), cell(r[5], 0, 1)
}

// settleByXID settles the one commit that has no row (audit.required off and the INSERT failed), by
// the transaction's own status, while the server has not restarted.
func (w *TwoPhaseWrite) settleByXID(ctx context.Context, ex *plan.Execution, t *trial, started time.Time, xid, boot string) (Outcome, error) {
	s, err := w.o.Acquire(ctx)
	if err == nil {
		defer s.Release()
		replies, ferr := s.Flush(ctx, wire.Segment{{
			SQL:    "SELECT pg_catalog.pg_xact_status($1::text::xid8), pg_catalog.pg_postmaster_start_time()::text",
			Params: [][]byte{text(xid)},
		}})
		if ferr == nil && replies[0].Err == nil && cell(replies[0].Results[0], 0, 1) == boot {
			switch cell(replies[0].Results[0], 0, 0) {
			case "committed":
				return w.done(ctx, nil, ex, t, started), nil
			case "aborted":
				ex.Fail()
				return Outcome{}, refusal.New(refusal.DatabaseUnavailable, "The connection was lost during COMMIT; the change was not committed.", "Call execute_plan again with the same arguments.")
			}
		}
	}
	unknown := refusal.New(refusal.OutcomeUnknown,
		"COMMIT was sent without an audit row and its answer was lost; nothing can tell whether the change was committed.",
		"Look at the rows themselves before you do anything else.")
	ex.Unknown(unknown.Message)
	return Outcome{}, unknown
}
