package writecore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// ErrStaleCatalog says that the guard's picture of the database was not what Postgres found. The
// caller looks the catalog up afresh, guards the text again and tries once more.
var ErrStaleCatalog = errors.New("the catalog changed since the statement was checked")

// script is one segment whose steps have names, since a server error is told apart by its position.
type script struct {
	steps wire.Segment
	names []string
	// timeout names the setting that bounds the statement, for the refusal that says so.
	timeout string
}

func (s *script) add(name string, st wire.Step) {
	s.steps = append(s.steps, st)
	s.names = append(s.names, name)
}

// failed names the step that a reply's error belongs to, "" without one.
func (s *script) failed(r wire.Reply) string {
	if r.Err == nil || len(r.Results) >= len(s.names) {
		return ""
	}
	return s.names[len(r.Results)]
}

// result finds the result of a step that completed.
func (s *script) result(r wire.Reply, name string) (wire.Result, bool) {
	for i, n := range s.names {
		if n == name && i < len(r.Results) {
			return r.Results[i], true
		}
	}
	return wire.Result{}, false
}

// cell is the text of one value, "" for NULL or a missing one.
func cell(r wire.Result, row, col int) string {
	if row >= len(r.Rows) || col >= len(r.Rows[row]) {
		return ""
	}
	return string(r.Rows[row][col])
}

// marked tells whether the error was raised on purpose by a step carrying m, and what stands behind m.
func marked(e *wire.ServerError, m string) (string, bool) {
	if e == nil || e.SQLState != "22P02" {
		return "", false
	}
	_, rest, ok := strings.Cut(e.Message, m)
	return strings.TrimSuffix(rest, `"`), ok
}

// retryable tells whether the transaction is known not to have committed and may simply be tried again.
func retryable(e *wire.ServerError) bool {
	return e != nil && (e.SQLState == "40001" || e.SQLState == "40P01")
}

// maxTries bounds how often a serialization failure or deadlock is tried again, digest included.
const maxTries = 3

// The settings that bound a statement, by name.
const (
	writeTimeout    = "write.statementTimeoutMs"
	rehearseTimeout = "migration.previewLockMs"
)

func changedByOthers(e *wire.ServerError) error {
	return refusal.New(refusal.WriteFailed,
		"The rows are being changed by others right now: "+e.Message+" (SQLSTATE "+e.SQLState+"), three times in a row.",
		"Wait a moment and preview again, or choose fewer rows.")
}

// notSeen is the refusal for a relation that Postgres resolved and the guard did not.
func notSeen(names string) error {
	return errors.Join(refusal.New(refusal.TableNotAllowlisted,
		"The statement reaches "+names+", which was not among the relations that were checked.",
		"Write schema-qualified table names and use only tables that describe_schema shows."), ErrStaleCatalog)
}

// notAsChecked is the refusal for a relation or function that is not what the guard took it for.
func notAsChecked() error {
	return errors.Join(refusal.New(refusal.WriteFailed,
		"A table, view or function that the statement names was changed while it was being checked.",
		"Preview again."), ErrStaleCatalog)
}

// send flushes one script, and with end the segments that close its transaction. The reply is that of
// the script.
//
// Behind agent text the transaction must still be the one that was begun, and behind its end the
// connection must be idle: where not, the connection is destroyed and that is loud, since nobody can
// say what was done (S02, S18).
func (w *TwoPhaseWrite) send(ctx context.Context, s Session, sc *script, end bool) (wire.Reply, error) {
	segments := []wire.Segment{sc.steps}
	if end {
		segments = append(segments, closing(s.ServerVersion())...)
	}
	replies, err := s.Flush(ctx, segments...)
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

// guardSteps are the steps between the settings and the statement: names resolved, nothing executed.
// m marks the errors they raise on purpose.
func guardSteps(s *script, st *sqlguard.Statement, params [][]byte, m string) {
	if st.Class() == sqlguard.DDL {
		return
	}
	// The facts come first: planning may already call a function that is not volatile. The savepoint
	// gives back the locks on the catalogs, which the witness would find.
	if r, ok := routines(st, m); ok {
		s.add("savepoint facts", savepointFacts)
		s.add("facts", r)
		s.add("undo facts", undoFacts)
	}
	s.add("explain", explain(st, params))
	s.add("witness", witness(st, m))
}
