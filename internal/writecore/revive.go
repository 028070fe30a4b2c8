package writecore

import (
	"context"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// revive makes a plan of an earlier process whole again when its statement and params are given back:
// they go through the guard anew, and what comes out is what runs, against the digest and the blast
// radius of the preview that was journaled. See TestJournalRevives.
func (w *TwoPhaseWrite) revive(ctx context.Context, req ExecuteRequest) error {
	p, ok := w.o.Store.Dormant(req.Token, req.Echo)
	if !ok || w.o.Recheck == nil {
		return nil // the gates answer
	}
	if w.o.Disabled != nil {
		if err := w.o.Disabled(p.Tool); err != nil { // see TestJournalRevivesOnlyToolsOfToday
			return err
		}
	}
	st, err := w.o.Recheck(ctx, req.Echo.Payload.Statement, req.Echo.Payload.Params)
	if err != nil {
		return err
	}
	if err := w.o.Limits.before(st); err != nil {
		return err
	}
	m := Measured{Class: st.Class(), Target: p.Target, AffectedRows: p.AffectedRows, Radius: p.BlastRadius, Volatile: st.Volatile()}
	for _, t := range p.BlastRadius.Tables {
		if name, err := sqlguard.ParseName(t.Name); !t.Named && (err != nil || !w.o.CanWrite(name.Schema, name.Name)) {
			m.NotWritable = append(m.NotWritable, t.Name)
		}
	}
	// The limits may be others than those of the process that previewed.
	d := w.o.Limits.Decide(m)
	if d.Refusal != nil {
		return d.Refusal
	}
	if d.NeedsApproval && w.o.ApprovalURL() == "" && req.Consult == nil { // else Consult tells, behind the gates
		return refusal.New(refusal.ApprovalUnavailable,
			"This change needs a person's decision, and there is no approval page to decide on.",
			"Ask the person who runs this server to enable approvalServer.")
	}
	return w.o.Store.Revive(req.Token, plan.Preview{
		Payload: plan.Payload{Statement: st.SQL(), Params: st.Params()}, Reason: req.Reason, CallerID: w.o.CallerID,
		SetColumns: st.SetColumns(), Warnings: append(d.Warnings, targetWarnings(st)...), Why: d.Why,
		Work: &work{statement: st, repeatable: needsSnapshot(st), digest: p.RowsDigest},
	}, d.NeedsApproval)
}

// Recover asks the ledger about every plan whose outcome is unknown, once: those that an earlier
// process was executing when it died. A plan that cannot be settled now is asked about again by the
// next execute_plan. It returns how many of each there were.
func (w *TwoPhaseWrite) Recover(ctx context.Context) (executed, notExecuted, unknown int) {
	for _, p := range w.o.Store.Unsettled() {
		if ctx.Err() != nil {
			unknown++
			continue
		}
		switch f := w.settleLater(ctx, p.Token); f.verdict {
		case committed:
			executed++
		case absent:
			notExecuted++
		case cannotTell, noLedger:
			unknown++
		}
	}
	return executed, notExecuted, unknown
}
