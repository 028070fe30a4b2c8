package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// S14 with a journal: kill -9 at each point of an execute. The next process knows the plan: what was
// committed is not run again, what was not can be, and change and record go together throughout.
func TestS14TheJournalOutlivesADeath(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		for _, c := range append(crashes, crash{name: "in the statement", front: theStatement(r.tool)}) {
			t.Run("kill -9 "+c.name, func(t *testing.T) {
				db := world(t)
				o := options{config: map[string]any{"journal": map[string]any{"path": filepath.Join(t.TempDir(), "plans.jsonl")}}}
				proxy := newProxy(t, db)
				s := start(t, db, proxy.proxied(db, o))
				p := s.preview(r.tool, r.write.args(1))
				if p.Status == "awaiting_approval" {
					s.approve(p.Token)
				}
				trap := c.set(proxy, hold)
				s.begin("execute_plan", p.echo())
				trap.await(t)
				s.kill()
				s.nothingLeft()
				bound(t, db, r, p.Token, c.committed)

				proxy.on(nil, nil)
				next := start(t, db, o)
				switch {
				case c.committed:
					next.call("execute_plan", p.echo()).refused(t, refusal.UsedToken)
				case r.tool == "run_migration":
					next.call("execute_plan", p.echo()).refused(t, refusal.ExpiredToken, refusal.DatabaseUnavailable)
				default:
					// The ledger is asked first, at the start or by this call, whichever comes first; then
					// the plan stands as before its death, and runs.
					got := next.call("execute_plan", p.echo())
					if got.isError {
						got.refused(t, refusal.DatabaseUnavailable)
						got = next.call("execute_plan", p.echo())
					}
					got.ok(t, nil)
					bound(t, db, r, p.Token, true)
					next.call("execute_plan", p.echo()).refused(t, refusal.UsedToken)
				}
				bound(t, db, r, p.Token, c.committed || r.tool != "run_migration")
			})
		}
	})
}

// A plan of a tool that the next server's tool policy hides is not executed by it, and is by one that shows it.
func TestJournalObeysTodaysToolPolicy(t *testing.T) {
	t.Parallel()
	db := world(t)
	path := filepath.Join(t.TempDir(), "plans.jsonl")
	with := func(policy string) options {
		return options{config: map[string]any{"journal": map[string]any{"path": path}, "tools": policy}}
	}
	first := start(t, db, with("default"))
	p := first.preview("delete_rows", args{"table": "app.item", "where": "id = $1", "params": []any{1}, "reason": "test"})
	first.kill()
	second := start(t, db, with("-delete_rows"))
	second.call("execute_plan", p.echo()).refused(t, refusal.ToolDisabled)
	second.kill()
	start(t, db, with("default")).call("execute_plan", p.echo()).ok(t, nil)
}

// Plans whose time is over when a server starts are expired by it at once, and recorded.
func TestJournalExpiresAtTheStart(t *testing.T) {
	t.Parallel()
	db := world(t)
	o := options{config: map[string]any{"journal": map[string]any{"path": filepath.Join(t.TempDir(), "plans.jsonl")}}}
	first := start(t, db, o)
	var tokens []string
	for n := range 10 {
		p := first.preview("run_migration", args{"statement": fmt.Sprintf("CREATE TABLE app.late_%d (id integer)", n), "reason": "test"})
		tokens = append(tokens, p.Token)
	}
	first.kill()
	start(t, db, o)
	eventually(t, "every plan of the journal is recorded as expired", func() bool {
		return number(t, db, "SELECT count(DISTINCT plan_token) FROM mcp_audit.log WHERE error_code = 'EXPIRED_TOKEN' AND plan_token = ANY (string_to_array($1, ','))",
			strings.Join(tokens, ",")) == len(tokens)
	})
}

// Two servers never share a journal, and one that cannot be used refuses the start in one line.
func TestJournalRefusesTheStart(t *testing.T) {
	t.Parallel()
	db := world(t)
	path := filepath.Join(t.TempDir(), "plans.jsonl")
	o := options{config: map[string]any{"journal": map[string]any{"path": path}}}
	first := start(t, db, o)
	second := runToEnd(t, db, o)
	require.NotZero(t, second.code)
	require.Contains(t, second.stderr, "another process uses the journal")
	require.Empty(t, second.stdout)
	first.kill()
	require.NoError(t, os.WriteFile(path, []byte("not a journal\n"), 0o600))
	third := runToEnd(t, db, o)
	require.NotZero(t, third.code)
	require.Contains(t, third.stderr, "journal.path")
	require.Contains(t, third.stderr, "is not a plan journal")
}
