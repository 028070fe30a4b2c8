package writecore

import (
	"context"
	"sync"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Plans lists the plans that wait for a person, oldest first; all adds those that are open otherwise
// (previewed, approved and not yet run, executing, unknown).
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
//
// The row is written before the plan moves, so that "executed" never stands before "approved". With
// audit.required an approval that cannot be recorded is none: AUDIT_UNAVAILABLE, and the plan waits on.
func (w *TwoPhaseWrite) Approve(ctx context.Context, token plan.Token, by string) (p plan.Plan, already bool, err error) {
	defer w.deciding.lock(token)()
	if p, ok := w.o.Store.Get(token); ok && p.State == plan.AwaitingApproval && w.o.Store.Decidable(token) == nil {
		if err := w.recordDecision(ctx, "approve_plan", audit.Approved, p, by, ""); err != nil && w.o.AuditRequired {
			return p, false, auditUnavailable()
		}
	}
	return w.o.Store.Approve(token, by)
}

// Reject records a person's no, for good. The first reason counts. It stands even if its row cannot be
// written: a rejection must never be lost.
func (w *TwoPhaseWrite) Reject(ctx context.Context, token plan.Token, by, reason string) (p plan.Plan, already bool, err error) {
	defer w.deciding.lock(token)()
	if p, ok := w.o.Store.Get(token); ok && p.State != plan.Rejected && w.o.Store.Decidable(token) == nil {
		_ = w.recordDecision(ctx, "reject_plan", audit.Rejected, p, by, reason) // loud and counted there
	}
	return w.o.Store.Reject(token, by, reason)
}

// deciding lets one decision about a token be made at a time.
type deciding struct {
	mu   sync.Mutex
	held map[plan.Token]*turn
}

type turn struct {
	sync.Mutex
	users int
}

// lock waits for its turn; the returned function gives it back.
func (d *deciding) lock(token plan.Token) (unlock func()) {
	d.mu.Lock()
	if d.held == nil {
		d.held = map[plan.Token]*turn{}
	}
	t := d.held[token]
	if t == nil {
		t = &turn{}
		d.held[token] = t
	}
	t.users++
	d.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(d.held, token)
		}
	}
}

// recordDecision writes the row of a decision.
func (w *TwoPhaseWrite) recordDecision(ctx context.Context, tool string, status audit.Status, p plan.Plan, by, reason string) error {
	if by == "" {
		by = "unknown"
	}
	return w.o.Audit.Record(ctx, audit.Event{
		Tool: tool, Reason: reason, PlanToken: string(p.Token), ApprovedBy: by, Status: status,
		PreviewRows: &p.AffectedRows, CallerID: w.o.CallerID,
	})
}

// RecordDenied writes the row of an approval that was turned down before it reached the plan: code says why.
// It names the plan only while that waits: of one that has ended, its end stays the last event.
func (w *TwoPhaseWrite) RecordDenied(ctx context.Context, p plan.Plan, by, code string) {
	e := audit.Event{Tool: "approve_plan", ApprovedBy: by, Status: audit.Failed, CallerID: w.o.CallerID, ErrorCode: code}
	if p.State == plan.AwaitingApproval {
		e.PlanToken, e.PreviewRows = string(p.Token), &p.AffectedRows
	}
	_ = w.o.Audit.Record(ctx, e) // loud and counted there
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

// Recheck tells whether an open plan still stands for what was previewed, read only and rolled back: nil
// when the rows and definitions (for a migration, the definitions) are those that were previewed, ROWSET_CHANGED when
// not, and the refusal of the gate when the plan is over.
func (w *TwoPhaseWrite) Recheck(ctx context.Context, token plan.Token) error {
	if err := w.o.Store.Decidable(token); err != nil {
		return err
	}
	p, _ := w.o.Store.Get(token)
	wk, ok := p.Work.(*work)
	if !ok || p.RowsDigest == "" && len(p.Definitions) == 0 {
		return nil
	}
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	m := wire.NewMark()
	sc := script{timeout: writeTimeout}
	sc.Add("begin", step("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
	sc.Add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	if wk.statement.Class() == sqlguard.DDL {
		sc.Add("definitions", definitions(wk.statement))
	} else {
		params, err := w.encode(ctx, s, wk.statement)
		if err != nil {
			return err
		}
		guardSteps(&sc, wk.statement, wire.WithoutPartitions(wk.statement.Facts()), m)
		if p.RowsDigest != "" {
			sc.Add("probe", probe(wk.statement, params[:wk.statement.WhereParams()], w.o.Limits.HardMax, false, m))
		}
		sc.Add("behaviours", behaviours(p.Definitions))
	}
	reply, err := w.send(ctx, s, &sc, true)
	if err != nil {
		return err
	}
	if e := reply.Err; e != nil {
		if _, ok := wire.Marked(e, m); ok && sc.Failed(reply) == "probe" {
			return rowsetChanged("more rows match now than the hard cap allows")
		}
		return asDrift(w.explainFailure(ctx, wk.statement, &sc, reply, m))
	}
	if wk.statement.Class() == sqlguard.DDL {
		return compareDefinitions(p, &sc, reply)
	}
	if pr, ok := sc.Result(reply, "probe"); ok {
		if now := digestOf(pr); now != p.RowsDigest {
			return rowsetChanged(digestDifference(p.RowsDigest, now))
		}
	}
	now, _ := sc.Result(reply, "behaviours")
	if diff := plan.DefinitionsDifference(p.Definitions, definitionsIn(now)); diff != "" {
		return definitionChanged(diff)
	}
	return nil
}
