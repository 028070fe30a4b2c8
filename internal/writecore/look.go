package writecore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// slotWait bounds the wait for a slot, as that for a connection is bounded.
const slotWait = 5 * time.Second

// lookTimeout bounds the look beside the wait for a lock; a transaction with locks waits for it.
const lookTimeout = 5 * time.Second

// unseen are the relations that the run wrote to and locked only when its snapshot had been taken: a definition
// of theirs that was committed in between is what ran, and the snapshot shows the one before it. Those that p
// does not know either took no rows or are a difference already; a trigger may have created them just now.
func unseen(p plan.Plan, wk *work, made []plan.Definition, targetFirst bool) []plan.Definition {
	if !wk.repeatable {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(made), func(d plan.Definition) bool {
		return targetFirst && d.OID == wk.statement.Target().OID ||
			!slices.ContainsFunc(p.Definitions, func(was plan.Definition) bool { return was.OID == d.OID })
	})
}

// slot counts the connections of the pool before they are taken: a preview and an execute take one, an execute that
// may look takes two, since it waits for the second while it holds its locks, and who holds that one may wait for
// these locks or for a connection to look as well. See TestSnapshotsLeaveAConnection and
// TestWhoWaitsForALockLeavesAConnection.
func (w *TwoPhaseWrite) slot(ctx context.Context, looks bool) (release func(), err error) {
	why, instead := fmt.Sprintf("All %d connections for writing are in use or spoken for (a change that runs on a snapshot takes two)", cap(w.slots)),
		"with fewer calls at once; the operator can raise database.maxConnections"
	if !looks {
		return w.turn(ctx, w.slots, why, instead)
	}
	alone, err := w.turn(ctx, w.pairs, why, instead) // else two would wait for each other, with one each
	if err != nil {
		return nil, err
	}
	defer alone()
	one, err := w.turn(ctx, w.slots, why, instead)
	if err != nil {
		return nil, err
	}
	two, err := w.turn(ctx, w.slots, why, instead)
	if err != nil {
		one()
		return nil, err
	}
	return func() { one(); two() }, nil
}

// turnBehindPooler does the same for the connections of a pooler, of which nobody tells how many it has: one
// execute at a time that may look, so that two are enough. It is taken when s is there and has begun nothing,
// as a pooler in transaction mode gives a connection of its own only then. See TestPoolerSnapshotsTakeTurns.
func (w *TwoPhaseWrite) turnBehindPooler(ctx context.Context, s Backend, wk *work) (release func(), err error) {
	if !wk.repeatable || s.PID() != 0 {
		return func() {}, nil
	}
	return w.turn(ctx, w.pooled, "Behind a connection pooler changes that run on a snapshot take turns, since each takes two connections", "with fewer calls at once")
}

func (w *TwoPhaseWrite) turn(ctx context.Context, slots chan struct{}, why, instead string) (release func(), err error) {
	w.queued.Add(1)
	defer w.queued.Add(-1)
	t := time.NewTimer(slotWait)
	defer t.Stop()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-t.C:
		return nil, refusal.New(refusal.TooBusy,
			why+"; none ended within "+slotWait.String()+". Nothing was changed.",
			"Call the tool again in a moment, "+instead+".")
	}
}

// look reads what decided the values once more, over a second connection and as it is now: t's transaction
// still holds its locks, so of what it wrote to nothing can be defined otherwise between the run and COMMIT, and
// what is there now is what ran. Only the catalog is read, and no lock is taken that t's are in the way of.
// What cannot be looked at is not committed. See TestS04DefinitionsUnderASnapshot.
func (w *TwoPhaseWrite) look(ctx context.Context, p plan.Plan, wk *work, t *trial) error {
	if len(t.unseen) == 0 {
		return nil
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, lookTimeout+min(w.o.LockTimeout, lookTimeout))
	defer cancel()
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	m := wire.NewMark()
	sc := script{timeout: writeTimeout}
	sc.Add("begin", step("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"))
	sc.Add("settings", settings(s, w.o.StatementTimeout, w.o.LockTimeout, m))
	sc.Add("recovery", step("SELECT pg_catalog.pg_is_in_recovery()"))
	sc.Add("identity", step(identitySQL))
	sc.Add("behaviours", behaviours(t.unseen))
	reply, err := w.send(ctx, s, &sc, true)
	if (err != nil || reply.Err != nil) && ctx.Err() != nil && caller.Err() == nil {
		return refusal.New(refusal.DatabaseUnavailable,
			"A second connection was needed to look at what the change runs through, and did not answer in time; nothing was changed.",
			"Call execute_plan again in a moment; a pooler must have a second connection to give while the first is in a transaction.")
	}
	if err != nil {
		return err
	}
	if reply.Err != nil {
		return w.explainFailure(ctx, wk.statement, &sc, reply, m)
	}
	recovery, _ := sc.Result(reply, "recovery")
	id, _ := sc.Result(reply, "identity")
	now, _ := sc.Result(reply, "behaviours")
	if cell(recovery, 0, 0) != "f" || identityOf(id) != t.identity {
		return refusal.New(refusal.DatabaseUnavailable,
			"Two connections of the writer led to two different servers, so what the change runs through could not be looked at; nothing was changed.",
			"After a failover call execute_plan again in a moment; otherwise the operator should check database.writerConnectionString.")
	}
	if len(now.Rows) != len(t.unseen) {
		return fmt.Errorf("reading the definitions again: %d of %d are there", len(now.Rows), len(t.unseen))
	}
	if diff := plan.DefinitionsDifference(p.Definitions, definitionsIn(now)); diff != "" {
		return definitionChanged(diff)
	}
	return nil
}
