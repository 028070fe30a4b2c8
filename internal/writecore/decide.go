package writecore

import (
	"context"
	"sync"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Plans lists the plans that wait for a person, soonest to expire first; all adds those that are open
// otherwise (approved and not yet run, executing, unknown).
func (w *TwoPhaseWrite) Plans(all bool) []plan.Plan {
	var out []plan.Plan
	for _, p := range w.o.Store.List() {
		if all || p.State == plan.AwaitingApproval {
			out = append(out, p)
		}
	}
	return out
}

// Approve records a person's yes. already is true when it changed nothing.
func (w *TwoPhaseWrite) Approve(ctx context.Context, token plan.Token, by string) (p plan.Plan, already bool, err error) {
	defer w.recording.begin(token)()
	p, already, err = w.o.Store.Approve(token, by)
	if err == nil && !already {
		w.recordDecision(ctx, "approve_plan", audit.Approved, p, by, "")
	}
	return p, already, err
}

// Reject records a person's no, for good. The first reason counts.
func (w *TwoPhaseWrite) Reject(ctx context.Context, token plan.Token, by, reason string) (p plan.Plan, already bool, err error) {
	defer w.recording.begin(token)()
	p, already, err = w.o.Store.Reject(token, by, reason)
	if err == nil && !already {
		w.recordDecision(ctx, "reject_plan", audit.Rejected, p, by, reason)
	}
	return p, already, err
}

// recording keeps the ledger in the order of events: an execute that waits for a decision goes on when
// the decision's row is written (or could not be), so that "executed" never stands before "approved".
type recording struct {
	mu   sync.Mutex
	open map[plan.Token]*sync.WaitGroup
}

// begin says that a decision about token is being made; the returned function ends it.
func (r *recording) begin(token plan.Token) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[plan.Token]*sync.WaitGroup{}
	}
	g := r.open[token]
	if g == nil {
		g = &sync.WaitGroup{}
		r.open[token] = g
	}
	g.Add(1)
	return func() {
		r.mu.Lock()
		if r.open[token] == g {
			delete(r.open, token)
		}
		r.mu.Unlock()
		g.Done()
	}
}

// wait returns when no decision about token that had begun is still being recorded.
func (r *recording) wait(token plan.Token) {
	r.mu.Lock()
	g := r.open[token]
	r.mu.Unlock()
	if g != nil {
		g.Wait()
	}
}

// recordDecision writes the row of a decision. It stands even if the row cannot be written: a
// rejection must never be lost, and an approval without its row is stopped at execute by
// audit.required.
func (w *TwoPhaseWrite) recordDecision(ctx context.Context, tool string, status audit.Status, p plan.Plan, by, reason string) {
	if by == "" {
		by = "unknown"
	}
	_ = w.o.Audit.Record(ctx, audit.Event{
		Tool: tool, Reason: reason, PlanToken: string(p.Token), ApprovedBy: by, Status: status,
		PreviewRows: &p.AffectedRows, CallerID: w.o.CallerID,
	}) // loud and counted there
}

// RecordExpired writes the row of a plan that expired; the store calls it.
func (w *TwoPhaseWrite) RecordExpired(p plan.Plan) {
	w.recordEnded(p, refusal.ExpiredToken)
}

// RecordSuperseded writes the row of a plan that a newer preview replaced; the store calls it.
func (w *TwoPhaseWrite) RecordSuperseded(p plan.Plan) {
	w.recordEnded(p, refusal.SupersededPlan)
}

// recordEnded writes the row of a plan that ended without a decision.
func (w *TwoPhaseWrite) recordEnded(p plan.Plan, code refusal.Code) {
	_ = w.o.Audit.Record(context.Background(), audit.Event{
		Tool: p.Tool, Reason: p.Reason, Statement: p.Payload.Statement, Params: p.Payload.Params,
		PreviewRows: &p.AffectedRows, PlanToken: string(p.Token), Status: audit.Failed,
		CallerID: w.o.CallerID, ErrorCode: string(code),
	}) // loud and counted there
}

// Recheck runs the bounded probe of a waiting plan again, read only and rolled back: nil when the rows
// are those that were previewed, ROWSET_CHANGED when not. A plan without row digest is always unchanged.
func (w *TwoPhaseWrite) Recheck(ctx context.Context, token plan.Token) error {
	p, ok := w.o.Store.Get(token)
	if !ok {
		return w.o.Store.Check(token, plan.Echo{})
	}
	wk, ok := p.Work.(*work)
	if !ok || wk.digest == "" {
		return nil
	}
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	params, err := w.encode(ctx, s, wk.statement)
	if err != nil {
		return err
	}
	m := mark()
	var sc script
	sc.add("begin", step("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
	sc.add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	guardSteps(&sc, wk.statement, params, m)
	sc.add("probe", probe(wk.statement, params[:wk.statement.WhereParams()], w.o.Limits.HardMax, false, m))
	replies, err := s.Flush(ctx, append([]wire.Segment{sc.steps}, closing(s.ServerVersion())...)...)
	if err != nil {
		return lost(err)
	}
	if e := replies[0].Err; e != nil {
		if _, ok := marked(e, m); ok && sc.failed(replies[0]) == "probe" {
			return rowsetChanged("more rows match now than the hard cap allows")
		}
		return w.explainFailure(ctx, wk.statement, &sc, replies[0], m)
	}
	pr, _ := sc.result(replies[0], "probe")
	if now := digestOf(pr); now != wk.digest {
		return rowsetChanged(digestDifference(wk.digest, now))
	}
	return nil
}
