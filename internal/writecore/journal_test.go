package writecore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// lives is a core with a journal; again is the process that comes after it.
type lives struct {
	*bundle
	path   string
	change []func(*writecore.Options)
	close  func()
}

func journaled(t *testing.T, sql string, change ...func(*writecore.Options)) *lives {
	t.Helper()
	l := &lives{path: filepath.Join(t.TempDir(), "plans.jsonl"), change: change}
	l.begin(t, pgtemp.New(t), sql)
	return l
}

func (l *lives) begin(t *testing.T, db *pgtemp.DB, sql string, change ...func(*writecore.Options)) {
	t.Helper()
	j, err := plan.OpenJournal(l.path)
	require.NoError(t, err)
	l.close = func() { l.store.Close(); j.Close() }
	all := append([]func(*writecore.Options){func(o *writecore.Options) {
		o.Store = plan.NewStore(plan.Options{PlanTTL: time.Minute, ApprovalTTL: time.Minute, MaxOpen: 50, Journal: j})
		o.Recheck = func(ctx context.Context, sql string, params []json.RawMessage) (*sqlguard.Statement, error) {
			return l.guard.Again(ctx, l.pools.Writer().Catalog(), sql, params)
		}
	}}, append(l.change, change...)...)
	l.bundle = setupOn(t, db, sql, all...)
	t.Cleanup(j.Close)
}

// again ends this process and starts the next one.
func (l *lives) again(t *testing.T, change ...func(*writecore.Options)) {
	t.Helper()
	l.close()
	l.begin(t, l.db, "", change...)
}

const journalTables = `CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 200) g`

// A plan that needed nobody runs after a restart, one that was approved asks again; for every tool
// that changes rows.
func TestJournalRevives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(l *lives) (writecore.Reply, error)
		check string
	}{
		"delete": {func(l *lives) (writecore.Reply, error) { return l.delete("app.t", "id <= $1", "8") }, "SELECT count(*) = 192 FROM app.t"},
		"update": {func(l *lives) (writecore.Reply, error) {
			return l.update("app.t", []sqlguard.SetValue{{Column: "id", Value: json.RawMessage("5000")}}, []sqlguard.SetExpr{{Column: "n", Expr: "n + $2"}}, "id = $1", "8", "1")
		}, "SELECT n = 9 FROM app.t WHERE id = 5000"},
		"insert": {func(l *lives) (writecore.Reply, error) {
			return l.insert("app.t", []string{"id", "n"}, raws("1001", "1"), raws("1002", "null"))
		}, "SELECT count(*) = 2 FROM app.t WHERE id > 1000"},
	} {
		for _, needs := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := journaled(t, journalTables, func(o *writecore.Options) {
					if needs {
						o.Limits.ApprovalAbove = 0
					}
				})
				r, err := c.make(l)
				require.NoError(t, err)
				if needs {
					l.approve(r)
				}
				l.again(t, func(o *writecore.Options) { o.ExecuteWait = time.Millisecond })
				if needs {
					_, _, err := l.core.Approve(l.ctx, r.Plan.Token, "tester")
					requireCode(t, err, refusal.UnknownToken) // nobody decides about what he cannot see
					_, err = l.execute(r)
					requireCode(t, err, refusal.AwaitingApproval)
					require.Len(t, l.store.List(), 1)
					l.approve(r)
				}
				out, err := l.execute(r)
				require.NoError(t, err)
				require.Equal(t, r.Plan.AffectedRows, out.AffectedRows)
				require.Equal(t, "t", l.one(c.check))
				l.again(t)
				_, err = l.execute(r)
				requireCode(t, err, refusal.UsedToken)
			})
		}
	}
}

// What was bound stays bound over a restart.
func TestJournalRevivesWhatWasPreviewed(t *testing.T) {
	t.Parallel()
	l := journaled(t, journalTables)
	changed, err := l.delete("app.t", "id = $1", "1")
	require.NoError(t, err)
	other, err := l.delete("app.t", "id = $1", "2")
	require.NoError(t, err)
	dropped, err := l.delete("app.t", "n = $1", "3")
	require.NoError(t, err)
	l.again(t)
	l.db.Exec(t, "UPDATE app.t SET n = n WHERE id = 1")
	_, err = l.execute(changed)
	requireCode(t, err, refusal.RowsetChanged)

	cross := other
	cross.Plan.Payload.Params = raws("3")
	_, err = l.execute(cross)
	requireCode(t, err, refusal.StatementMismatch)
	_, err = l.core.Execute(l.ctx, writecore.ExecuteRequest{Token: other.Plan.Token, Echo: plan.Echo{
		Payload: &plan.Payload{Statement: other.Plan.Payload.Statement}, Fingerprint: other.Plan.Fingerprint,
	}})
	require.Contains(t, requireCode(t, err, refusal.StatementMismatch), "restarted")

	// The guard has the last word about a statement that it took before.
	l.db.Exec(t, "ALTER TABLE app.t RENAME COLUMN n TO m")
	_, err = l.execute(dropped)
	require.Error(t, err)
	require.Equal(t, "200", l.one("SELECT count(*) FROM app.t"))
}

// Limits and allowlist may be others than those of the process that previewed.
func TestJournalRevivesUnderTodaysLimits(t *testing.T) {
	t.Parallel()
	l := journaled(t, journalTables)
	r, err := l.delete("app.t", "id <= $1", "8")
	require.NoError(t, err)
	l.again(t, func(o *writecore.Options) { o.Limits.ApprovalAbove, o.ExecuteWait = 5, time.Millisecond })
	_, err = l.execute(r)
	requireCode(t, err, refusal.AwaitingApproval)
	l.again(t, func(o *writecore.Options) { o.Limits = writecore.Limits{ApprovalAbove: 5, HardMax: 7} })
	_, err = l.execute(r)
	requireCode(t, err, refusal.HardMaxRowsExceeded)
	l.again(t, func(o *writecore.Options) {
		o.Limits.ApprovalAbove, o.ApprovalURL = 5, func() string { return "" }
	})
	_, err = l.execute(r)
	requireCode(t, err, refusal.ApprovalUnavailable)
	l.again(t, func(o *writecore.Options) { o.Recheck = nil })
	_, err = l.execute(r)
	requireCode(t, err, refusal.StatementMismatch)
	require.Equal(t, "200", l.one("SELECT count(*) FROM app.t"))
}

// A plan of a tool that today's policy hides is not executed, whoever decided before, and is as soon as the tool
// is back.
func TestJournalRevivesOnlyToolsOfToday(t *testing.T) {
	t.Parallel()
	l := journaled(t, journalTables)
	r, err := l.delete("app.t", "id <= $1", "8")
	require.NoError(t, err)
	hide := func(tool string) func(*writecore.Options) {
		return func(o *writecore.Options) {
			o.Disabled = func(asked string) error {
				if asked != tool {
					return nil
				}
				return refusal.New(refusal.ToolDisabled, "The tool "+tool+" is turned off.", "Work without it.")
			}
		}
	}
	l.again(t, hide("delete_rows"))
	_, err = l.execute(r)
	requireCode(t, err, refusal.ToolDisabled)
	require.Equal(t, "200", l.one("SELECT count(*) FROM app.t"))
	require.Equal(t, "1", l.one("SELECT count(*) FROM mcp_audit.log WHERE tool = 'execute_plan' AND error_code = 'TOOL_DISABLED'"))
	l.again(t, hide("update_rows"))
	_, err = l.execute(r)
	require.NoError(t, err)
	require.Equal(t, "192", l.one("SELECT count(*) FROM app.t"))
}

// A plan that an earlier process was executing when it died, before COMMIT: the ledger is asked first, the
// answer says so, and then the plan runs.
func TestJournalDeathBeforeCommit(t *testing.T) {
	t.Parallel()
	l := journaled(t, journalTables)
	r, err := l.delete("app.t", "id = $1", "1")
	require.NoError(t, err)
	_, err = l.store.Begin(r.Plan.Token, plan.Echo{Payload: &r.Plan.Payload}) // and then it dies
	require.NoError(t, err)
	l.again(t)
	_, err = l.execute(r)
	require.Contains(t, requireCode(t, err, refusal.DatabaseUnavailable), "before it had sent COMMIT")
	out, err := l.execute(r)
	require.NoError(t, err)
	require.EqualValues(t, 1, out.AffectedRows)
}

// What a plan changes in tables that its statement does not name is held against today's allowlist: what was
// free before the restart is free behind it, and what is not on it any more asks.
func TestJournalRevivesIndirectChanges(t *testing.T) {
	t.Parallel()
	const tables = `CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1);
		CREATE TABLE log (p int); CREATE FUNCTION logs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (OLD.id); RETURN OLD; END $$;
		CREATE TRIGGER logs AFTER DELETE ON p FOR EACH ROW EXECUTE FUNCTION logs();`
	for name, hidden := range map[string]string{"all of it may be written": "", "a cascade that may not any more": "c", "a trigger's table that may not any more": "log"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := journaled(t, tables)
			r, err := l.delete("app.p", "id = $1", "1")
			require.NoError(t, err)
			require.Equal(t, plan.Previewed, r.Plan.State)
			require.EqualValues(t, 3, r.Plan.BlastRadius.TotalRows)
			l.again(t, func(o *writecore.Options) {
				o.ExecuteWait = time.Millisecond
				if may := o.CanWrite; hidden != "" {
					o.CanWrite = func(schema, name string) bool { return name != hidden && may(schema, name) }
				}
			})
			_, err = l.execute(r)
			if hidden != "" {
				requireCode(t, err, refusal.AwaitingApproval)
				waiting := l.store.List()
				require.Len(t, waiting, 1)
				require.Contains(t, waiting[0].Why, "app."+hidden+" is not on the write allowlist")
				l.approve(r)
				_, err = l.execute(r)
			}
			require.NoError(t, err)
			require.Equal(t, "0", l.one("SELECT count(*) FROM app.c"))
		})
	}
}

// What makes the values stays bound over a restart, too; a line that an earlier version wrote knows nothing of
// it, and then nothing runs.
func TestJournalBindsTheDefinitions(t *testing.T) {
	t.Parallel()
	const tables = journalTables + `; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$; CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();`
	update := func(l *lives) writecore.Reply {
		r, err := l.update("app.t", []sqlguard.SetValue{{Column: "n", Value: json.RawMessage("5")}}, nil, "id = $1", "1")
		require.NoError(t, err)
		return r
	}
	t.Run("unchanged", func(t *testing.T) {
		t.Parallel()
		l := journaled(t, tables)
		r := update(l)
		l.again(t)
		_, err := l.execute(r)
		require.NoError(t, err)
	})
	t.Run("another trigger", func(t *testing.T) {
		t.Parallel()
		l := journaled(t, tables)
		r := update(l)
		l.again(t)
		l.db.Exec(t, "CREATE OR REPLACE FUNCTION app.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := 9; RETURN NEW; END $$")
		_, err := l.execute(r)
		require.Contains(t, requireCode(t, err, refusal.RowsetChanged), "the triggers of app.t")
		require.Equal(t, "1", l.one("SELECT n FROM app.t WHERE id = 1"))
	})
	t.Run("a line of an earlier version", func(t *testing.T) {
		t.Parallel()
		l := journaled(t, tables)
		r := update(l)
		l.close()
		was, err := os.ReadFile(l.path)
		require.NoError(t, err)
		parts := regexp.MustCompile(`(?m)^\{"plans":\[(\{.*)"definitions":\[[^]]*\],(.*\})\],"synced"`).FindSubmatch(was)
		require.Len(t, parts, 3, "%s", was)
		earlier := fmt.Sprintf("{\"format\":\"sw-postgres-mcp plan journal\",\"version\":1}\n%s%s\n", parts[1], parts[2])
		require.NoError(t, os.WriteFile(l.path, []byte(earlier), 0o600))
		l.begin(t, l.db, "")
		_, err = l.execute(r)
		require.Contains(t, requireCode(t, err, refusal.RowsetChanged), "nothing is known of how it did")
		require.Equal(t, "1", l.one("SELECT n FROM app.t WHERE id = 1"))
	})
}

// TestS14AnotherServerIsNotBelieved: COMMIT was sent to one server and another answers now (a standby was
// promoted, a copy restored). Its ledger says nothing about that COMMIT: the outcome stays unknown, and
// nothing runs again.
func TestS14AnotherServerIsNotBelieved(t *testing.T) {
	t.Parallel()
	l := journaled(t, journalTables)
	r, err := l.delete("app.t", "id = $1", "1")
	require.NoError(t, err)
	x, err := l.store.Begin(r.Plan.Token, plan.Echo{Payload: &r.Plan.Payload})
	require.NoError(t, err)
	require.NoError(t, x.Committing(plan.Mark{Identity: "4711/00000009"})) // and then it dies
	l.again(t)
	for range 2 {
		_, err = l.execute(r)
		requireCode(t, err, refusal.OutcomeUnknown)
	}
	_, _, unknown := l.core.Recover(l.ctx)
	require.Equal(t, 1, unknown)
	require.Equal(t, "200", l.one("SELECT count(*) FROM app.t"))
}
