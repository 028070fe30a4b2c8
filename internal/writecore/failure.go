package writecore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// errTryAgain marks a run that ended in a serialization failure or deadlock.
var errTryAgain = errors.New("the rows are being changed by others")

// lost is the answer when the connection died and COMMIT had not been sent: nothing was changed.
func lost(err error) error {
	if !errors.Is(err, wire.ErrConnectionLost) {
		return err
	}
	return errors.Join(refusal.New(refusal.DatabaseUnavailable,
		"The connection to Postgres was lost before anything could be committed; nothing was changed.",
		"Try the same call again in a moment."), err)
}

// explainFailure turns the error of a run's segment into an answer, by the step it belongs to.
func (w *TwoPhaseWrite) explainFailure(ctx context.Context, st *sqlguard.Statement, sc *script, r wire.Reply, m string) error {
	name := sc.failed(r)
	if rest, ok := marked(r.Err, m); ok {
		switch name {
		case "settings":
			return refusal.New(refusal.DatabaseUnavailable,
				"The connection to Postgres is not what it was when it was checked (its role or its lexical settings); nothing was changed.",
				"Try again; if it stays so, the operator should look at what stands between this server and Postgres.")
		case "witness":
			return notSeen(rest)
		case "routines":
			return errors.Join(refusal.New(refusal.WriteFailed,
				"A function that the statement calls was changed while it was being checked.", "Preview again."), ErrStaleCatalog)
		case "probe":
			return w.hardCapAtProbe(st)
		}
	}
	if ctx.Err() != nil && r.Err.SQLState == "57014" {
		return ctx.Err()
	}
	if r.Err.SQLState == "55P03" {
		return w.lockTimeout()
	}
	switch name {
	case "begin", "settings", "state", "baseline", "effects", "state after", "identity":
		return fmt.Errorf("running the step %q: %w", name, r.Err)
	}
	return wire.Refuse(r.Err, wire.RefuseOptions{Fallback: refusal.WriteFailed, TimeoutSetting: w.timeoutSetting(st)})
}

func (w *TwoPhaseWrite) timeoutSetting(st *sqlguard.Statement) string {
	if st.Class() == sqlguard.DDL {
		return "migration.previewLockMs"
	}
	return "write.statementTimeoutMs"
}

func (w *TwoPhaseWrite) lockTimeout() error {
	return refusal.New(refusal.LockTimeout,
		fmt.Sprintf("Another session holds a lock that this statement needs, and did not give it up within %d ms (write.lockTimeoutMs). Nothing was changed.", w.o.LockTimeout.Milliseconds()),
		"Try again later, or ask the person who runs the database which transaction is open.")
}

func (w *TwoPhaseWrite) hardCapAtProbe(st *sqlguard.Statement) error {
	r := HardCap("more than "+digits(w.o.Limits.HardMax), w.o.Limits.HardMax, plan.BlastRadius{})
	if st.Target().RowSecurity {
		r.Message = strings.TrimSuffix(r.Message, ".") + "; with row security this counts the rows that may be read, an upper bound."
	}
	return r
}
