package writecore

import (
	"context"
	"errors"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// finishTimeout bounds what happens from the sending of COMMIT on. Nothing a client does reaches it.
const finishTimeout = 30 * time.Second

// finish sends the audit row and COMMIT in one flush and learns what became of them.
func (w *TwoPhaseWrite) finish(ctx context.Context, s Session, ex *plan.Execution, wk *work, t *trial, started time.Time) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	p := ex.Plan()
	var sc script
	if wk.statement.Class() == sqlguard.DDL && w.o.MigrationRole != "" {
		sc.Add("reset role", step("RESET ROLE"))
	}
	sc.Add("savepoint", savepointRow)
	sc.Add("audit", audit.Event{
		Tool: p.Tool, Reason: t.reason, Statement: p.Payload.Statement, Params: p.Payload.Params,
		PreviewRows: &p.AffectedRows, ActualRows: &t.affected, PlanToken: string(p.Token), ApprovedBy: actor(p),
		Status: audit.Executed, Duration: time.Since(started), CallerID: w.o.CallerID, BlastRadius: radiusJSON(t.radius),
	}.Step(s.ServerEncoding()))
	sc.Add("release", releaseRow)
	mark := plan.Mark{Identity: t.identity}
	if err := w.committing(s, ex, mark); err != nil {
		return Outcome{}, err
	}
	reply, answered := w.sendCommit(ctx, s, &sc)
	switch {
	case !answered:
		return w.settle(ctx, ex, t, started, mark)
	case reply.Err != nil && sc.Failed(reply) == "audit":
		return w.withoutRow(ctx, s, ex, t, started, reply.Err)
	}
	return w.committedOrNot(ctx, s, ex, t, started, &sc, reply)
}

// committing notes that COMMIT is about to be sent; what cannot be noted is not sent.
func (w *TwoPhaseWrite) committing(s Session, ex *plan.Execution, mark plan.Mark) error {
	err := ex.Committing(mark)
	if err != nil {
		w.undo(s)
		ex.Fail()
	}
	return err
}

// sendCommit sends sc, the flush of the counters and COMMIT, and behind them what makes the session
// forget: settings, temporary tables and locks that a trigger left outlive COMMIT, and nothing of it may
// reach the next call. answered is false when the connection died before the segment's answer.
func (w *TwoPhaseWrite) sendCommit(ctx context.Context, s Session, sc *script) (reply wire.Reply, answered bool) {
	if s.ServerVersion() >= pg15 {
		sc.Add("counters", flushCounters)
	}
	sc.Add("last", commit)
	replies, err := s.Flush(ctx, sc.Steps(), wire.Segment{forget})
	if len(replies) > 0 && replies[0].TxStatus != 0 { // its Sync was answered, whatever came after
		if err != nil || len(replies) < 2 || replies[1].Err != nil {
			s.Discard()
		}
		return replies[0], true
	}
	if err != nil {
		w.o.Logger.Error("the connection was lost during COMMIT", "cause", err)
	}
	s.Discard()
	return wire.Reply{}, false
}

// committedOrNot judges an answered COMMIT: executed means that its tag is exactly COMMIT and the
// connection idle. In a failed transaction COMMIT succeeds as ROLLBACK (TestCommitAnsweredByRollback).
func (w *TwoPhaseWrite) committedOrNot(ctx context.Context, s Session, ex *plan.Execution, t *trial, started time.Time, sc *script, reply wire.Reply) (Outcome, error) {
	if reply.Err != nil {
		w.undo(s)
		ex.Fail()
		return Outcome{}, wire.Refuse(reply.Err, wire.RefuseOptions{Fallback: refusal.WriteFailed, TimeoutSetting: writeTimeout, Hides: w.hides, Masks: w.masking(ex)})
	}
	if c, ok := sc.Result(reply, "last"); ok && c.Tag == "COMMIT" && reply.TxStatus == 'I' {
		return w.done(ctx, s, ex, t, started), nil
	}
	w.undo(s)
	ex.Fail()
	return Outcome{}, refusal.New(refusal.WriteFailed, "Postgres answered COMMIT with a rollback; nothing was changed.", "Preview again.")
}

// done settles an acknowledged commit and renders what came back. s is nil where the connection is gone.
func (w *TwoPhaseWrite) done(ctx context.Context, s Codec, ex *plan.Execution, t *trial, started time.Time) Outcome {
	ex.Confirm(t.affected, time.Now())
	out := Outcome{Plan: ex.Plan(), AffectedRows: t.affected, BlastRadius: t.radius, Duration: time.Since(started)}
	if len(t.shape.columns) > 0 && t.affected > 0 && s != nil {
		values, err := s.Values(ctx, t.returned)
		if err != nil { // the commit stands; only its echo is poorer
			w.o.Logger.Error("rendering the inserted keys", "cause", err)
			return out
		}
		for i, row := range values {
			out.Returned = append(out.Returned, rowOf(t.shape, row, t.returned.Rows[i]).now)
		}
	}
	return out
}

// withoutRow decides about a change whose audit INSERT failed. 23505 on the once-index means that this
// token was executed already. With audit.required nothing commits; otherwise the change commits,
// loudly, and its transaction id is kept in case the answer is lost.
func (w *TwoPhaseWrite) withoutRow(ctx context.Context, s Session, ex *plan.Execution, t *trial, started time.Time, cause *wire.ServerError) (Outcome, error) {
	token := ex.Plan().Token
	if cause.SQLState == "23505" && cause.Constraint == audit.OnceConstraint {
		w.undo(s)
		used := plan.UsedTokenError("an earlier time", "an unknown number of")
		if f := w.ask(ctx, token, plan.Mark{}); f.verdict == committed {
			used = plan.UsedTokenError(f.when, f.rows)
		}
		ex.Stop(string(used.Code), used.Message)
		return Outcome{}, used
	}
	if w.o.AuditRequired {
		w.undo(s)
		ex.Fail()
		return Outcome{}, auditUnavailable()
	}
	w.o.Logger.Error("COMMITTING WITHOUT AN AUDIT ROW", "plan_token_prefix", tokenPrefix(token), "cause", cause)
	replies, err := s.Flush(ctx, wire.Segment{undoRow, step("SELECT pg_catalog.pg_current_xact_id()::text, pg_catalog.pg_postmaster_start_time()::text")})
	if err != nil || replies[0].Err != nil || replies[0].TxStatus != 'T' {
		w.undo(s)
		ex.Fail()
		return Outcome{}, errors.Join(auditUnavailable(), err)
	}
	mark := plan.Mark{Identity: t.identity, XID: cell(replies[0].Results[1], 0, 0), Boot: cell(replies[0].Results[1], 0, 1)}
	if err := w.committing(s, ex, mark); err != nil {
		return Outcome{}, err
	}
	var sc script
	reply, answered := w.sendCommit(ctx, s, &sc)
	if !answered {
		return w.settle(ctx, ex, t, started, mark)
	}
	return w.committedOrNot(ctx, s, ex, t, started, &sc, reply)
}

// tokenPrefix names a plan in the log without giving it away.
func tokenPrefix(t plan.Token) string {
	if len(t) > 6 {
		return string(t[:6])
	}
	return string(t)
}
