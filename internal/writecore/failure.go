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

// asDrift words a stale catalog for a plan that was made earlier: what was approved was approved for
// something else.
func asDrift(err error) error {
	if !errors.Is(err, wire.ErrStaleCatalog) {
		return err
	}
	if c, ok := errors.AsType[*changed](err); ok {
		return rowsetChanged(c.Error())
	}
	return rowsetChanged("a table, view or function that the statement names was changed")
}

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
	name := sc.Failed(r)
	if rest, ok := wire.Marked(r.Err, m); ok {
		switch name {
		case "settings":
			return refusal.New(refusal.DatabaseUnavailable,
				"The connection to Postgres is not what it was when it was checked (its role or its lexical settings); nothing was changed.",
				"Try again; if it stays so, the operator should look at what stands between this server and Postgres.")
		case "witness":
			return notSeen(rest)
		case "facts":
			return notAsChecked(st, rest)
		case "sources":
			return refusal.New(refusal.TableNotAllowlisted,
				"The migration reads "+rest+", which the readonly role may not read (or of which row security shows it only a part). Nothing was run.",
				"Use sources that describe_schema shows and query can read, or ask the database owner for SELECT on them.")
		case "sizes":
			return w.tooLarge(st, rest)
		case "named":
			return notSeen(rest + " (Postgres took the name for another relation)")
		case "probe":
			return w.hardCapAtProbe(st)
		}
	}
	if ctx.Err() != nil && r.Err.SQLState == "57014" {
		return ctx.Err()
	}
	if r.Err.SQLState == "55P03" {
		return w.lockTimeout(st, sc.blockers)
	}
	if st.Class() == sqlguard.DDL {
		switch r.Err.SQLState {
		case "42501":
			return w.notOwner(said(st, r.Err))
		case "57014":
			return refusal.New(refusal.StatementTimeout, fmt.Sprintf("The migration ran longer than %s allows and was stopped (SQLSTATE 57014). Nothing was changed.", sc.timeout),
				"Do it in smaller steps that rewrite and scan nothing (NOT VALID and VALIDATE, a new column filled in batches), or ask the person who runs the server to raise that setting.")
		}
	}
	if r.Err.SQLState == "25006" && ctx.Err() == nil && name != "run" {
		return refusal.New(refusal.DatabaseUnavailable,
			"What the writer's connection leads to can only be read now, as a standby can; nothing was changed ("+said(st, r.Err).Message+", SQLSTATE 25006).",
			"After a failover call again in a moment; otherwise the operator should check database.writerConnectionString and the role's default_transaction_read_only.")
	}
	switch name {
	case "begin", "open", "settings", "state", "baseline", "effects", "state after", "identity":
		return fmt.Errorf("running the step %q: %w", name, r.Err)
	}
	return wire.Refuse(r.Err, wire.RefuseOptions{Fallback: refusal.WriteFailed, TimeoutSetting: sc.timeout, HideValues: st.Class() == sqlguard.DDL, Hides: w.hides, Masks: st.Masking()})
}

// hides tells of tables that neither allowlist names, whose names a foreign key's error must not tell. See
// TestForeignKeysOfHiddenTablesAreNotNamed.
func (w *TwoPhaseWrite) hides(schema, table string) bool {
	return w.o.CanRead != nil && !w.o.CanRead(schema, table) && !w.o.CanWrite(schema, table)
}

// lockTimeout names who was in the way (TestLockTimeoutNamesWhoBlocks).
func (w *TwoPhaseWrite) lockTimeout(st *sqlguard.Statement, by []blocker) error {
	bound, setting := w.o.LockTimeout, "write.lockTimeoutMs"
	if st.Class() == sqlguard.DDL && migrationLock < bound {
		bound, setting = migrationLock, "a migration waits no longer, whatever write.lockTimeoutMs is"
	}
	return refusal.New(refusal.LockTimeout,
		fmt.Sprintf("Another session holds a lock that this statement needs, and did not give it up within %d ms (%s)%s. Nothing was changed.", bound.Milliseconds(), setting, whoBlocks(by)),
		"Try again later, or ask the person who runs the database to end the transaction that is open.")
}

// notOwner explains a migration that its role may not make. What is missing shows only in the words of the error
// (one SQLSTATE stands for all of it); words that are not known, as those of another lc_messages, get every way.
func (w *TwoPhaseWrite) notOwner(e *wire.ServerError) error {
	role := w.o.MigrationRole
	lacks := "to own what is changed, USAGE and CREATE on its schema, REFERENCES on what a foreign key leads to"
	switch {
	case role == "":
		return refusal.New(refusal.WriteFailed, e.Message+" (SQLSTATE 42501).",
			"Migrations run as the writer, which owns nothing here. Ask the database owner to set database.migrationRole to the role that owns these objects (docker/init makes one named migrator).")
	case strings.HasPrefix(e.Message, "permission denied to set role"):
		return refusal.New(refusal.WriteFailed, e.Message+" (SQLSTATE 42501).",
			"Ask the database owner to make the writer a member of it (GRANT "+sqlguard.QuoteIdent(role)+" TO the writer's role); check-config tells whether it is.")
	case strings.HasPrefix(e.Message, "must be owner"):
		lacks = "to own this object"
	case strings.HasPrefix(e.Message, "permission denied for schema"):
		lacks = "USAGE and CREATE on this schema"
	case strings.HasPrefix(e.Message, "permission denied for"):
		lacks = "to own this object, or the right to it that the statement needs, as REFERENCES for a foreign key"
	}
	return refusal.New(refusal.WriteFailed, e.Message+" (SQLSTATE 42501).",
		"Ask the database owner for what the migration role "+sqlguard.QuoteIdent(role)+" lacks: "+lacks+".")
}

func (w *TwoPhaseWrite) hardCapAtProbe(st *sqlguard.Statement) error {
	most := w.o.Limits.capFor(st)
	r := HardCap("more than "+digits(most), most, plan.BlastRadius{})
	if most < w.o.Limits.HardMax {
		t := st.Target()
		n, _ := w.o.Limits.forTarget(st)
		r = ruleCap(r, n, sqlguard.QuoteName(t.Schema, t.Name))
	}
	if st.Target().RowSecurity {
		r.Message = strings.TrimSuffix(r.Message, ".") + "; with row security this counts the rows that may be read, an upper bound."
	}
	return r
}
