package writecore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Preview really runs the statement, rolls it back, and makes a plan of what was measured. It never
// commits: this file holds no COMMIT (TestSourcePreviewHoldsNoCommit).
//
// It returns a *refusal.Error for what is refused; the error is joined with [wire.ErrStaleCatalog] when
// the catalog moved and a second try with fresh facts may succeed.
func (w *TwoPhaseWrite) Preview(ctx context.Context, req Request) (Reply, error) {
	started := time.Now()
	pv, needs, err := w.preview(ctx, req)
	if err != nil && errors.Is(err, wire.ErrStaleCatalog) && !req.Last {
		return Reply{}, err
	}
	if err != nil {
		w.recordRefusal(ctx, req, err, time.Since(started))
		return Reply{}, err
	}
	pv.DurationMS = float64(time.Since(started).Microseconds()) / 1000
	url := w.o.ApprovalURL()
	if needs && url == "" && (req.Reaches == nil || !req.Reaches(pv)) {
		err := refusal.New(refusal.ApprovalUnavailable,
			"This change needs a person's decision, and there is no approval page to decide on. "+strings.TrimPrefix(pv.Why, "You are asked because "),
			"Ask the person who runs this server to enable approvalServer, or choose a change small enough to need no decision.")
		w.recordRefusal(ctx, req, err, time.Since(started))
		return Reply{}, err
	}
	p, joined, err := w.o.Store.Create(pv, needs)
	if err != nil {
		w.recordRefusal(ctx, req, err, time.Since(started))
		return Reply{}, err
	}
	status := audit.Previewed
	if p.State == plan.AwaitingApproval { // a preview that joins an approved plan waits for nobody
		status = audit.AwaitingApproval
	}
	if err := w.o.Audit.Record(ctx, audit.Event{
		Tool: req.Tool, Reason: req.Reason, Statement: pv.Payload.Statement, Params: pv.Payload.Params,
		PreviewRows: &pv.AffectedRows, PlanToken: string(p.Token), Status: status,
		Duration: time.Since(started), CallerID: w.o.CallerID, BlastRadius: radiusJSON(pv.BlastRadius),
	}); err != nil && w.o.AuditRequired {
		if !joined {
			w.o.Store.Withdraw(p.Token, string(refusal.AuditUnavailable), auditUnavailable().Message)
		}
		return Reply{}, auditUnavailable()
	}
	reply := Reply{Plan: p, Joined: joined}
	if p.State == plan.AwaitingApproval {
		reply.ApprovalURL = url
	}
	return reply, nil
}

func auditUnavailable() *refusal.Error {
	return refusal.New(refusal.AuditUnavailable,
		"The audit table could not be written, and audit.required is on: nothing was changed.",
		"Ask the database owner to check that the writer may INSERT into mcp_audit.log, then preview again.")
}

func (w *TwoPhaseWrite) preview(ctx context.Context, req Request) (plan.Preview, bool, error) {
	st := req.Statement
	if st == nil || st.Class() == sqlguard.Read {
		return plan.Preview{}, false, fmt.Errorf("previewing: a statement of class write is needed")
	}
	if err := w.plainText(req.Reason); err != nil {
		return plan.Preview{}, false, err
	}
	if err := w.o.Limits.before(st); err != nil {
		return plan.Preview{}, false, err
	}
	free, err := w.slot(ctx, false)
	if err != nil {
		return plan.Preview{}, false, err
	}
	defer free()
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return plan.Preview{}, false, err
	}
	defer s.Release()
	pv := plan.Preview{
		Tool: req.Tool, Reason: req.Reason, CallerID: w.o.CallerID,
		Payload:    plan.Payload{Statement: st.SQL(), Params: st.Params()},
		SetColumns: st.SetColumns(),
	}
	if st.Class() == sqlguard.DDL {
		return w.previewMigration(ctx, s, st, pv)
	}
	pv.Target = sqlguard.QuoteName(st.Target().Schema, st.Target().Name)
	return w.previewRows(ctx, s, st, pv)
}

// plainText refuses what no text column can hold, before anything runs: a record that cannot be
// written must not be found out about afterwards (TestS15).
func (w *TwoPhaseWrite) plainText(s string) error {
	if strings.ContainsRune(s, 0) {
		return refusal.New(refusal.InvalidInput, "The reason holds the character U+0000, which Postgres cannot store.", "Leave it out.")
	}
	return nil
}

// encode renders the statement's parameters; what Postgres says of the text on the way is an answer.
func (w *TwoPhaseWrite) encode(ctx context.Context, s Codec, st *sqlguard.Statement) ([][]byte, error) {
	params, err := s.EncodeParams(ctx, st.SQL(), st.Params())
	var se *wire.ServerError
	if errors.As(err, &se) && !errors.Is(err, wire.ErrConnectionLost) {
		return nil, wire.Refuse(se, wire.RefuseOptions{Fallback: refusal.WriteFailed, TimeoutSetting: writeTimeout, Masks: st.Masking()})
	}
	if err != nil {
		return nil, lost(err)
	}
	return params, nil
}

// work is what execute needs of a preview beyond the plan's own data.
type work struct {
	statement *sqlguard.Statement
	// repeatable: execute runs REPEATABLE READ; see needsSnapshot.
	repeatable bool
	digest     string
}

// rowRun is what one rolled-back run of a row statement gave.
type rowRun struct {
	affected int64
	digest   string
	sample   wire.Result
	shape    shape
	radius   plan.BlastRadius
	others   []sqlguard.Target
	reached  []reached
	made     []plan.Definition
}

func (w *TwoPhaseWrite) previewRows(ctx context.Context, s Session, st *sqlguard.Statement, pv plan.Preview) (plan.Preview, bool, error) {
	params, err := w.encode(ctx, s, st)
	if err != nil {
		return pv, false, err
	}
	r, err := w.rehearse(ctx, s, st, params)
	if err != nil {
		return pv, false, err
	}
	pv.AffectedRows, pv.BlastRadius, pv.RowsDigest, pv.Definitions = r.affected, r.radius, r.digest, r.made
	m := Measured{Class: st.Class(), Target: pv.Target, AffectedRows: r.affected, Radius: r.radius, Volatile: st.Volatile(), reached: r.reached, text: st}
	for _, t := range r.others {
		if !w.o.CanWrite(t.Schema, t.Name) {
			m.NotWritable = append(m.NotWritable, sqlguard.QuoteName(t.Schema, t.Name))
		}
	}
	d := w.o.Limits.Decide(m)
	if d.Refusal != nil {
		return pv, false, d.Refusal
	}
	pv.Why, pv.Warnings = d.Why, d.Warnings
	if err := fillSample(ctx, s, st, r, &pv); err != nil {
		return pv, false, err
	}
	pv.Warnings = append(pv.Warnings, targetWarnings(st)...)
	pv.Work = &work{statement: st, repeatable: needsSnapshot(st), digest: r.digest}
	return pv, d.NeedsApproval, nil
}

// needsSnapshot tells whether execute must run REPEATABLE READ instead of taking the rows FOR UPDATE:
//   - the target has no row versions, or the role no UPDATE right on it (manual, SELECT, The Locking Clause);
//   - row security is active on it: FOR UPDATE applies other policies than reading, and so meets other rows;
//   - the condition reads anything but the row itself: under READ COMMITTED the probe and the statement
//     would each have a snapshot of their own, and what was approved could become other rows between them.
//
// See TestS04TheConditionReadsElsewhere and TestRowSecurity.
func needsSnapshot(st *sqlguard.Statement) bool {
	t := st.Target()
	if st.Class() == sqlguard.Insert {
		return false
	}
	return !hasRowVersions(t) || !t.Can.Update || t.RowSecurity || st.ReadsElsewhere()
}

func targetWarnings(st *sqlguard.Statement) []plan.Warning {
	var out []plan.Warning
	t := st.Target()
	name := sqlguard.QuoteName(t.Schema, t.Name)
	if t.Persistence == 'u' || t.Persistence == 't' {
		out = append(out, plan.Warning{Code: plan.WarnNotDurable, Message: name + " is not durable: an unlogged table is emptied by a crash of the server, a temporary one by the end of its session."})
	}
	if t.RowSecurity {
		out = append(out, plan.Warning{Code: plan.WarnRowSecurity, Message: "Row security is active on " + name + ": only rows that its policies show are counted and changed."})
	}
	if st.UnstableWhere() {
		out = append(out, plan.Warning{Code: plan.WarnUnstableWhere, Message: "The condition may choose other rows each time it runs, so the rows themselves are not bound, only their number and the blast radius."})
	}
	return out
}

// rehearse runs the statement and rolls it back, up to three times when others change the rows.
func (w *TwoPhaseWrite) rehearse(ctx context.Context, s Session, st *sqlguard.Statement, params [][]byte) (rowRun, error) {
	for try := 1; ; try++ {
		r, again, err := w.rehearseOnce(ctx, s, st, params)
		if err == nil || again == nil {
			return r, err
		}
		if try == maxTries {
			return r, changedByOthers(st, again)
		}
		if err := pause(ctx, try); err != nil {
			return r, err
		}
	}
}

func (w *TwoPhaseWrite) rehearseOnce(ctx context.Context, s Session, st *sqlguard.Statement, params [][]byte) (rowRun, *wire.ServerError, error) {
	m := wire.NewMark()
	sc := script{timeout: writeTimeout}
	repeatable := st.Class() != sqlguard.Insert
	sc.begin(repeatable)
	sc.Add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	sc.Add("state", step(stateSQL))
	guardSteps(&sc, st, st.Facts(), m)
	unstableProbe := st.Class() != sqlguard.Insert && st.UnstableWhere()
	if !unstableProbe && s.ServerVersion() < pg15 {
		sc.Add("baseline", step(baselineSQL)) // before the probe, as at execute
	}
	if st.Class() != sqlguard.Insert {
		if unstableProbe {
			sc.Add("savepoint", savepointProbe)
		}
		sc.Add("probe", probe(st, params[:st.WhereParams()], w.o.Limits.capFor(st), false, m))
		if unstableProbe {
			sc.Add("undo", undoProbe)
		}
	}
	if unstableProbe { // what the condition's functions did in the probe was undone but is still counted
		sc.Add("baseline", step(baselineSQL))
	}
	runStep, shape := run(st, params, columnNames(st.Target()))
	sc.Add("run", runStep)
	runDeferred(&sc)
	sc.Add("effects", step(effectsSQL))
	sc.Add("state after", step(stateSQL))

	reply, err := w.send(ctx, s, &sc, true)
	if err != nil {
		return rowRun{}, nil, err
	}
	if e := reply.Err; e != nil {
		if retryable(e) {
			return rowRun{}, e, errTryAgain
		}
		return rowRun{}, nil, w.explainFailure(ctx, st, &sc, reply, m)
	}
	out, err := w.readRun(s, st, &sc, reply, shape)
	return out, nil, err
}

// readRun takes the measurements out of a run that went through.
func (w *TwoPhaseWrite) readRun(s Flusher, st *sqlguard.Statement, sc *script, reply wire.Reply, sh shape) (rowRun, error) {
	if err := sameState(s, sc, reply); err != nil {
		return rowRun{}, err
	}
	r := rowRun{shape: sh}
	if p, ok := sc.Result(reply, "probe"); ok && !st.UnstableWhere() {
		r.digest = digestOf(p)
	}
	r.sample, _ = sc.Result(reply, "run")
	n, err := count(r.sample)
	if err != nil {
		return r, err
	}
	r.affected = n
	eff, _ := sc.Result(reply, "effects")
	effects, err := effectsOf(eff)
	if err != nil {
		return r, err
	}
	r.made = definitionsOf(effects)
	base, _ := sc.Result(reply, "baseline")
	r.radius, r.others = radius(st, effects, baselineOf(base), n, tracked(sc, reply))
	r.reached = reachedBy(st, effects, baselineOf(base), tracked(sc, reply))
	return r, nil
}

// sameState holds the session's role and settings behind the statement against those before it. A
// connection on which they differ is not used again.
func sameState(s Flusher, sc *script, reply wire.Reply) error {
	before, _ := sc.Result(reply, "state")
	after, ok := sc.Result(reply, "state after")
	if ok && cell(before, 0, 0) == cell(after, 0, 0) {
		return nil
	}
	s.Discard()
	return refusal.New(refusal.WriteFailed,
		"The statement changed the role or a setting of its own session, so it was rolled back.",
		"Call no function that changes the session's role, timeouts or search_path.")
}

// tracked tells whether Postgres counted the rows (track_counts, the last setting of state.sql).
func tracked(sc *script, reply wire.Reply) bool {
	after, _ := sc.Result(reply, "state after")
	return strings.HasSuffix(cell(after, 0, 0), "|on")
}

// digestOf binds the rows: their number and both sums.
func digestOf(p wire.Result) string {
	return cell(p, 0, 0) + ":" + cell(p, 0, 1) + ":" + cell(p, 0, 2)
}

func count(r wire.Result) (int64, error) {
	var n int64
	if _, err := fmt.Sscan(cell(r, 0, 0), &n); err != nil {
		return 0, fmt.Errorf("reading the row count: %w", err)
	}
	return n, nil
}
