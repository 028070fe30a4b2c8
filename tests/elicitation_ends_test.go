package tests

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Nobody answers in time: nothing is approved, the question is withdrawn, and an answer that comes
// afterwards is nothing.
func TestElicitationNeverAnswered(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, 500*time.Millisecond, nil), e, plainForms)
		before := snapshot(t, db)
		p := s.plans("delete_rows", deletes(1))
		o := s.opens(p)
		if e.modern() {
			time.Sleep(600 * time.Millisecond) // the time is up when it is up
			o.answers(ticked)
			o.ends().refused(t, refusal.AwaitingApproval)
		} else {
			o.ends().refused(t, refusal.AwaitingApproval)
			require.True(t, s.withdrawn(o.q.id))
			s.responds(o.q.id, ticked)
			s.responds(o.q.id, rpcFailure)
		}
		require.Equal(t, []string{p.Token}, s.waiting())
		require.Nil(t, s.request("ping", nil).wait().Error)
		require.Equal(t, before, snapshot(t, db))
		require.Empty(t, decidedBy(t, db, p.Token))
		s.approve(p.Token)
		s.unasked(p, nil).ok(t, nil)
	})
}

// The plan ends while the person thinks: a yes behind that does nothing.
func TestElicitationAnsweredAfterExpiry(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, time.Minute, map[string]any{"write": map[string]any{"approvalTtlMs": 1500, "planTtlMs": 1500}}), e, plainForms)
		before := snapshot(t, db)
		p := s.plans("delete_rows", deletes(1))
		o := s.opens(p)
		if e.modern() {
			eventually(t, "the plan expires", func() bool { return len(s.waiting()) == 0 })
			o.answers(ticked)
		}
		o.ends().refused(t, refusal.ExpiredToken)
		if !e.modern() {
			require.True(t, s.withdrawn(o.q.id))
			s.responds(o.q.id, ticked)
		}
		s.unasked(p, nil).refused(t, refusal.ExpiredToken)
		require.Equal(t, before, snapshot(t, db))
		require.Empty(t, decidedBy(t, db, p.Token))
	})
}

// Of two answers the first counts, whatever it is; of two that come with calls at the same time either
// may be the first. A plan commits once, and never without a yes that came first.
func TestElicitationAnsweredTwice(t *testing.T) {
	t.Parallel()
	no := map[string]any{"action": "decline"}
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, time.Second, nil), e, plainForms)
		for n, c := range []struct {
			first, second any
			yes           bool // the first is one
		}{{ticked, ticked, true}, {ticked, no, true}, {no, ticked, false}, {no, no, false}, {map[string]any{}, ticked, false}, {rpcFailure, ticked, false}} {
			p := s.plans("delete_rows", deletes(n+1))
			o := s.opens(p)
			o.answers(c.first)
			if e.modern() { // one after the other
				got := o.ends()
				require.Equal(t, c.yes, !got.isError, "%s", got.text)
				o.answers(c.second)
				o.ends().refused(t, refusal.UsedToken, refusal.AwaitingApproval)
			} else {
				s.responds(o.q.id, c.second)
				got := o.ends()
				require.Equal(t, c.yes, !got.isError, "%s", got.text)
			}
			require.Equal(t, map[bool]int{true: 1, false: 0}[c.yes], executedRows(t, db, p.Token), "%v, then %v", c.first, c.second)
			require.Equal(t, !c.yes, slices.Contains(s.waiting(), p.Token))
		}
		if !e.modern() {
			return
		}
		p := s.plans("delete_rows", deletes(10))
		o := s.opens(p)
		calls := make([]*pending, 6)
		for i := range calls {
			o.answers([]any{ticked, no}[i%2])
			calls[i] = o.call
		}
		won := 0
		for _, call := range calls {
			if !call.reply().isError {
				won++
			}
		}
		require.LessOrEqual(t, won, 1)
		require.Equal(t, won, executedRows(t, db, p.Token))
		require.Len(t, decidedBy(t, db, p.Token), won)
	})
}

// The page decides while the client still asks: that counts, the question is withdrawn, and what the
// client says afterwards is nothing.
func TestElicitationThePageIsFirst(t *testing.T) {
	t.Parallel()
	forOpen(t, func(t *testing.T, s *asking, p preview, o *opened) {
		s.approve(p.Token)
		if s.era.modern() {
			o.answers(map[string]any{"action": "cancel"})
			o.ends().ok(t, nil)
		} else {
			o.ends().ok(t, nil)
			require.True(t, s.withdrawn(o.q.id))
			s.responds(o.q.id, map[string]any{"action": "decline"})
		}
		require.Equal(t, []string{"Ada"}, decidedBy(t, s.db, p.Token))

		p = s.plans("delete_rows", deletes(2))
		o = s.opens(p)
		require.Equal(t, http.StatusOK, s.reject(p.Token, "not today").status)
		if s.era.modern() {
			o.answers(ticked)
		}
		got := o.ends()
		got.refused(t, refusal.PlanRejected)
		require.Contains(t, got.message, "not today")
		if !s.era.modern() {
			require.True(t, s.withdrawn(o.q.id))
			s.responds(o.q.id, ticked)
		}
		s.unasked(p, nil).refused(t, refusal.PlanRejected)
		require.Equal(t, 1, executedRows(t, s.db, ""))
	})
}

// The client is first: the page learns of it.
func TestElicitationTheClientIsFirst(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := askingOn(t, db, channelOf("both", time.Minute, nil), era2025a, plainForms)
	p := s.plans("delete_rows", deletes(1))
	o := s.opens(p)
	o.answers(ticked)
	o.ends().ok(t, nil)
	require.Empty(t, s.waiting())
	a := s.post("/api/plans/"+p.Token+"/approve", args{"approvedBy": "Eve"})
	require.Equal(t, "PLAN_USED", a.code())
	require.Contains(t, string(s.get("/api/history").body), "elicitation:tests")
}

// Rows that changed since the preview are not approved by a yes that did not see them.
func TestElicitationLooksAtTheRowsAgain(t *testing.T) {
	t.Parallel()
	forOpen(t, func(t *testing.T, s *asking, p preview, o *opened) {
		s.db.Exec(t, "UPDATE app.item SET name = name || '!' WHERE id = 1")
		before := snapshot(t, s.db)
		o.answers(ticked)
		o.ends().refused(t, refusal.RowsetChanged)
		require.Empty(t, decidedBy(t, s.db, p.Token))
		require.Equal(t, before, snapshot(t, s.db))
	})
}

// However many calls wait for a plan, its person is asked once; a yes commits once.
func TestElicitationOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	forOpen(t, func(t *testing.T, s *asking, p preview, o *opened) {
		more := make([]*pending, 5)
		for i := range more {
			more[i] = s.begins("execute_plan", p.echo(), nil)
		}
		s.begins("query", args{"statement": "SELECT 1", "reason": "t"}, nil).reply().ok(t, nil)
		for _, m := range more {
			require.False(t, m.answered(), "it does not wait")
		}
		if !s.era.modern() {
			require.Len(t, s.asked(), 1)
		}
		o.answers(ticked)
		won := 0
		for _, call := range append(more, o.call) {
			if got := call.reply(); !got.isError {
				won++
			} else {
				got.refused(t, refusal.UsedToken, refusal.AlreadyExecuting)
			}
		}
		require.Equal(t, 1, won)
		require.Equal(t, 1, executedRows(t, s.db, p.Token))
	})
}

// Nothing that an agent can send answers for the person (field case 85), and a call that is refused for
// it is no reason to ask.
func TestElicitationConsentArguments(t *testing.T) {
	t.Parallel()
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			db := world(t)
			s := askingOn(t, db, channelOf("both", 200*time.Millisecond, nil), e, plainForms)
			p := s.plans("delete_rows", deletes(1))
			for _, name := range append([]string{"inputResponses", "requestState", "content", "action", "elicitation"}, consent...) {
				for _, yes := range []any{true, ticked} {
					a := p.echo()
					a[name] = yes
					m := s.begins("execute_plan", a, nil).wait()
					require.Nil(t, inputRequired(t, m))
					r, _ := readReply(m)
					r.refused(t, refusal.InvalidArguments)
				}
			}
			wrong := p.echo()
			wrong["params"] = []any{2}
			s.begins("execute_plan", wrong, nil).reply().refused(t, refusal.StatementMismatch)
			require.Empty(t, s.asked())
			require.Equal(t, []string{p.Token}, s.waiting())
			require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
		})
	}
}

// Eight questions are open: the next waiting call is refused, everything else is answered, a late error
// to one question hits no other call, and the end of stdin ends the process in time.
func TestElicitationIsBounded(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"elicitation", "both"} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			s := askingOn(t, db, channelOf(channel, time.Minute, nil), era2025b, plainForms)
			var open []*opened
			for n := range 8 {
				open = append(open, s.opens(s.plans("delete_rows", deletes(n+1))))
			}
			last := s.plans("delete_rows", deletes(9))
			s.unasked(last, nil).refused(t, refusal.TooManyWaiting)
			s.read("SELECT 1")
			before := snapshot(t, db)

			// Cancelled by the client: withdrawn, and its error comes too late.
			open[0].call.cancel()
			open[0].call.wait()
			require.True(t, s.withdrawn(open[0].q.id))
			slow := s.begin("query", args{"statement": "SELECT pg_sleep(0.3)", "reason": "t"})
			s.responds(open[0].q.id, rpcFailure)
			s.responds(open[0].q.id, ticked)
			slow.reply().ok(t, nil)
			require.Equal(t, before, snapshot(t, db))

			s.closeIn()
			s.awaitEnd(stopWithin + slack)
			require.Zero(t, s.exit)
			require.Equal(t, before, snapshot(t, db))
			require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
		})
	}
}

// Yeses at the very moment of the page's no, many times: never both.
func TestElicitationRacesThePage(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := askingOn(t, db, channelOf("both", time.Minute, nil), era2025a, plainForms)
	for n := range 20 {
		p := s.plans("delete_rows", deletes(n+1))
		o := s.opens(p)
		var wg sync.WaitGroup
		var page answer
		wg.Go(func() { page = s.reject(p.Token, "no") })
		wg.Go(func() { o.answers(ticked) })
		got := o.ends()
		wg.Wait()
		rejected := page.status == http.StatusOK && strings.Contains(string(page.body), `"status":"rejected"`)
		require.NotEqual(t, rejected, !got.isError, "page: %d %s; call: %s", page.status, page.body, got.text)
		require.Equal(t, map[bool]int{true: 0, false: 1}[rejected], executedRows(t, db, p.Token))
	}
}

// The client leaves, or the process is told to end, while a question is open: it ends in time and nothing
// is approved. It has the machine to itself, since it measures the contract's two seconds.
func TestElicitationOpenAtTheEnd(t *testing.T) {
	for way, leave := range map[string]func(*asking){
		"EOF":     func(s *asking) { s.closeIn() },
		"SIGTERM": func(s *asking) { require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM)) },
	} {
		for _, e := range []era{era2025b, era2026} {
			t.Run(way+" "+string(e), func(t *testing.T) {
				db := world(t)
				s := askingOn(t, db, channelOf("both", time.Minute, nil), e, plainForms)
				p := s.plans("delete_rows", deletes(1))
				s.opens(p)
				if e.modern() { // another call waits for its answer
					s.begins("execute_plan", p.echo(), nil)
					s.begins("query", args{"statement": "SELECT 1", "reason": "t"}, nil).reply().ok(t, nil)
				}
				before := snapshot(t, db)
				leave(s)
				s.awaitEnd(stopWithin)
				require.Zero(t, s.exit)
				require.Equal(t, before, snapshot(t, db))
				require.Empty(t, decidedBy(t, db, p.Token))
			})
		}
	}
}
