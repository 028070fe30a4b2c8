package writecore_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// Fifty calls wait inside for the same person; the yes sets all of them free in one moment, and one commits.
func TestS09FiftyWaitForOneYes(t *testing.T) {
	t.Parallel()
	const calls = 50
	b := setup(t, tinySQL, func(o *writecore.Options) { o.Limits.ApprovalAbove, o.MaxWaiting = 0, calls })
	r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "v + 1"}}, "id <= 10")
	require.NoError(t, err)
	var won atomic.Int64
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			_, err := b.execute(r)
			if err == nil {
				won.Add(1)
			} else if c, ok := refusal.As(err); !ok || (c.Code != refusal.UsedToken && c.Code != refusal.AlreadyExecuting) {
				t.Errorf("want USED_TOKEN or ALREADY_EXECUTING, got %v", err)
			}
		})
	}
	require.Eventually(t, func() bool { return writecore.Waiting(b.core) == calls }, 30*time.Second, time.Millisecond)
	b.approve(r)
	all.Wait()
	require.EqualValues(t, 1, won.Load())
	require.Equal(t, "10", b.one("SELECT sum(v) FROM app.t"))
	require.Equal(t, "1", b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
}

// Two processes hold the same plan (the second one from a copy of the first one's journal) and share
// nothing but the ledger: fifty calls, one commit.
func TestS09TwoProcessesOneCommit(t *testing.T) {
	t.Parallel()
	a := journaled(t, tinySQL)
	r, err := a.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "v + 1"}}, "id <= 10")
	require.NoError(t, err)
	copied := &lives{path: filepath.Join(t.TempDir(), "copy.jsonl")}
	data, err := os.ReadFile(a.path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(copied.path, data, 0o600))
	copied.begin(t, a.db, "")
	var won atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 50 {
		core := []*bundle{a.bundle, copied.bundle}[i%2]
		all.Go(func() {
			<-start
			_, err := core.execute(r)
			if err == nil {
				won.Add(1)
				return
			}
			// The one that comes second finds the rows changed, or its row in the ledger refused.
			c, ok := refusal.As(err)
			if !ok || (c.Code != refusal.UsedToken && c.Code != refusal.AlreadyExecuting && c.Code != refusal.RowsetChanged) {
				t.Errorf("want USED_TOKEN, ALREADY_EXECUTING or ROWSET_CHANGED, got %v", err)
			}
		})
	}
	close(start)
	all.Wait()
	require.EqualValues(t, 1, won.Load())
	require.Equal(t, "10", a.one("SELECT sum(v) FROM app.t"))
	require.Equal(t, "1", a.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
}

// record is what an agent knows to have happened: only what was acknowledged.
type record struct {
	mu                        sync.Mutex
	sum, rows                 int64
	tokens                    map[string]bool
	executed, changed, denied int
}

// Sixteen agents change the same thousand rows against one another. In the end the table is what their
// acknowledged executes make it, in whatever order they came, and each has its row.
// SW_TEST_PLANS is how many plans each agent makes (`make nightly`: 200).
func TestAgentsAgainstOneAnother(t *testing.T) {
	t.Parallel()
	const agents, rows = 16, 1000
	plans := 12
	if n, err := strconv.Atoi(os.Getenv("SW_TEST_PLANS")); err == nil {
		plans = n
	}
	b := setup(t, fmt.Sprintf("CREATE TABLE t (id serial PRIMARY KEY, n bigint NOT NULL); INSERT INTO t (n) SELECT g FROM generate_series(1, %d) g;", rows),
		func(o *writecore.Options) { o.LockTimeout = 20 * time.Second })
	start, err := strconv.ParseInt(b.one("SELECT sum(n) FROM app.t"), 10, 64)
	require.NoError(t, err)
	got := &record{sum: start, rows: rows, tokens: map[string]bool{}}

	// A held lock makes the first ones queue, each in a transaction of its own.
	release := b.super("BEGIN; LOCK TABLE app.t IN SHARE MODE")
	var all sync.WaitGroup
	for i := range agents {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 7))
			for range plans {
				b.agent(rnd, got)
			}
		})
	}
	require.Eventually(t, func() bool {
		n, err := strconv.Atoi(b.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND xact_start IS NOT NULL"))
		return err == nil && n >= 4
	}, 15*time.Second, 5*time.Millisecond, "no four backends ever queued")
	release("COMMIT")
	all.Wait()

	require.Equal(t, fmt.Sprint(got.rows), b.one("SELECT count(*) FROM app.t"))
	require.Equal(t, fmt.Sprint(got.sum), b.one("SELECT sum(n) FROM app.t"))
	require.Equal(t, fmt.Sprint(got.executed), b.one("SELECT count(*) FROM mcp_audit.log WHERE status = 'executed'"))
	require.Len(t, got.tokens, got.executed)
	for _, row := range b.db.Query(t, "SELECT plan_token FROM mcp_audit.log WHERE status = 'executed'") {
		require.True(t, got.tokens[row[0]], "the ledger has an execute that nobody was told of")
	}
	t.Logf("%d executed, %d found their rows changed, %d were refused otherwise", got.executed, got.changed, got.denied)
	require.Positive(t, got.executed)
	require.Equal(t, agents*plans, got.executed+got.changed+got.denied)
}

// agent makes one plan, executes it, and records what it was told.
func (b *bundle) agent(rnd *rand.Rand, got *record) {
	var r writecore.Reply
	var err error
	var sum, rows int64
	from := rnd.IntN(1000) + 1
	where, params := "id BETWEEN $1 AND $2", []string{fmt.Sprint(from), fmt.Sprint(from + rnd.IntN(9))}
	switch rnd.IntN(4) {
	case 0:
		r, err = b.insert("app.t", []string{"n"}, raws("5"), raws("7"))
		sum, rows = 12, 2
	case 1:
		r, err = b.delete("app.t", where, params...)
		for _, row := range r.Plan.SampleRows {
			for _, f := range row {
				if f.Column == "n" {
					var n json.Number
					_ = json.Unmarshal(f.Value, &n)
					v, _ := n.Int64()
					sum -= v
				}
			}
		}
		rows = -r.Plan.AffectedRows
	default:
		r, err = b.update("app.t", nil, []sqlguard.SetExpr{{Column: "n", Expr: "n + 3"}}, where, params...)
		sum = 3 * r.Plan.AffectedRows
	}
	if err == nil {
		_, err = b.execute(r)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	c, refused := refusal.As(err)
	switch {
	case err == nil:
		got.executed++
		got.sum += sum
		got.rows += rows
		got.tokens[string(r.Plan.Token)] = true
	case refused && c.Code == refusal.RowsetChanged:
		got.changed++
	case refused && (c.Code == refusal.WriteFailed || c.Code == refusal.UsedToken || c.Code == refusal.AlreadyExecuting || c.Code == refusal.SupersededPlan || c.Code == refusal.LockTimeout):
		got.denied++ // a deadlock three times in a row, or a plan that two agents share
	default:
		b.t.Errorf("an agent got %v", err)
	}
}
