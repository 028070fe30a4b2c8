//go:build crash

package tests

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

//go:embed crash_world.sql
var crashWorldSQL string

// change is one change of the crash test: of two rows, or of one definition. Its number is in its
// reason, and so in every audit row of its token.
type change struct {
	n    int
	tool string
}

var crashTools = []string{"insert_rows", "update_rows", "delete_rows", "run_migration"}

func (c change) String() string { return fmt.Sprintf("%s %d", c.tool, c.n) }

func (c change) reason() string { return fmt.Sprintf("crash %d", c.n) }

func (c change) args() args {
	switch c.tool {
	case "insert_rows":
		return args{"table": "app.ins", "columns": []any{"n", "part"}, "rows": []any{[]any{c.n, 1}, []any{c.n, 2}}, "reason": c.reason()}
	case "update_rows":
		return args{"table": "app.upd", "set": args{}, "set_expressions": args{"times": "times + 1"}, "where": "n = $1", "params": []any{c.n}, "reason": c.reason()}
	case "delete_rows":
		return args{"table": "app.del", "where": "n = $1", "params": []any{c.n}, "reason": c.reason()}
	}
	return args{"statement": fmt.Sprintf("CREATE TABLE app.made_%d (id integer)", c.n), "reason": c.reason()}
}

// rows is what its executed row must say.
func (c change) rows() string {
	if c.tool == "run_migration" {
		return "0"
	}
	return "2"
}

// applied is how often it was made: every row of it equally often, or the test fails.
func (c change) applied(t testing.TB, db *pgtemp.DB) int {
	t.Helper()
	var parts [][]string
	switch c.tool {
	case "insert_rows":
		parts = db.Query(t, "SELECT count(*) FILTER (WHERE part = 1), count(*) FILTER (WHERE part = 2) FROM app.ins WHERE n = $1", c.n)
	case "update_rows":
		parts = db.Query(t, "SELECT min(times), max(times) FROM app.upd WHERE n = $1", c.n)
	case "delete_rows":
		parts = db.Query(t, `SELECT count(*) FILTER (WHERE part = 1), count(*) FILTER (WHERE part = 2), count(*),
			2 - (SELECT count(*) FROM app.del WHERE n = $1) FROM app.gone WHERE n = $1`, c.n)
		require.Equal(t, parts[0][2], parts[0][3], "%s: the rows that went, and those that the trigger saw go", c)
	default:
		parts = db.Query(t, "SELECT count(*), count(*) FROM pg_class WHERE oid = to_regclass($1)", fmt.Sprintf("app.made_%d", c.n))
	}
	require.Equal(t, parts[0][0], parts[0][1], "%s was made in part", c)
	n, err := strconv.Atoi(parts[0][0])
	require.NoError(t, err)
	return n
}

// recorded counts the executed rows of a change, over all tokens that its previews got. (The reason of a
// preview is not in the journal, so the row of a plan that a later process executed lacks it.)
func (c change) recorded(t testing.TB, db *pgtemp.DB) int {
	t.Helper()
	return number(t, db, `SELECT count(*) FROM mcp_audit.log WHERE status = 'executed' AND plan_token IN
		(SELECT plan_token FROM mcp_audit.log WHERE reason = $1)`, c.reason())
}

// truth is whether the change is there; that its record is there too goes with it. Where a COMMIT falls
// between the looks, it looks again.
func (c change) truth(t testing.TB, db *pgtemp.DB) bool {
	t.Helper()
	for {
		applied, recorded := c.applied(t, db), c.recorded(t, db)
		if applied != recorded && c.applied(t, db) != applied {
			continue
		}
		require.Equal(t, applied, recorded, "%s: how often it is there, and how often it is recorded", c)
		require.LessOrEqual(t, applied, 1, "%s was made twice", c)
		return applied == 1
	}
}

// told is what an answer claims: that the change is there, that it is not, or nothing.
type told int

const (
	toldNothing told = iota
	toldDone
	toldNotDone
)

// claim reads an answer of execute_plan as an agent does: by its code, and where that leaves it open
// by what the message says.
func claim(t testing.TB, r reply) told {
	t.Helper()
	if !r.isError {
		return toldDone
	}
	switch refusal.Code(r.code) {
	case refusal.UsedToken:
		return toldDone
	case refusal.OutcomeUnknown:
		return toldNothing
	case refusal.UnknownToken, refusal.ExpiredToken:
		return toldNotDone
	case refusal.DatabaseUnavailable, refusal.AuditUnavailable:
		said := strings.ToLower(r.message)
		if strings.Contains(said, "nothing was changed") || strings.Contains(said, "was not committed") {
			return toldNotDone
		}
		return toldNothing
	default:
		t.Fatalf("an answer that does not belong here: %s %s", r.code, r.message)
		return toldNothing
	}
}

// settled tells whether an answer is the last word on a token.
func settled(r reply) bool {
	return !r.isError || slices.Contains([]refusal.Code{refusal.UsedToken, refusal.UnknownToken, refusal.ExpiredToken}, refusal.Code(r.code))
}

// holdTo holds every change that was ever previewed in db to what the audit table says of it, and what
// is in the tables to what was previewed. It returns how many tokens there were and how many of them
// were executed.
func holdTo(t testing.TB, db *pgtemp.DB, changes map[int]change) (tokens, executed int) {
	t.Helper()
	recorded := map[int]int{}
	for _, row := range db.Query(t, `SELECT plan_token, count(DISTINCT nullif(reason, '')), min(nullif(reason, '')), count(*) FILTER (WHERE status = 'executed'),
			coalesce(max(actual_rows) FILTER (WHERE status = 'executed')::text, '')
		FROM mcp_audit.log WHERE plan_token IS NOT NULL GROUP BY plan_token`) {
		require.Equal(t, "1", row[1], "the token %s has changes of several numbers", row[0])
		n, err := strconv.Atoi(strings.TrimPrefix(row[2], "crash "))
		require.NoError(t, err)
		c, ok := changes[n]
		require.True(t, ok, "%s was never asked for", row[2])
		tokens++
		times, err := strconv.Atoi(row[3])
		require.NoError(t, err)
		require.LessOrEqual(t, times, 1, "%s: executed rows of one token", c)
		if times == 1 {
			require.Equal(t, c.rows(), row[4], "the rows that the record of %s tells", c)
			executed++
		}
		recorded[n] += times
	}
	for n, times := range recorded {
		require.Equal(t, changes[n].applied(t, db), times, "%s: how often it is there, and how many executed rows its tokens have", changes[n])
		require.LessOrEqual(t, times, 1, "%s was made twice", changes[n])
	}
	// Nothing is there that has no token.
	for tool, sql := range map[string]string{
		"insert_rows":   "SELECT DISTINCT n FROM app.ins",
		"update_rows":   "SELECT DISTINCT n FROM app.upd WHERE times <> 0",
		"delete_rows":   "SELECT DISTINCT n FROM app.gone UNION SELECT n FROM generate_series(1, 3000) n WHERE (SELECT count(*) FROM app.del d WHERE d.n = n.n) <> 2",
		"run_migration": "SELECT substr(relname, 6) FROM pg_class WHERE relname LIKE 'made\\_%'",
	} {
		for _, row := range db.Query(t, sql) {
			n, err := strconv.Atoi(row[0])
			require.NoError(t, err)
			require.Equal(t, tool, changes[n].tool, "a change of %d is there that nobody asked for", n)
			require.Equal(t, 1, recorded[n], "%s is there and has no record", changes[n])
		}
	}
	return tokens, executed
}
