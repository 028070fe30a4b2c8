package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// modelPlan is all that the model knows of a plan.
type modelPlan struct {
	token   plan.Token
	text    string
	digest  string
	state   plan.State
	before  plan.State
	expires time.Time
	count   int
}

// model is the store written once more, without locks, timers or memory bounds.
type model struct {
	now      time.Time
	plans    []*modelPlan
	rejected map[string]bool
	maxOpen  int
}

func (m *modelPlan) open() bool {
	return m.state == plan.Previewed || m.state == plan.AwaitingApproval || m.state == plan.Approved
}

func (m *model) pass() {
	for _, p := range m.plans {
		if p.open() && !m.now.Before(p.expires) {
			p.state = plan.Expired
		}
	}
}

func (m *model) code(p *modelPlan, execute bool) refusal.Code {
	switch p.state {
	case plan.Rejected:
		return refusal.PlanRejected
	case plan.Superseded:
		return refusal.SupersededPlan
	case plan.Executed:
		return refusal.UsedToken
	case plan.Executing:
		return refusal.AlreadyExecuting
	case plan.Unknown:
		return refusal.OutcomeUnknown
	case plan.Stopped:
		return refusal.RowsetChanged
	case plan.Expired:
		return refusal.ExpiredToken
	case plan.AwaitingApproval:
		if execute {
			return refusal.AwaitingApproval
		}
	case plan.Previewed, plan.Approved:
	}
	return ""
}

// TestModel plays random lives against the model: same answers, same states, and whatever happens
// no token runs twice, none runs unapproved that a person had to approve, none after a rejection.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), rejected: map[string]bool{}, maxOpen: 4}
		s := plan.NewStore(plan.Options{Now: func() time.Time { return m.now }, PlanTTL: planTTL, ApprovalTTL: approvalTTL, MaxOpen: m.maxOpen})
		defer s.Close()
		handles := map[plan.Token]*plan.Execution{}
		approvedEver, neededEver, ran := map[plan.Token]bool{}, map[plan.Token]bool{}, map[plan.Token]int{}
		pick := func(t *rapid.T) *modelPlan {
			if len(m.plans) == 0 {
				t.Skip("no plan yet")
			}
			return rapid.SampledFrom(m.plans).Draw(t, "plan")
		}
		same := func(t *rapid.T, code refusal.Code, err error) {
			if code == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, refusal.Is(err, code), "want %s, got %v", code, err)
		}

		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				p := preview(fmt.Sprint("DELETE FROM app.t", rapid.IntRange(0, 3).Draw(t, "text")), rapid.SampledFrom([]string{"d1", "d2"}).Draw(t, "digest"))
				needs := rapid.Bool().Draw(t, "needs")
				made, joined, err := s.Create(p, needs)
				m.pass()
				open, others := 0, []*modelPlan{}
				var twin *modelPlan
				for _, o := range m.plans {
					if !o.open() {
						continue
					}
					open++
					if o.text != p.Payload.Statement {
						continue
					}
					fits := o.digest == p.RowsDigest && (o.state == plan.Approved || (o.state == plan.AwaitingApproval) == needs)
					if fits && twin == nil {
						twin = o
					}
					others = append(others, o)
				}
				lives, state := planTTL, plan.Previewed
				if needs {
					lives, state = approvalTTL, plan.AwaitingApproval
				}
				switch {
				case twin != nil:
					require.NoError(t, err)
					require.True(t, joined)
					require.Equal(t, twin.token, made.Token)
					twin.count++
					if twin.state != plan.Approved {
						twin.expires = m.now.Add(lives)
					}
				case open-len(others) >= m.maxOpen:
					same(t, refusal.TooManyPlans, err)
				default:
					require.NoError(t, err)
					require.False(t, joined)
					require.Equal(t, m.rejected[p.Payload.Statement], made.Earlier != nil)
					for _, o := range others {
						o.state = plan.Superseded
					}
					m.plans = append(m.plans, &modelPlan{
						token: made.Token, text: p.Payload.Statement, digest: p.RowsDigest, state: state, expires: m.now.Add(lives), count: 1,
					})
					neededEver[made.Token] = needs
				}
			},
			"approve": func(t *rapid.T) {
				p := pick(t)
				_, already, err := s.Approve(p.token, "maria")
				m.pass()
				same(t, m.code(p, false), err)
				require.Equal(t, p.state == plan.Previewed || p.state == plan.Approved, already)
				if err == nil && !already {
					p.state = plan.Approved
					if e := m.now.Add(planTTL); e.After(p.expires) {
						p.expires = e
					}
					approvedEver[p.token] = true
				}
			},
			"reject": func(t *rapid.T) {
				p := pick(t)
				_, already, err := s.Reject(p.token, "maria", "no")
				m.pass()
				if p.state == plan.Rejected {
					require.NoError(t, err)
					require.True(t, already)
					return
				}
				same(t, m.code(p, false), err)
				if err == nil {
					p.state = plan.Rejected
					m.rejected[p.text] = true
				}
			},
			"begin": func(t *rapid.T) {
				p := pick(t)
				e := echoOf(preview(p.text, p.digest))
				wrong := rapid.IntRange(0, 9).Draw(t, "wrong") == 0
				if wrong {
					e = echoOf(preview(p.text+" ", p.digest)) // white space only: fits
					e.Payload.Params = e.Payload.Params[:1]
				}
				x, err := s.Begin(p.token, e)
				m.pass()
				code := m.code(p, true)
				if wrong && (code == "" || code == refusal.AwaitingApproval) {
					code = refusal.StatementMismatch
				}
				same(t, code, err)
				if err != nil {
					return
				}
				require.False(t, neededEver[p.token] && !approvedEver[p.token], "ran without the person's yes")
				p.before, p.state = p.state, plan.Executing
				handles[p.token] = x
			},
			"end": func(t *rapid.T) {
				p := pick(t)
				x := handles[p.token]
				if x == nil {
					t.Skip("never begun")
				}
				running := p.state == plan.Executing // else the handle is over and must do nothing
				var to plan.State
				switch rapid.SampledFrom([]string{"confirm", "fail", "stop", "unknown"}).Draw(t, "how") {
				case "confirm":
					x.Confirm(8, m.now)
					to = plan.Executed
				case "fail":
					x.Fail()
					to = p.before
				case "stop":
					x.Stop(string(refusal.RowsetChanged), "changed")
					to = plan.Stopped
				case "unknown":
					x.Unknown("lost")
					to = plan.Unknown
				}
				if running {
					if to == plan.Executed {
						ran[p.token]++
					}
					p.state = to
				}
				m.pass()
			},
			"settle": func(t *rapid.T) {
				p := pick(t)
				executed := rapid.Bool().Draw(t, "executed")
				s.Settle(p.token, executed, 8, m.now)
				if p.state == plan.Unknown {
					if p.state = p.before; executed {
						p.state = plan.Executed
						ran[p.token]++
					}
				}
				m.pass()
			},
			"time": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(0, int64(5*time.Minute)).Draw(t, "passes")))
			},
			"": func(t *rapid.T) {
				m.pass()
				live := 0
				for _, p := range m.plans {
					got, ok := s.Get(p.token)
					require.True(t, ok)
					require.Equal(t, p.state, got.State)
					require.LessOrEqual(t, ran[p.token], 1)
					if p.open() || p.state == plan.Executing || p.state == plan.Unknown {
						live++
						require.Equal(t, p.expires, got.ExpiresAt)
						require.Equal(t, p.count, got.PreviewCount)
					}
				}
				require.Len(t, s.List(), live)
			},
		})
	})
}
