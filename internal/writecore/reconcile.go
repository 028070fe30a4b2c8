package writecore

import (
	"context"
	"strconv"
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
	noLedger // an audit schema without outcome(), or no right to call it
)

// finding is a verdict with when and how many rows, as the ledger prints them.
type finding struct {
	verdict    verdict
	when, rows string
}

// settle answers a COMMIT whose answer never came: the ledger is asked, on the primary, under the
// token's lock, on the same server and timeline. Never guessed (TestS14ALostAnswerIsLookedUp).
func (w *TwoPhaseWrite) settle(ctx context.Context, ex *plan.Execution, t *trial, started time.Time, mark plan.Mark) (Outcome, error) {
	token := ex.Plan().Token
	// The time that sending COMMIT had may be over; looking has its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	for i := range settleAttempts {
		if i > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(settlePause):
			}
		}
		switch w.ask(ctx, token, mark).verdict {
		case committed:
			return w.done(ctx, nil, ex, t, started), nil
		case absent:
			ex.Fail()
			return Outcome{}, notCommitted(mark)
		case cannotTell, noLedger:
		}
		if ctx.Err() != nil {
			break
		}
	}
	err := refusal.New(refusal.OutcomeUnknown,
		"COMMIT was sent and its answer was lost; the ledger could not be asked yet whether the change was committed.",
		"Call execute_plan again with the same arguments: it asks the ledger again and never commits twice.")
	ex.Unknown(err.Message)
	return Outcome{}, err
}

// notCommitted says that it was found out. Without a mark COMMIT was never sent.
func notCommitted(mark plan.Mark) error {
	what := "The connection was lost during COMMIT."
	if mark == (plan.Mark{}) {
		what = "The server ended before it had sent COMMIT."
	}
	return refusal.New(refusal.DatabaseUnavailable,
		what+" The ledger was asked: the change was not committed.",
		"Call execute_plan again with the same arguments.")
}

// reconcile asks again about a plan whose outcome was unknown.
func (w *TwoPhaseWrite) reconcile(ctx context.Context, req ExecuteRequest, unknown error) error {
	mark, _ := w.o.Store.MarkOf(req.Token)
	switch f := w.settleLater(ctx, req.Token); f.verdict {
	case committed:
		return plan.UsedTokenError(f.when, f.rows)
	case absent:
		return notCommitted(mark)
	case cannotTell, noLedger:
	}
	return unknown
}

// settleLater asks once, and settles the plan if there is an answer.
func (w *TwoPhaseWrite) settleLater(ctx context.Context, token plan.Token) finding {
	mark, ok := w.o.Store.MarkOf(token)
	if !ok {
		return finding{}
	}
	f := w.ask(ctx, token, mark)
	switch f.verdict {
	case committed:
		n, err := strconv.ParseInt(f.rows, 10, 64)
		if err != nil {
			n = -1 // committed without a row: the number is not known
		}
		w.o.Store.Settle(token, true, n, time.Now())
	case absent:
		w.o.Store.Settle(token, false, 0, time.Now())
	case cannotTell, noLedger:
	}
	return f
}

const xactStatusSQL = "SELECT pg_catalog.pg_xact_status($1::text::xid8), pg_catalog.pg_postmaster_start_time()::text"

// ask looks a token up, bounded in time, under its lock: whoever ran it is gone once the lock is held.
func (w *TwoPhaseWrite) ask(ctx context.Context, token plan.Token, mark plan.Mark) finding {
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return finding{}
	}
	defer s.Release()
	m := wire.NewMark()
	var sc script
	sc.Add("begin", step("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"))
	sc.Add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	sc.Add("lock", tokenKey(token))
	sc.Add("recovery", step("SELECT pg_catalog.pg_is_in_recovery()"))
	sc.Add("identity", step(identitySQL))
	if mark.XID != "" {
		sc.Add("xact", wire.Step{SQL: xactStatusSQL, Params: [][]byte{text(mark.XID)}})
	} else {
		sc.Add("outcome", audit.OutcomeStep(string(token)))
	}
	reply, err := w.send(ctx, s, &sc, true)
	if err != nil {
		return finding{}
	}
	if reply.Err != nil {
		switch reply.Err.SQLState {
		case "42883", "42P01", "3F000", "42501": // no such function, table or schema; no right
			if sc.Failed(reply) == "outcome" {
				return finding{verdict: noLedger}
			}
		}
		return finding{}
	}
	recovery, _ := sc.Result(reply, "recovery")
	id, _ := sc.Result(reply, "identity")
	if cell(recovery, 0, 0) != "f" || (mark.Identity != "" && identityOf(id) != mark.Identity) {
		return finding{}
	}
	if x, ok := sc.Result(reply, "xact"); ok {
		return xactFinding(x, mark)
	}
	out, _ := sc.Result(reply, "outcome")
	if len(out.Rows) == 0 {
		return finding{verdict: absent}
	}
	return finding{committed, cell(out, 0, 0), cell(out, 0, 1)}
}

// identityOf names a server and its timeline.
func identityOf(r wire.Result) string { return cell(r, 0, 0) + "/" + cell(r, 0, 1) }

func xactFinding(r wire.Result, mark plan.Mark) finding {
	if cell(r, 0, 1) != mark.Boot { // transaction ids from before a restart may have been given up
		return finding{}
	}
	switch cell(r, 0, 0) {
	case "committed":
		return finding{committed, "an earlier time (without an audit row)", "an unknown number of"}
	case "aborted":
		return finding{verdict: absent}
	}
	return finding{}
}
