//go:build crash

package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// TestCrash is S14 at length: the program is killed, its connections are cut and its Postgres is killed
// and started again, at every point of a write; then an agent goes on with what it knows. Afterwards
// every token's change is there exactly if its one executed row is, and no answer on the way was untrue.
//
// SW_CRASH_DEATHS is how many deaths there are (216), SW_CRASH_SEED repeats a run's choices.
func TestCrash(t *testing.T) {
	deaths := fromEnvironment(t, "SW_CRASH_DEATHS", 216)
	seed := fromEnvironment(t, "SW_CRASH_SEED", time.Now().UnixNano()%1_000_000)
	t.Logf("%d deaths, SW_CRASH_SEED=%d", deaths, seed)
	var total tally
	t.Run("deaths", func(t *testing.T) {
		for i, journal := range []bool{false, true} {
			share := (deaths + 1 - int64(i)) / 2
			t.Run(fmt.Sprintf("journal=%t", journal), func(t *testing.T) {
				t.Parallel()
				newCrashRun(t, journal, rand.New(rand.NewPCG(uint64(seed), uint64(i))), &total).run(int(share))
			})
		}
	})
	t.Logf("deaths by point and kind (committed: how many changes were there after the death)\n%s", &total)
	// Fewer deaths than it takes are for trying: then no bucket may be empty.
	least := min(15, int(deaths)/(2*int(points)))
	for p := range points {
		require.GreaterOrEqual(t, total.at(p), max(1, least), "deaths at the point: %s", p)
	}
	if sent := total.at(commitIsSent); sent >= 15 {
		require.Greater(t, total.committed[commitIsSent], 0, "no death behind COMMIT left its change there")
		require.Less(t, total.committed[commitIsSent], sent, "no death behind COMMIT came before it")
	}
}

func fromEnvironment(t testing.TB, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, name)
	require.Positive(t, n, name)
	return n
}

// tally counts what happened.
type tally struct {
	mu        sync.Mutex
	deaths    [points][manyOfWays]int
	committed [points]int
	answers   map[string]int // what execute_plan said of a token that death met, first and last
	tokens    int
	executed  int
}

func (c *tally) death(p point, w way, committed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths[p][w]++
	if committed {
		c.committed[p]++
	}
}

func (c *tally) answer(when string, r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		c.answers = map[string]int{}
	}
	code := "executed"
	if r.isError {
		code = r.code
	}
	c.answers[when+" "+code]++
}

func (c *tally) at(p point) (n int) {
	for _, m := range c.deaths[p] {
		n += m
	}
	return n
}

func (c *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s", "")
	for w := range manyOfWays {
		fmt.Fprintf(&b, "%20s", w)
	}
	fmt.Fprintf(&b, "%8s%12s\n", "sum", "committed")
	all := 0
	for p := range points {
		fmt.Fprintf(&b, "%-18s", p)
		for w := range manyOfWays {
			fmt.Fprintf(&b, "%20d", c.deaths[p][w])
		}
		all += c.at(p)
		fmt.Fprintf(&b, "%8d%12d\n", c.at(p), c.committed[p])
	}
	fmt.Fprintf(&b, "%d deaths; %d tokens, %d executed once, the others never\n", all, c.tokens, c.executed)
	var lines []string
	for a, n := range c.answers {
		lines = append(lines, fmt.Sprintf("%s: %d", a, n))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, "; "))
	return b.String()
}

// crashRun is one program after another on one database, with a journal or without.
type crashRun struct {
	t       *testing.T
	journal bool
	rng     *rand.Rand
	total   *tally
	db      *pgtemp.DB
	proxy   *pgProxy
	options options
	s       *server
	changes map[int]change // every one that was asked for
	number  int
}

func newCrashRun(t *testing.T, journal bool, rng *rand.Rand, total *tally) *crashRun {
	t.Helper()
	r := &crashRun{t: t, journal: journal, rng: rng, total: total, changes: map[int]change{}}
	r.db = pgtemp.New(t, pgtemp.OwnCluster(true))
	r.db.Exec(t, crashWorldSQL)
	r.proxy = newProxy(t, r.db)
	// The row of a change commits with it whatever audit.required is; the two runs take one each.
	o := options{config: map[string]any{"write": map[string]any{"maxOpenPlans": 1000}, "audit": map[string]any{"required": journal}}}
	if journal {
		o.config["journal"] = map[string]any{"path": filepath.Join(t.TempDir(), "plans.jsonl")}
	}
	r.options = r.proxy.proxied(r.db, o)
	r.s = start(t, r.db, r.options)
	return r
}

// death is one entry of the programme.
type death struct {
	point  point
	way    way
	tool   string
	commit int  // at commitIsSent
	silent bool // at planCreated: the agent never gets the reply; when cut off: the network stays down for a while
}

func (d death) String() string {
	return fmt.Sprintf("%s at %q of %s (commit %d, silent %t)", d.way, d.point, d.tool, d.commit, d.silent)
}

// programme deals the deaths out evenly: in every six all points, in every eighteen every point in all
// ways, and the tools in turn.
func (r *crashRun) programme(n int) []death {
	var ways [points][]int
	var tools [points][manyOfWays][]int
	var visits [points][manyOfWays]int
	for p := range points {
		ways[p] = r.rng.Perm(int(manyOfWays))
		for w := range manyOfWays {
			tools[p][w] = r.rng.Perm(len(crashTools))
		}
	}
	var out []death
	for round := 0; len(out) < n; round++ {
		for _, i := range r.rng.Perm(int(points)) {
			p := point(i)
			w := way(ways[p][round%int(manyOfWays)])
			visit := visits[p][w]
			visits[p][w]++
			out = append(out, death{
				point: p, way: w, tool: crashTools[tools[p][w][visit%len(crashTools)]],
				commit: (round + round/int(manyOfWays)) % manyCommits,
				silent: (visit+visit/len(crashTools))%2 == 0, // every tool in turn
			})
		}
	}
	return out[:n]
}

func (r *crashRun) run(deaths int) {
	r.t.Helper()
	for i, d := range r.programme(deaths) {
		began := time.Now()
		c := r.next(d.tool)
		r.die(d, c)
		r.t.Logf("%d: %s: %s, %d ms", i+1, c, d, time.Since(began).Milliseconds())
	}
	// It is in good health after all that.
	for _, tool := range crashTools {
		c := r.next(tool)
		p := r.plan(c)
		r.s.execute(p)
		require.True(r.t, c.truth(r.t, r.db))
	}
	r.s.finish()
	tokens, executed := holdTo(r.t, r.db, r.changes)
	r.total.mu.Lock()
	r.total.tokens += tokens
	r.total.executed += executed
	r.total.mu.Unlock()
}

// next is a change that nobody has asked for yet.
func (r *crashRun) next(tool string) change {
	r.number++
	c := change{n: r.number, tool: tool}
	r.changes[c.n] = c
	return c
}

// plan previews a change, and a person says yes where one is asked.
func (r *crashRun) plan(c change) preview {
	r.t.Helper()
	p := r.s.preview(c.tool, c.args())
	if p.Status == "awaiting_approval" {
		r.s.approve(p.Token)
	}
	return p
}

// die lets one death happen and the agent go on behind it.
func (r *crashRun) die(d death, c change) {
	r.t.Helper()
	if d.point == planCreated {
		r.dieAtCreation(d, c)
		return
	}
	p := r.plan(c)
	tr := newTrap(d.point, d.tool, d.commit)
	tr.arm(r.proxy)
	call := r.s.begin("execute_plan", p.echo())
	tr.await(r.t, r.s)
	switch {
	case d.point < commitIsSent:
		tr.reached(r.t, r.db)
		require.False(r.t, c.truth(r.t, r.db))
	case d.point == commitAnswered:
		require.True(r.t, c.truth(r.t, r.db), "Postgres answered COMMIT")
	case d.commit == commitUnsynced:
		eventually(r.t, "the change is committed", func() bool { return c.truth(r.t, r.db) })
	}
	r.strike(d)
	var last told
	if d.way != killed {
		last = r.heard("first", d, c, call.reply())
	}
	r.proxy.on(nil, nil)
	committed := c.truth(r.t, r.db)
	if d.way == cutOff && d.point == commitIsSent {
		committed = r.atRest(c)
	}
	switch {
	case d.point < commitIsSent, d.point == commitIsSent && d.commit == commitTorn:
		require.False(r.t, committed, "no COMMIT reached Postgres")
	case d.point == commitAnswered, d.commit == commitUnsynced:
		require.True(r.t, committed, "Postgres had committed")
	}
	r.total.death(d.point, d.way, committed)
	r.goOn(d, c, p, committed, last)
}

// atRest is whether the change is there once no backend of the program is in a transaction.
func (r *crashRun) atRest(c change) bool {
	r.t.Helper()
	eventually(r.t, "no transaction of the program is open", func() bool {
		return number(r.t, r.db, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND xact_start IS NOT NULL", r.s.application) == 0
	})
	return c.truth(r.t, r.db)
}

// strike is the death itself. When it returns everything that died is there again, but for a network
// that stays down (d.silent): the caller switches the proxy back.
func (r *crashRun) strike(d death) {
	r.t.Helper()
	down := func(frame) verdict { return cut }
	switch d.way {
	case killed:
		r.s.kill()
		r.proxy.on(nil, nil)
		r.s.nothingLeft()
		r.s = start(r.t, r.db, r.options)
	case cutOff:
		if d.silent {
			r.proxy.on(down, down)
		} else {
			r.proxy.on(nil, nil)
		}
		r.proxy.cutAll()
	default: // pgRestart
		r.proxy.on(nil, nil)
		require.NoError(r.t, r.db.Cluster.Kill())
		require.NoError(r.t, r.db.Cluster.Restart(r.t.Context()))
	}
}

// heard holds an answer of execute_plan to the truth of this moment.
func (r *crashRun) heard(when string, d death, c change, got reply) told {
	r.t.Helper()
	r.total.answer(when, got)
	r.t.Logf("%s: %s: %s %s", c, when, got.code, got.message)
	said := claim(r.t, got)
	switch said {
	case toldDone:
		require.True(r.t, c.truth(r.t, r.db), "%s; %s: the answer says that it was executed: %s %s %s", d, c, got.code, got.message, got.text)
	case toldNotDone:
		require.False(r.t, c.truth(r.t, r.db), "%s; %s: the answer says that it was not: %s %s", d, c, got.code, got.message)
	case toldNothing:
	}
	if got.isError && got.code == string(refusal.OutcomeUnknown) {
		require.GreaterOrEqual(r.t, d.point, commitIsSent-1, "%s; %s: unknown, though no COMMIT was sent", d, c)
	}
	return said
}

// goOn is the agent behind a death: it gives the token back until it has a last word, and this word must
// be the one that belongs there. said is what it heard before.
func (r *crashRun) goOn(d death, c change, p preview, committed bool, said told) {
	r.t.Helper()
	var got reply
	for try := 1; ; try++ {
		if said == toldNotDone {
			require.False(r.t, c.truth(r.t, r.db), "%s; %s: it was said not to be committed, and then it was", d, c)
		}
		got = r.execute(p)
		before := said
		said = r.heard("then", d, c, got)
		if before == toldNotDone && said == toldDone && got.isError {
			r.t.Fatalf("%s; %s: it was said not to be committed, and then to have been: %s", d, c, got.message)
		}
		if settled(got) {
			break
		}
		require.Less(r.t, try, 20, "%s; %s: no last word: %s %s", d, c, got.code, got.message)
		time.Sleep(50 * time.Millisecond) // as an agent that was told to try again in a moment
	}
	r.total.answer("last", got)
	forgotten := d.way == killed && (!r.journal || c.tool == "run_migration")
	switch {
	case committed:
		got.refused(r.t, refusal.UsedToken)
	case forgotten && r.journal:
		got.refused(r.t, refusal.ExpiredToken)
	case forgotten:
		got.refused(r.t, refusal.UnknownToken)
	default:
		got.ok(r.t, nil)
	}
	require.Equal(r.t, committed || !forgotten, c.truth(r.t, r.db), "%s; %s", d, c)
	if !got.isError {
		r.s.call("execute_plan", p.echo()).refused(r.t, refusal.UsedToken)
	}
}

// execute gives a token back. A person says yes where one is asked: a migration needs one, and after a
// restart so does a plan that changes more than the table it names.
func (r *crashRun) execute(p preview) reply {
	r.t.Helper()
	began := time.Now()
	call := r.s.begin("execute_plan", p.echo())
	for !call.answered() {
		switch took := time.Since(began); {
		case took > patience:
			_ = r.s.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines, for the reader of the log
			r.s.awaitEnd(patience)
			r.t.Fatalf("no answer to execute_plan within %s", patience)
		case took > 200*time.Millisecond:
			r.s.post("/api/plans/"+p.Token+"/approve", args{"approvedBy": "Ada"}) // an error where nobody is asked
		}
		time.Sleep(20 * time.Millisecond) // a person looks at the page now and then
	}
	return call.reply()
}

// dieAtCreation is a death when the row of the preview was written. Either the agent has the reply, or
// it never gets it.
func (r *crashRun) dieAtCreation(d death, c change) {
	r.t.Helper()
	var p preview
	if d.silent {
		tr := newTrap(d.point, d.tool, 0)
		tr.arm(r.proxy)
		call := r.s.begin(c.tool, c.args())
		tr.await(r.t, r.s)
		require.Equal(r.t, 1, number(r.t, r.db, "SELECT count(*) FROM mcp_audit.log WHERE reason = $1", c.reason()), "the row of the preview")
		d.silent = false // the network is there again at once
		r.strike(d)
		r.total.death(d.point, d.way, c.truth(r.t, r.db))
		if d.way != killed {
			got := call.reply()
			if !r.journal { // and so not audit.required: see newCrashRun
				got.ok(r.t, &p)
				r.goOn(d, c, p, false, toldNothing)
				return
			}
			// Nobody can tell whether the row is there, so there is no plan.
			got.refused(r.t, refusal.AuditUnavailable)
		}
		// The agent asks again, for the same.
		p = r.plan(c)
		r.s.execute(p)
		require.True(r.t, c.truth(r.t, r.db))
		return
	}
	p = r.s.preview(c.tool, c.args())
	r.strike(d)
	committed := c.truth(r.t, r.db)
	require.False(r.t, committed)
	r.total.death(d.point, d.way, committed)
	r.goOn(d, c, p, committed, toldNothing)
}
