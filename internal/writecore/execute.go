package writecore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Execute commits the plan that req names, once, after every gate has passed; a plan that waits for
// a person is waited for, without a connection. It is the only way to a commit; see commit.go.
//
// The sending of COMMIT is the point of no return: until then a cancelled ctx rolls back; after it the
// call finishes under its own deadline.
func (w *TwoPhaseWrite) Execute(ctx context.Context, req ExecuteRequest) (Outcome, error) {
	started := time.Now()
	ex, err := w.begin(ctx, req)
	if err != nil {
		w.recordGate(ctx, req, err, time.Since(started))
		return Outcome{}, err
	}
	return w.execute(ctx, req, ex, time.Now()) // how long it took does not count a person's thinking
}

// begin passes every gate, waits where only a person's decision is missing, and takes the plan.
func (w *TwoPhaseWrite) begin(ctx context.Context, req ExecuteRequest) (*plan.Execution, error) {
	if err := w.plainText(req.Reason); err != nil {
		return nil, err
	}
	if err := w.whole(ctx, req); err != nil {
		return nil, w.ledgerAnswer(ctx, req, err)
	}
	ex, err := w.o.Store.Begin(req.Token, req.Echo)
	if err != nil {
		return nil, w.ledgerAnswer(ctx, req, err)
	}
	return ex, nil
}

// whole makes a plan of an earlier process whole, where it is one, and passes the gates. Between the two
// such a plan may be settled (Recover) and be open only then: it is tried once more.
func (w *TwoPhaseWrite) whole(ctx context.Context, req ExecuteRequest) error {
	for try := 1; ; try++ {
		if err := w.revive(ctx, req); err != nil {
			return err
		}
		err := w.await(ctx, req)
		if try == 1 && refusal.Is(err, refusal.StatementMismatch) {
			if _, dormant := w.o.Store.Dormant(req.Token, req.Echo); dormant && w.o.Recheck != nil {
				continue
			}
		}
		return err
	}
}

// recordGate writes the row of an execute that a gate refused. A plan that still waits is no event:
// the agent asks again and again.
func (w *TwoPhaseWrite) recordGate(ctx context.Context, req ExecuteRequest, err error, took time.Duration) {
	if refusal.Is(err, refusal.AwaitingApproval) || refusal.Is(err, refusal.TooManyWaiting) {
		return
	}
	e := audit.Event{
		Tool: "execute_plan", Reason: req.Reason, PlanToken: string(req.Token), Status: audit.Failed,
		Duration: took, CallerID: w.o.CallerID, ErrorCode: codeOf(err),
	}
	if req.Echo.Payload != nil {
		e.Statement, e.Params = req.Echo.Payload.Statement, req.Echo.Payload.Params
	}
	_ = w.o.Audit.Record(ctx, e) // loud and counted there
}

// await passes the gates; only a plan whose last gate is "awaiting approval" waits, and only so many at once.
func (w *TwoPhaseWrite) await(ctx context.Context, req ExecuteRequest) error {
	err := w.o.Store.Check(req.Token, req.Echo)
	if !refusal.Is(err, refusal.AwaitingApproval) {
		return err
	}
	if err = w.consult(ctx, req); !refusal.Is(err, refusal.AwaitingApproval) || asked(err) {
		return err
	}
	select {
	case w.waiting <- struct{}{}:
		defer func() { <-w.waiting }()
	default:
		return refusal.New(refusal.TooManyWaiting,
			fmt.Sprintf("%d calls already wait for a person.", cap(w.waiting)),
			"The plan still waits. Call execute_plan again later with the same arguments.")
	}
	bounded, cancel := context.WithTimeout(ctx, w.o.ExecuteWait)
	defer cancel()
	if req.Progress != nil {
		stop := make(chan struct{})
		done := make(chan struct{})
		defer func() { close(stop); <-done }()
		go func() {
			defer close(done)
			w.report(stop, req.Progress)
		}()
	}
	waitErr := w.waitFor(bounded, req)
	if waitErr != nil && bounded.Err() != nil && ctx.Err() == nil {
		if _, isRefusal := refusal.As(waitErr); !isRefusal {
			return err // still waiting: the AWAITING_APPROVAL of the gate
		}
	}
	return waitErr
}

func (w *TwoPhaseWrite) report(stop <-chan struct{}, progress func(string)) {
	t := time.NewTicker(w.o.Progress)
	defer t.Stop()
	for {
		progress("waiting for a person to decide")
		select {
		case <-stop:
			return
		case <-t.C:
		}
	}
}

// ledgerAnswer looks a token that this process does not know up in the ledger: executed before is
// USED_TOKEN with when and how many; a ledger that cannot be asked is no answer, and is said so.
func (w *TwoPhaseWrite) ledgerAnswer(ctx context.Context, req ExecuteRequest, err error) error {
	if refusal.Is(err, refusal.OutcomeUnknown) {
		return w.reconcile(ctx, req, err)
	}
	if !refusal.Is(err, refusal.UnknownToken) {
		return err
	}
	switch f := w.ask(ctx, req.Token, plan.Mark{}); f.verdict {
	case committed:
		return plan.UsedTokenError(f.when, f.rows)
	case cannotTell:
		return refusal.New(refusal.DatabaseUnavailable,
			"This server does not know the token, and the ledger could not be asked whether it was executed.",
			"Call execute_plan again with the same token in a moment. Do not preview the change again before that is known.")
	case absent, noLedger:
	}
	return err
}

// tokenKey is the advisory lock of a token: whoever holds it is the one executing or settling it.
func tokenKey(t plan.Token) wire.Step {
	sum := sha256.Sum256([]byte("sw-postgres-mcp plan " + string(t)))
	key := int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // any 64 bits make a key
	return wire.Step{SQL: "SELECT pg_catalog.pg_advisory_xact_lock($1::bigint)", Params: [][]byte{strconv.AppendInt(nil, key, 10)}}
}

func (w *TwoPhaseWrite) execute(ctx context.Context, req ExecuteRequest, ex *plan.Execution, started time.Time) (Outcome, error) {
	p := ex.Plan()
	out, err := w.commitPlan(ctx, req, ex, started)
	if err == nil {
		return out, nil
	}
	// The failure is recorded beside the transaction that was rolled back. An unknown outcome too.
	_ = w.o.Audit.Record(ctx, audit.Event{
		Tool: p.Tool, Reason: bothReasons(p.Reason, req.Reason), Statement: p.Payload.Statement, Params: p.Payload.Params,
		PreviewRows: &p.AffectedRows, PlanToken: string(p.Token), ApprovedBy: actor(p),
		Status: audit.Failed, Duration: time.Since(started), CallerID: w.o.CallerID, ErrorCode: codeOf(err),
	}) // loud and counted there
	return Outcome{}, err
}

// bothReasons keeps what was said at the preview and, if anything, at execute_plan.
func bothReasons(preview, execute string) string {
	if execute == "" || execute == preview {
		return preview
	}
	return preview + "\nAt execute_plan: " + execute
}

func actor(p plan.Plan) string {
	if p.Decision == nil {
		return ""
	}
	return p.Decision.Actor
}

// commitPlan runs the two flushes and settles ex exactly once.
func (w *TwoPhaseWrite) commitPlan(ctx context.Context, req ExecuteRequest, ex *plan.Execution, started time.Time) (Outcome, error) {
	p := ex.Plan()
	wk, ok := p.Work.(*work)
	if !ok || wk.statement == nil {
		ex.Fail()
		return Outcome{}, fmt.Errorf("executing: the plan holds no checked statement")
	}
	free, err := w.slot(ctx, wk.repeatable)
	if err != nil {
		ex.Fail()
		return Outcome{}, err
	}
	defer free()
	s, err := w.o.Acquire(ctx)
	if err != nil {
		ex.Fail()
		return Outcome{}, err
	}
	defer s.Release()
	turned, err := w.turnBehindPooler(ctx, s, wk)
	if err != nil {
		ex.Fail()
		return Outcome{}, err
	}
	defer turned()
	params, err := w.encode(ctx, s, wk.statement)
	if err != nil {
		ex.Fail()
		return Outcome{}, err
	}
	var t *trial
	for try := 1; ; try++ {
		var again *wire.ServerError
		t, again, err = w.try(ctx, s, p, wk, params)
		if err == nil {
			break
		}
		if again != nil && try < maxTries {
			if err = pause(ctx, try); err == nil {
				continue
			}
			again = nil // the caller left
		}
		if again != nil {
			err = changedByOthers(wk.statement, again)
		}
		settleFailure(ex, err)
		return Outcome{}, err
	}
	if err := w.look(ctx, p, wk, t); err != nil {
		w.undo(s)
		settleFailure(ex, err)
		return Outcome{}, err
	}
	// Everything matches. Last look before the point of no return.
	if err := ctx.Err(); err != nil {
		w.undo(s)
		ex.Fail()
		return Outcome{}, err
	}
	t.reason = bothReasons(p.Reason, req.Reason)
	return w.finish(ctx, s, ex, wk, t, started)
}

// settleFailure: what was approved no longer holds → the plan is over; anything else may be tried again.
func settleFailure(ex *plan.Execution, err error) {
	if r, ok := refusal.As(err); ok && r.Code == refusal.RowsetChanged {
		ex.Stop(string(r.Code), r.Message)
		return
	}
	ex.Fail()
}

// undo rolls the open transaction back; a connection that cannot do so is destroyed by Release.
func (w *TwoPhaseWrite) undo(s Session) {
	ctx, cancel := context.WithTimeout(context.Background(), finishTimeout)
	defer cancel()
	replies, err := s.Flush(ctx, closing(s.ServerVersion())...)
	if err != nil {
		s.Discard()
		return
	}
	w.mustBeIdle(s, replies)
}

// trial is an open transaction in which the statement ran and everything matched.
type trial struct {
	affected int64
	radius   plan.BlastRadius
	returned wire.Result
	shape    shape
	identity string
	reason   string            // what goes into the executed row
	made     []plan.Definition // read behind the run, in its own snapshot
	unseen   []plan.Definition // of those, what look must read again
}

// try runs the first flush: lock the token, take the rows, run the stored statement, compare. On any
// error the transaction is rolled back before it returns; again is set when it may simply be retried.
func (w *TwoPhaseWrite) try(ctx context.Context, s Session, p plan.Plan, wk *work, params [][]byte) (*trial, *wire.ServerError, error) {
	t, again, err := w.tryWith(ctx, s, p, wk, params, wk.repeatable)
	if errors.Is(err, errCannotLock) {
		return w.tryWith(ctx, s, p, wk, params, false)
	}
	return t, again, err
}

// errCannotLock: the role may write the target and not LOCK it, since it may write some columns only, or
// since its owner may not write all that a view reads.
var errCannotLock = errors.New("the target cannot be locked before the snapshot")

// lockRefused also says so where LOCK took more than the statement would: of a view, partitions that came since.
func lockRefused(st *sqlguard.Statement, sc *script, r wire.Reply) bool {
	failed := sc.Failed(r)
	return r.Err.SQLState == "42501" && failed == "target" || st.Target().Kind == 'v' && failed == "witness"
}

// tryWith is try; with first, the target is locked before the transaction has its snapshot.
func (w *TwoPhaseWrite) tryWith(ctx context.Context, s Session, p plan.Plan, wk *work, params [][]byte, first bool) (*trial, *wire.ServerError, error) {
	st := wk.statement
	m := wire.NewMark()
	sc := script{timeout: writeTimeout}
	sc.begin(wk.repeatable)
	if first {
		lockFirst(&sc, st.Target(), w.o.LockTimeout)
	}
	sc.Add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	sc.Add("durable", step("SELECT pg_catalog.set_config('synchronous_commit', 'on', true) WHERE pg_catalog.current_setting('synchronous_commit') = 'off'"))
	sc.Add("lock", tokenKey(p.Token))
	sc.Add("identity", step(identitySQL))
	sh := w.runSteps(&sc, s, p, wk, params, m)
	reply, err := w.send(ctx, s, &sc, false)
	if err != nil {
		return nil, nil, err
	}
	if reply.Err != nil {
		w.undo(s)
		if first && lockRefused(st, &sc, reply) {
			return nil, nil, errCannotLock
		}
		if retryable(reply.Err) {
			return nil, reply.Err, errTryAgain
		}
		if _, ok := wire.Marked(reply.Err, m); ok && sc.Failed(reply) == "probe" {
			return nil, nil, rowsetChanged("more rows match now than the hard cap allows")
		}
		return nil, nil, asDrift(w.explainFailure(ctx, st, &sc, reply, m))
	}
	t, err := w.compare(s, p, wk, &sc, reply, sh)
	if err != nil {
		w.undo(s)
		return nil, nil, err
	}
	t.unseen = unseen(p, wk, t.made, first)
	return t, nil, nil
}

// runSteps adds the statement's own steps; for a migration other ones.
func (w *TwoPhaseWrite) runSteps(sc *script, s Session, p plan.Plan, wk *work, params [][]byte, m string) shape {
	st := wk.statement
	if st.Class() == sqlguard.DDL {
		w.migrationSteps(sc, st, -1, m)
		return shape{}
	}
	sc.Add("state", step(stateSQL))
	guardSteps(sc, st, wire.WithoutPartitions(st.Facts()), m)
	if s.ServerVersion() < pg15 {
		// Behind the witness, which would take the lock on pg_class for one of the statement's, and before the
		// probe: what a function changes there that says it changes nothing is counted.
		sc.Add("baseline", step(baselineSQL))
	}
	if st.Class() != sqlguard.Insert && p.RowsDigest != "" {
		sc.Add("probe", probe(st, params[:st.WhereParams()], w.o.Limits.HardMax, !wk.repeatable, m))
	}
	var sh shape
	if st.Class() == sqlguard.Insert {
		var r wire.Step
		r, sh = run(st, params, returnedColumns(st.Target()))
		sc.Add("run", r)
	} else {
		sc.Add("run", runCounting(st, params))
	}
	runDeferred(sc)
	sc.Add("effects", step(effectsSQL))
	if f := functionsOf(st); len(f) > 0 {
		sc.Add("facts", wire.AssertFacts(f, m)) // no lock keeps a function as it is while rows are waited for
	}
	sc.Add("state after", step(stateSQL))
	return sh
}

// functionsOf are the facts about what the text itself may call. See TestS04AFunctionIsReplacedMeanwhile.
func functionsOf(st *sqlguard.Statement) []wire.Fact {
	return slices.DeleteFunc(slices.Clone(st.Facts()), func(f wire.Fact) bool {
		return f.Kind != wire.FactFunction && f.Kind != wire.FactOperator && f.Kind != wire.FactType
	})
}

// returnedColumns are what an executed INSERT gives back: the key, and what the database filled in.
func returnedColumns(t sqlguard.Relation) []string {
	key := map[string]bool{}
	for _, k := range t.PrimaryKey {
		key[k] = true
	}
	var out []string
	for _, c := range t.Columns {
		if key[c.Name] || c.Generated || c.Identity != 0 || c.FromSequence {
			out = append(out, c.Name)
		}
	}
	return out
}

func rowsetChanged(what string) *refusal.Error {
	return refusal.New(refusal.RowsetChanged,
		"The rows are no longer those that were previewed: "+what+". Nothing was changed.",
		"Preview again to see what the statement would do now.")
}

func definitionChanged(what string) *refusal.Error {
	return refusal.New(refusal.RowsetChanged,
		"The values are no longer made as they were when it was previewed; changed since: "+what+". Nothing was changed.",
		"Preview again to see what the statement would do now.")
}

// compare holds what the open transaction did against what was previewed and approved (TestS04).
func (w *TwoPhaseWrite) compare(s Flusher, p plan.Plan, wk *work, sc *script, reply wire.Reply, sh shape) (*trial, error) {
	st := wk.statement
	t := &trial{shape: sh}
	id, _ := sc.Result(reply, "identity")
	t.identity = identityOf(id)
	if err := sameState(s, sc, reply); err != nil {
		return nil, err
	}
	if st.Class() == sqlguard.DDL {
		return t, w.compareMigration(p, st, sc, reply)
	}
	if wk.digest != "" {
		pr, _ := sc.Result(reply, "probe")
		if now := digestOf(pr); now != wk.digest {
			return nil, rowsetChanged(digestDifference(wk.digest, now))
		}
	}
	var err error
	t.returned, _ = sc.Result(reply, "run")
	if t.affected, err = count(t.returned); err != nil {
		return nil, err
	}
	if t.affected != p.AffectedRows {
		return nil, rowsetChanged(fmt.Sprintf("%s rows changed when it was previewed, %s now", digits(p.AffectedRows), digits(t.affected)))
	}
	eff, _ := sc.Result(reply, "effects")
	effects, err := effectsOf(eff)
	if err != nil {
		return nil, err
	}
	base, _ := sc.Result(reply, "baseline")
	t.radius, _ = radius(st, effects, baselineOf(base), t.affected, tracked(sc, reply))
	if diff := p.BlastRadius.Difference(t.radius); diff != "" {
		return nil, rowsetChanged(diff)
	}
	t.made = definitionsOf(effects)
	if diff := plan.DefinitionsDifference(p.Definitions, t.made); diff != "" {
		return nil, definitionChanged(diff)
	}
	return t, w.o.Limits.again(Measured{
		Class: st.Class(), Target: p.Target, AffectedRows: t.affected, Radius: t.radius, text: st,
		reached: reachedBy(st, effects, baselineOf(base), tracked(sc, reply)),
	}, p)
}

func digestDifference(was, now string) string {
	var a, b int64
	_, _ = fmt.Sscan(beforeColon(was), &a)
	_, _ = fmt.Sscan(beforeColon(now), &b)
	if a != b {
		return fmt.Sprintf("%s rows matched when it was previewed, %s now", digits(a), digits(b))
	}
	return fmt.Sprintf("still %s rows match, but at least one of them was changed or replaced", digits(a))
}

func beforeColon(s string) string {
	for i := range s {
		if s[i] == ':' {
			return s[:i]
		}
	}
	return s
}
