package writecore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
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
// It returns a *refusal.Error for what is refused; the error is joined with [ErrStaleCatalog] when
// the catalog moved and a second try with fresh facts may succeed.
func (w *TwoPhaseWrite) Preview(ctx context.Context, req Request) (Reply, error) {
	started := time.Now()
	pv, needs, err := w.preview(ctx, req)
	if err != nil && errors.Is(err, ErrStaleCatalog) && !req.Last {
		return Reply{}, err
	}
	if err != nil {
		w.recordRefusal(ctx, req, err, time.Since(started))
		return Reply{}, err
	}
	pv.DurationMS = float64(time.Since(started).Microseconds()) / 1000
	url := w.o.ApprovalURL()
	if needs && url == "" {
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
		return nil, wire.Refuse(se, wire.RefuseOptions{Fallback: refusal.WriteFailed, TimeoutSetting: writeTimeout})
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
	pv.AffectedRows, pv.BlastRadius, pv.RowsDigest = r.affected, r.radius, r.digest
	m := Measured{Class: st.Class(), AffectedRows: r.affected, Radius: r.radius, Volatile: st.Volatile()}
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
	return !hasRowVersions(t) || !t.Can.Update || t.RowSecurity || readsElsewhere(st)
}

func readsElsewhere(st *sqlguard.Statement) bool { return len(st.Relations()) > 1 }

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
			return r, changedByOthers(again)
		}
	}
}

func (w *TwoPhaseWrite) rehearseOnce(ctx context.Context, s Session, st *sqlguard.Statement, params [][]byte) (rowRun, *wire.ServerError, error) {
	m := newMark()
	sc := script{timeout: writeTimeout}
	repeatable := st.Class() != sqlguard.Insert
	sc.add("begin", begin(repeatable))
	sc.add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	sc.add("state", step(stateSQL))
	guardSteps(&sc, st, params, m)
	unstableProbe := st.Class() != sqlguard.Insert && st.UnstableWhere()
	if st.Class() != sqlguard.Insert {
		if unstableProbe {
			sc.add("savepoint", savepointProbe)
		}
		sc.add("probe", probe(st, params[:st.WhereParams()], w.o.Limits.HardMax, false, m))
		if unstableProbe {
			sc.add("undo", undoProbe)
		}
	}
	// What the condition's functions did in the probe was undone but is still counted.
	if unstableProbe || s.ServerVersion() < pg15 {
		sc.add("baseline", step(baselineSQL))
	}
	runStep, shape := run(st, params, columnNames(st.Target()))
	sc.add("run", runStep)
	sc.add("deferred", deferredNow)
	sc.add("effects", step(effectsSQL))
	sc.add("state after", step(stateSQL))

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
	if p, ok := sc.result(reply, "probe"); ok && !st.UnstableWhere() {
		r.digest = digestOf(p)
	}
	r.sample, _ = sc.result(reply, "run")
	n, err := count(r.sample)
	if err != nil {
		return r, err
	}
	r.affected = n
	eff, _ := sc.result(reply, "effects")
	effects, err := effectsOf(eff)
	if err != nil {
		return r, err
	}
	base, _ := sc.result(reply, "baseline")
	r.radius, r.others = radius(st, effects, baselineOf(base), n, tracked(sc, reply))
	return r, nil
}

// sameState holds the session's role and settings behind the statement against those before it. A
// connection on which they differ is not used again.
func sameState(s Flusher, sc *script, reply wire.Reply) error {
	before, _ := sc.result(reply, "state")
	after, ok := sc.result(reply, "state after")
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
	after, _ := sc.result(reply, "state after")
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

// fillSample renders sample rows, changes and the warnings that belong to them.
func fillSample(ctx context.Context, s Codec, st *sqlguard.Statement, r rowRun, pv *plan.Preview) error {
	pv.SampleRows, pv.Changes = []plan.Row{}, []plan.Change{}
	if r.affected > 0 {
		values, err := s.Values(ctx, r.sample)
		if err != nil {
			return fmt.Errorf("rendering the sample: %w", err)
		}
		n := len(r.shape.names)
		for i, row := range values {
			now := make(plan.Row, n)
			for c, name := range r.shape.names {
				now[c] = plan.Field{Column: name, Value: row[1+c]}
			}
			pv.SampleRows = append(pv.SampleRows, now)
			if r.shape.pairs != noPairs {
				pv.Changes = append(pv.Changes, change(st.Target(), now, row[1+n:], r.sample.Rows[i], n))
			}
		}
	}
	switch st.Class() {
	case sqlguard.Update:
		if r.shape.pairs == noPairs {
			pv.Warnings = append(pv.Warnings, plan.Warning{Code: plan.WarnNoPairs, Message: "Old and new rows could not be matched (no key), so changes is empty; sample_rows shows the new values."})
		}
	case sqlguard.Insert:
		if cols := fromSequence(st); len(cols) > 0 {
			pv.Warnings = append(pv.Warnings, plan.Warning{Code: plan.WarnPreviewValuesDiffer, Message: "The shown values of " + strings.Join(cols, ", ") + " come from a sequence; the committed rows will have others."})
		}
	case sqlguard.Delete, sqlguard.DDL, sqlguard.Read:
	}
	return nil
}

// change keeps the columns whose text differs. raw is the row as Postgres printed it: count, n new
// values, n old values.
func change(t sqlguard.Relation, now plan.Row, old []json.RawMessage, raw [][]byte, n int) plan.Change {
	c := plan.Change{Key: plan.Row{}, Before: plan.Row{}, After: plan.Row{}}
	for _, k := range t.PrimaryKey {
		for i, f := range now {
			if f.Column == k {
				c.Key = append(c.Key, plan.Field{Column: k, Value: old[i]})
			}
		}
	}
	for i, f := range now {
		a, b := raw[1+n+i], raw[1+i]
		if (a == nil) != (b == nil) || string(a) != string(b) {
			c.Before = append(c.Before, plan.Field{Column: f.Column, Value: old[i]})
			c.After = append(c.After, f)
		}
	}
	return c
}

// fromSequence lists the columns that a sequence fills because the INSERT does not name them.
func fromSequence(st *sqlguard.Statement) []string {
	given := map[string]bool{}
	for _, c := range st.Columns() {
		given[c] = true
	}
	var out []string
	for _, c := range st.Target().Columns {
		if c.FromSequence && !given[c.Name] {
			out = append(out, c.Name)
		}
	}
	return out
}

// radiusJSON is the blast radius as the contract and the audit table have it.
func radiusJSON(r plan.BlastRadius) json.RawMessage {
	type table struct {
		Table    string `json:"table"`
		Inserted int64  `json:"inserted"`
		Updated  int64  `json:"updated"`
		Deleted  int64  `json:"deleted"`
	}
	out := struct {
		TotalRows int64    `json:"total_rows"`
		Tables    []table  `json:"tables"`
		Unknown   []string `json:"unknown,omitempty"`
	}{TotalRows: r.TotalRows, Tables: make([]table, 0, len(r.Tables)), Unknown: r.Unknown}
	for _, t := range r.Tables {
		out.Tables = append(out.Tables, table{t.Name, t.Inserted, t.Updated, t.Deleted})
	}
	b, err := json.Marshal(out)
	if err != nil { // cannot happen: strings and integers
		return json.RawMessage(`{}`)
	}
	return b
}

// recordRefusal writes the row of a write that was refused or failed in its preview.
func (w *TwoPhaseWrite) recordRefusal(ctx context.Context, req Request, err error, took time.Duration) {
	e := audit.Event{
		Tool: req.Tool, Reason: req.Reason, Status: audit.Failed, Duration: took,
		CallerID: w.o.CallerID, ErrorCode: codeOf(err),
	}
	if req.Statement != nil {
		e.Statement, e.Params = req.Statement.SQL(), req.Statement.Params()
	}
	if refusal.Is(err, refusal.HardMaxRowsExceeded) {
		e.Status = audit.HardCapRefused
	}
	_ = w.o.Audit.Record(ctx, e) // loud and counted there
}

// Refused records a write that was refused before it became a statement.
func (w *TwoPhaseWrite) Refused(ctx context.Context, tool, reason, statement string, params []json.RawMessage, err error) {
	_ = w.o.Audit.Record(ctx, audit.Event{
		Tool: tool, Reason: reason, Statement: statement, Params: params,
		Status: audit.Failed, CallerID: w.o.CallerID, ErrorCode: codeOf(err),
	}) // loud and counted there
}

// codeOf is the error_code of the audit row: the refusal's, else that the caller left or a fault.
func codeOf(err error) string {
	if e, ok := refusal.As(err); ok {
		return string(e.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return audit.Cancelled
	}
	return string(refusal.InternalError)
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
