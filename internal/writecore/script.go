package writecore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// script is one segment of a write.
type script struct {
	wire.Script
	// timeout names the setting that bounds the statement, for the refusal that says so.
	timeout string
	// lock bounds the waits for locks where that is less than the setting.
	lock time.Duration
	// blockers are who was seen in its way.
	blockers []blocker
}

// reached tells whether everything before the step went through.
func (s *script) reached(r wire.Reply, name string) bool { return len(r.Results) >= s.Index(name) }

// cell is the text of one value, "" for NULL or a missing one.
func cell(r wire.Result, row, col int) string {
	if row >= len(r.Rows) || col >= len(r.Rows[row]) {
		return ""
	}
	return string(r.Rows[row][col])
}

// retryable tells whether the transaction is known not to have committed and may simply be tried again.
func retryable(e *wire.ServerError) bool {
	return e != nil && (e.SQLState == "40001" || e.SQLState == "40P01")
}

// maxTries bounds how often a serialization failure or deadlock is tried again, digest included.
const maxTries = 3

// pauses are how long to wait before each further try, up to twice as long by chance: whoever changes the
// same rows is often about to change the next ones, and three tries in a row meet the same burst. Nothing is
// locked meanwhile. See TestPreviewsBesideUpdates.
var pauses = [maxTries]time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond}

// pause waits before the try after this one; a caller that leaves is not waited for.
func pause(ctx context.Context, try int) error {
	d := pauses[try]
	t := time.NewTimer(d + rand.N(d)) //nolint:gosec // so that two do not meet again, no secret
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// The settings that bound a statement, by name.
const (
	writeTimeout    = "write.statementTimeoutMs"
	rehearseTimeout = "migration.previewLockMs"
)

func changedByOthers(st *sqlguard.Statement, e *wire.ServerError) error {
	e = said(st, e)
	return refusal.New(refusal.WriteFailed,
		"The rows are being changed by others right now: "+e.Message+" (SQLSTATE "+e.SQLState+"), three times in a row.",
		"Wait a moment and preview again, or choose fewer rows.")
}

// notSeen is the refusal for a relation that Postgres resolved and the guard did not.
func notSeen(names string) error {
	return errors.Join(refusal.New(refusal.TableNotAllowlisted,
		"The statement reaches "+names+", which was not among the relations that were checked.",
		"Write schema-qualified table names and use only tables that describe_schema shows."), wire.ErrStaleCatalog)
}

// notAsChecked is the refusal for a relation, function or operator that is not what the guard took it
// for. fact is what stands behind the mark of AssertFacts.
func notAsChecked(st *sqlguard.Statement, fact string) error {
	return errors.Join(&changed{what: factName(st, fact)}, refusal.New(refusal.WriteFailed,
		sentence(factName(st, fact))+" was changed while the statement was being checked.", "Preview again."), wire.ErrStaleCatalog)
}

// changed carries what was changed to the one who words it.
type changed struct{ what string }

func (c *changed) Error() string { return c.what + " was changed" }

// factName names a fact for people, e.g. app.t or the function f.
func factName(st *sqlguard.Statement, fact string) string {
	kind, key, _ := strings.Cut(fact, " ")
	switch kind {
	case "r":
		d := st.DDL()
		for _, t := range slices.Concat(st.Relations(), d.Writes, d.Reads) {
			if strconv.FormatUint(uint64(t.OID), 10) == key {
				return t.String()
			}
		}
	case "f":
		return "the function " + key
	case "o":
		return "the operator " + key
	case "t":
		return "the type " + key
	case "p":
		return "the search path"
	}
	return "a relation that the statement reaches"
}

// sentence begins with a capital letter, unless it begins with a name.
func sentence(s string) string {
	if strings.HasPrefix(s, "the ") || strings.HasPrefix(s, "a ") {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// send flushes one script, and with end the segments that close its transaction. The reply is that of
// the script.
//
// Behind agent text the transaction must still be the one that was begun, and behind its end the
// connection must be idle: where not, the connection is destroyed and that is loud, since nobody can
// say what was done (S02, S18).
func (w *TwoPhaseWrite) send(ctx context.Context, s Session, sc *script, end bool) (wire.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, w.patience())
	defer cancel()
	segments := []wire.Segment{sc.Steps()}
	if end {
		segments = append(segments, closing(s.ServerVersion())...)
	}
	lock := w.o.LockTimeout
	if sc.lock > 0 {
		lock = min(lock, sc.lock)
	}
	stop := w.watch(ctx, s.PID(), lock)
	replies, err := s.Flush(ctx, segments...)
	sc.blockers = stop()
	if err != nil {
		return wire.Reply{}, lost(err)
	}
	reply := replies[0]
	if reply.Err == nil && reply.TxStatus != 'T' {
		s.Discard()
		w.o.Logger.Error("A STATEMENT ENDED ITS TRANSACTION; the connection is destroyed", "status", string(reply.TxStatus))
		return reply, fmt.Errorf("running the statement: transaction status %q behind it", reply.TxStatus)
	}
	w.mustBeIdle(s, replies[1:])
	return reply, nil
}

// patience is how long a flush may take before the server is given up: what its own timeouts allow for the
// probe and the statement, and some. It matters where a server accepts and never answers.
func (w *TwoPhaseWrite) patience() time.Duration {
	return 3*w.o.StatementTimeout + 3*w.o.LockTimeout + 10*time.Second
}

// mustBeIdle destroys the connection if one of the segments that end a transaction failed.
func (w *TwoPhaseWrite) mustBeIdle(s Session, replies []wire.Reply) {
	for _, r := range replies {
		if r.Err != nil || r.TxStatus != 'I' {
			s.Discard()
			w.o.Logger.Warn("a transaction did not end as it should; the connection is destroyed", "status", string(r.TxStatus), "cause", r.Err)
			return
		}
	}
}

// guardSteps are the steps between the settings and the statement: the names resolved and nothing
// planned or executed (planning may call a stable function), the relations behind them looked at, and facts,
// what the guard relied upon, asserted. m marks the errors they raise on purpose.
func guardSteps(s *script, st *sqlguard.Statement, facts []wire.Fact, m string) {
	s.Add("resolve", wire.Step{SQL: st.SQL(), ParseOnly: true})
	s.Add("witness", wire.Witness(st.LockClosure(), m, false))
	s.Add("facts", wire.AssertFacts(facts, m))
}
