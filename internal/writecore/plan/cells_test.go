package plan_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// A situation is a plan in one state, and a handle of an execution if one can exist: the live one
// in executing, else one that is over.
type situation struct {
	b      *testBundle
	given  plan.Preview
	needs  bool
	token  plan.Token
	handle *plan.Execution
}

const nowhere plan.State = "(no such token)"

var arrange = map[plan.State]func(t *testing.T, s *situation){
	nowhere:               func(_ *testing.T, s *situation) { s.token = plan.NewToken() },
	plan.Previewed:        func(t *testing.T, s *situation) { s.made(t, false) },
	plan.AwaitingApproval: func(t *testing.T, s *situation) { s.made(t, true) },
	plan.Approved:         func(t *testing.T, s *situation) { s.approved(t) },
	plan.Executing: func(t *testing.T, s *situation) {
		s.approved(t)
		s.handle = s.b.begin(t, s.token, echoOf(s.given))
	},
	plan.Executed: func(t *testing.T, s *situation) {
		s.approved(t)
		s.handle = s.b.begin(t, s.token, echoOf(s.given))
		s.handle.Confirm(8, time.Now())
	},
	plan.Rejected: func(t *testing.T, s *situation) {
		s.approved(t)
		_, already, err := s.b.Reject(s.token, "maria", "wrong tenant")
		require.NoError(t, err)
		require.False(t, already)
	},
	plan.Superseded: func(t *testing.T, s *situation) {
		s.approved(t)
		other := s.given
		other.RowsDigest = "other"
		s.b.create(t, other, true)
	},
	plan.Expired: func(t *testing.T, s *situation) {
		s.made(t, false)
		time.Sleep(planTTL)
		synctest.Wait()
	},
	plan.Stopped: func(t *testing.T, s *situation) {
		s.approved(t)
		s.handle = s.b.begin(t, s.token, echoOf(s.given))
		s.handle.Stop(string(refusal.RowsetChanged), "The rows changed.")
	},
	plan.Unknown: func(t *testing.T, s *situation) {
		s.approved(t)
		s.handle = s.b.begin(t, s.token, echoOf(s.given))
		s.handle.Unknown("The connection was lost.")
	},
}

func (s *situation) made(t *testing.T, needs bool) {
	s.needs = needs
	s.token = s.b.create(t, s.given, needs).Token
	if !needs {
		s.handle = s.b.begin(t, s.token, echoOf(s.given))
		s.handle.Fail()
	}
}

func (s *situation) approved(t *testing.T) {
	s.made(t, true)
	_, already, err := s.b.Approve(s.token, "maria")
	require.NoError(t, err)
	require.False(t, already)
	s.handle = s.b.begin(t, s.token, echoOf(s.given))
	s.handle.Fail()
}

// What an event is expected to do.
type cell struct {
	state   plan.State   // behind it; "" = unchanged
	code    refusal.Code // refused with
	already bool         // Approve, Reject
	joins   bool         // Create
	earlier bool         // Create: the new plan knows of the rejection
}

type event struct {
	name string
	fire func(t *testing.T, s *situation, want cell)
}

func createWith(digest string) func(*testing.T, *situation, cell) {
	return func(t *testing.T, s *situation, want cell) {
		again := s.given
		if digest != "" {
			again.RowsDigest = digest
		}
		made, joined, err := s.b.Create(again, s.needs)
		require.NoError(t, err)
		require.Equal(t, want.joins, joined)
		require.Equal(t, want.joins, made.Token == s.token)
		require.Equal(t, want.earlier, made.Earlier != nil)
		if want.state == plan.Superseded {
			old, _ := s.b.Get(s.token)
			require.Equal(t, made.Token, old.SupersededBy)
		}
	}
}

// handled skips nothing: a state in which no handle can exist must refuse to give one.
func handled(how func(*plan.Execution)) func(*testing.T, *situation, cell) {
	return func(t *testing.T, s *situation, _ cell) {
		if s.handle == nil {
			_, err := s.b.Begin(s.token, echoOf(s.given))
			require.Error(t, err)
			return
		}
		how(s.handle)
	}
}

func judged(t *testing.T, err error, want cell) {
	t.Helper()
	if want.code == "" {
		require.NoError(t, err)
		return
	}
	requireCode(t, err, want.code)
}

var events = []event{
	{"create equal", createWith("")},
	{"create other rows", createWith("others")},
	{"approve", func(t *testing.T, s *situation, want cell) {
		_, already, err := s.b.Approve(s.token, "paul")
		judged(t, err, want)
		require.Equal(t, want.already, already)
	}},
	{"reject", func(t *testing.T, s *situation, want cell) {
		p, already, err := s.b.Reject(s.token, "paul", "no")
		judged(t, err, want)
		require.Equal(t, want.already, already)
		if already {
			require.Equal(t, "wrong tenant", p.Decision.Reason, "the first reason stays")
		}
	}},
	{"begin", func(t *testing.T, s *situation, want cell) {
		_, err := s.b.Begin(s.token, echoOf(s.given))
		judged(t, err, want)
	}},
	{"time", func(*testing.T, *situation, cell) {
		time.Sleep(approvalTTL + planTTL)
		synctest.Wait()
	}},
	{"confirm", handled(func(x *plan.Execution) { x.Confirm(8, time.Now()) })},
	{"fail", handled((*plan.Execution).Fail)},
	{"fail late", handled(func(x *plan.Execution) {
		time.Sleep(approvalTTL + planTTL)
		x.Fail()
	})},
	{"stop", handled(func(x *plan.Execution) { x.Stop(string(refusal.RowsetChanged), "changed") })},
	{"unknown", handled(func(x *plan.Execution) { x.Unknown("lost") })},
	{"withdraw", func(t *testing.T, s *situation, want cell) {
		s.b.Withdraw(s.token, string(refusal.AuditUnavailable), "No record could be written.")
		if want.state == plan.Stopped {
			_, err := s.b.Begin(s.token, echoOf(s.given))
			require.Equal(t, "No record could be written.", requireCode(t, err, refusal.AuditUnavailable).Message)
		}
	}},
	{"check", func(t *testing.T, s *situation, want cell) { judged(t, s.b.Check(s.token, echoOf(s.given)), want) }},
	{"decidable", func(t *testing.T, s *situation, want cell) { judged(t, s.b.Decidable(s.token), want) }},
	{"settle executed", func(_ *testing.T, s *situation, _ cell) { s.b.Settle(s.token, true, 8, time.Now()) }},
	{"settle not", func(_ *testing.T, s *situation, _ cell) { s.b.Settle(s.token, false, 0, time.Time{}) }},
	{"settle not, late", func(_ *testing.T, s *situation, _ cell) {
		time.Sleep(approvalTTL + planTTL)
		s.b.Settle(s.token, false, 0, time.Time{})
	}},
}

var (
	same     = cell{}
	expires  = cell{state: plan.Expired}
	newPlan  = cell{}
	replaces = cell{state: plan.Superseded}
)

// ended is the row of a state in which nothing happens any more.
func ended(code refusal.Code) map[string]cell {
	refused := cell{code: code}
	return map[string]cell{
		"create equal": newPlan, "create other rows": newPlan, "approve": refused, "reject": refused, "begin": refused, "time": same,
		"confirm": same, "fail": same, "fail late": same, "stop": same, "unknown": same,
		"withdraw": same, "check": refused, "decidable": refused,
		"settle executed": same, "settle not": same, "settle not, late": same,
	}
}

func with(row map[string]cell, changes map[string]cell) map[string]cell {
	maps.Copy(row, changes)
	return row
}

// The tables of doc.go. "fail late" and "settle not, late" let time pass first, so that an open
// plan expires under them.
var cells = map[plan.State]map[string]cell{
	nowhere: ended(refusal.UnknownToken),
	plan.Previewed: with(ended(""), map[string]cell{
		"create equal": {joins: true}, "create other rows": replaces, "approve": {already: true}, "reject": {state: plan.Rejected},
		"begin": {state: plan.Executing}, "withdraw": {state: plan.Stopped}, "time": expires, "fail late": expires, "settle not, late": expires,
	}),
	plan.AwaitingApproval: with(ended(""), map[string]cell{
		"create equal": {joins: true}, "create other rows": replaces, "approve": {state: plan.Approved}, "reject": {state: plan.Rejected},
		"begin": {code: refusal.AwaitingApproval}, "check": {code: refusal.AwaitingApproval}, "withdraw": {state: plan.Stopped}, "time": expires, "fail late": same, "settle not, late": expires,
	}),
	plan.Approved: with(ended(""), map[string]cell{
		"create equal": {joins: true}, "create other rows": replaces, "approve": {already: true}, "reject": {state: plan.Rejected},
		"begin": {state: plan.Executing}, "withdraw": {state: plan.Stopped}, "time": expires, "fail late": expires, "settle not, late": expires,
	}),
	plan.Executing: with(ended(refusal.AlreadyExecuting), map[string]cell{
		"confirm": {state: plan.Executed}, "fail": {state: plan.Approved}, "fail late": expires, "stop": {state: plan.Stopped},
		"unknown": {state: plan.Unknown},
	}),
	plan.Executed:   ended(refusal.UsedToken),
	plan.Rejected:   with(ended(refusal.PlanRejected), map[string]cell{"create equal": {earlier: true}, "create other rows": {earlier: true}, "reject": {already: true}}),
	plan.Superseded: ended(refusal.SupersededPlan),
	plan.Expired:    ended(refusal.ExpiredToken),
	plan.Stopped:    ended(refusal.RowsetChanged),
	plan.Unknown: with(ended(refusal.OutcomeUnknown), map[string]cell{
		"settle executed": {state: plan.Executed}, "settle not": {state: plan.Approved}, "settle not, late": expires,
	}),
}

// TestEveryCell holds the tables of doc.go: every state, every event.
func TestEveryCell(t *testing.T) {
	t.Parallel()
	require.Len(t, cells, len(arrange))
	for state, build := range arrange {
		row := cells[state]
		require.Len(t, row, len(events), state)
		for _, ev := range events {
			want, ok := row[ev.name]
			require.True(t, ok, "no cell for %s × %s", state, ev.name)
			t.Run(string(state)+"/"+ev.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := &situation{b: setup(t), given: preview("DELETE FROM app.t", "rows")}
					build(t, s)
					ev.fire(t, s, want)
					if state == nowhere {
						_, ok := s.b.Get(s.token)
						require.False(t, ok)
						return
					}
					after := want.state
					if after == "" {
						after = state
					}
					require.Equal(t, after, s.b.state(t, s.token))
					s.b.Close()
					s.requireCallbacks(t, after)
				})
			})
		}
	}
}

// Every expiry and every replacement is told, once, with the whole plan.
func (s *situation) requireCallbacks(t *testing.T, after plan.State) {
	t.Helper()
	count := func(told []plan.Plan) int {
		n := 0
		for _, p := range told {
			if p.Token == s.token {
				n++
				require.Equal(t, "checked", p.Work)
				require.Len(t, p.Payload.Params, 2)
			}
		}
		return n
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	require.Equal(t, after == plan.Expired, count(s.b.expired) == 1)
	require.Equal(t, after == plan.Superseded, count(s.b.superseded) == 1)
}

// A handle that is over must not reach into a later execution of the same plan.
func TestAnOldExecutionCannotEndANewOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("DELETE FROM app.t", "rows"), false)
	old := b.begin(t, p.Token, echo(p))
	old.Fail()
	current := b.begin(t, p.Token, echo(p))
	old.Fail()
	old.Confirm(1, time.Now())
	old.Stop("X", "y")
	old.Unknown("z")
	require.Equal(t, plan.Executing, b.state(t, p.Token))
	current.Confirm(8, time.Now())
	require.Equal(t, plan.Executed, b.state(t, p.Token))
}
