//go:build crash

package tests

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// failover is what had become of COMMIT when the primary died and its standby was promoted.
type failover struct {
	name     string
	reached  bool // COMMIT reached the primary, which answered; the answer reached nobody
	followed bool // the standby has it
	early    bool // the standby is promoted before anybody asks it
}

// TestCrashPromotedStandby: COMMIT was sent, the primary dies, and behind the same address stands a
// promoted standby, which may have the change or lack it. What it says is not the answer: it is another
// timeline. So the outcome is unknown and stays so, for the program that lives on and for the next one
// that reads its journal, and nothing is done twice (S14).
func TestCrashPromotedStandby(t *testing.T) {
	t.Parallel()
	for _, f := range []failover{
		{name: "the standby has the change", reached: true, followed: true},
		{name: "the standby has the change and was promoted at once", reached: true, followed: true, early: true},
		{name: "the standby lacks the change", reached: true},
		{name: "the standby lacks the change and was promoted at once", reached: true, early: true},
		{name: "COMMIT never arrived", followed: true, early: true},
	} {
		t.Run(f.name, f.play)
	}
}

// planned is a change with its plan and the call that executes it.
type planned struct {
	change
	preview
	call *pending
}

func (f failover) play(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(true))
	db.Exec(t, crashWorldSQL)
	standby := db.Standby(t)
	proxy := newProxy(t, db)
	o := proxy.proxied(db, options{})
	journaled := proxy.proxied(db, options{config: map[string]any{"journal": map[string]any{"path": filepath.Join(t.TempDir(), "plans.jsonl")}}})

	// One lives on, one dies and has a journal, one dies and has none.
	lives, remembers, forgets := start(t, db, o), start(t, db, journaled), start(t, db, o)
	changes := map[int]change{}
	plans := map[*server][]planned{}
	for _, s := range []*server{lives, remembers, forgets} {
		for _, tool := range crashTools {
			c := change{n: len(changes) + 1, tool: tool}
			changes[c.n] = c
			p := s.preview(tool, c.args())
			if p.Status == "awaiting_approval" {
				s.approve(p.Token)
			}
			plans[s] = append(plans[s], planned{change: c, preview: p})
		}
	}
	if !f.followed {
		standby.CaughtUp(t, db)
		standby.Detach(t)
	}
	// Every COMMIT is held, or the answer to it.
	var mu sync.Mutex
	held := 0
	count := func(here bool) verdict {
		if !here {
			return pass
		}
		mu.Lock()
		defer mu.Unlock()
		held++
		return hold
	}
	proxy.on(func(m frame) verdict { return count(!f.reached && commitSent(m)) },
		func(m frame) verdict { return count(f.reached && commitDone(m)) })
	for s := range plans {
		for i := range plans[s] {
			plans[s][i].call = s.begin("execute_plan", plans[s][i].echo())
		}
	}
	eventually(t, "every COMMIT is on its way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return held == len(changes)
	})
	for _, c := range changes {
		require.Equal(t, f.reached, c.truth(t, db), "%s on the primary", c)
	}
	if f.followed {
		standby.CaughtUp(t, db)
	}

	remembers.kill()
	forgets.kill()
	require.NoError(t, db.Cluster.Kill())
	if f.early {
		standby.Promote(t)
	}
	proxy.redirect(standby)
	proxy.on(nil, nil)
	proxy.cutAll()
	there := f.reached && f.followed
	for _, p := range plans[lives] {
		p.call.reply().refused(t, refusal.OutcomeUnknown)
	}
	if !f.early {
		standby.Promote(t)
	}
	again := func(s *server, of []planned, codes ...refusal.Code) {
		t.Helper()
		for range 2 {
			for _, p := range of {
				s.call("execute_plan", p.echo()).refused(t, codes...)
				require.Equal(t, there, p.truth(t, standby), "%s on the standby", p.change)
			}
		}
	}
	again(lives, plans[lives], refusal.OutcomeUnknown)
	for _, p := range plans[lives] {
		a := lives.post("/api/plans/"+p.Token+"/approve", args{"approvedBy": "Ada"})
		require.Equal(t, 409, a.status, "an unknown outcome is nothing to approve: %s", a.body)
	}
	next := start(t, standby, journaled)
	again(next, plans[remembers], refusal.OutcomeUnknown)
	// Without a journal the new primary's ledger is all there is, and it is right about itself.
	last := start(t, standby, o)
	if there {
		again(last, plans[forgets], refusal.UsedToken)
	} else {
		again(last, plans[forgets], refusal.UnknownToken)
	}
	tokens, executed := holdTo(t, standby, changes)
	require.Equal(t, len(changes), tokens)
	want := 0
	if there {
		want = len(changes)
	}
	require.Equal(t, want, executed)
	t.Logf("%d COMMITs under way: %d are on the promoted standby once, the others not; none was guessed at", len(changes), executed)
}
