package writecore

import (
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TokenKey is the advisory lock of a token, for tests that hold it.
func TokenKey(t plan.Token) string { return string(tokenKey(t).Params[0]) }

// VersionSums are the digest's expressions.
const VersionSums = versionSums

// GeneratedSQL is what a preview sends for st around the agent's text: probe and run.
func GeneratedSQL(st *sqlguard.Statement, hardMax int64) (probeSQL, runSQL string) {
	params := make([][]byte, len(st.Params()))
	r, _ := run(st, params, columnNames(st.Target()))
	if st.Class() == sqlguard.Insert {
		return "", r.SQL
	}
	return probe(st, params[:st.WhereParams()], hardMax, false, "MARK_").SQL, r.SQL
}

// Queued is how many executes wait for a slot.
func Queued(w *TwoPhaseWrite) int { return int(w.queued.Load()) }

// Waiting is how many calls wait for a person.
func Waiting(w *TwoPhaseWrite) int { return len(w.waiting) }
