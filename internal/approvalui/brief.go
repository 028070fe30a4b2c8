package approvalui

import (
	"cmp"
	"slices"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Brief is what the list of all plans needs of one: the names are those of [Card]. With hundreds of plans
// the page asks for the whole card (GET /api/plans/{token}) when it comes near the window.
type Brief struct {
	Brief        bool       `json:"brief"` // always true: tells it from a Card
	PlanToken    plan.Token `json:"plan_token"`
	State        plan.State `json:"state"`
	Tool         string     `json:"tool"`
	PreviewCount int        `json:"preview_count"`
	ExpiresAt    int64      `json:"expires_at"`   // epoch ms
	PreviewedAt  int64      `json:"previewed_at"` // epoch ms
	Target       string     `json:"target"`
	AffectedRows int64      `json:"affected_rows"`
	Render       struct {
		Sentence Sentence `json:"sentence"`
	} `json:"render"`
	BlastRadius struct {
		TotalRows int64    `json:"total_rows"`
		Unknown   []string `json:"unknown"`
	} `json:"blast_radius"`
	Level Level `json:"level"`
}

func (s *Server) brief(p plan.Plan) Brief {
	band := bandOf(p.Preview, s.opts.ConfirmAboveRows)
	b := Brief{
		Brief: true, PlanToken: p.Token, State: p.State, Tool: p.Tool, PreviewCount: p.PreviewCount,
		ExpiresAt: ms(p.ExpiresAt), PreviewedAt: ms(p.CreatedAt), Target: p.Target, AffectedRows: p.AffectedRows,
		Level: levelOf(band, cautionsOf(p, band), p.Preview),
	}
	b.Render.Sentence = sayPlan(p)
	b.BlastRadius.TotalRows, b.BlastRadius.Unknown = p.BlastRadius.TotalRows, p.BlastRadius.Unknown
	if b.BlastRadius.Unknown == nil {
		b.BlastRadius.Unknown = []string{}
	}
	return b
}

// cardsOf renders a list of plans. Of those that wait, only the full oldest are whole cards; a negative
// full is all. The order stays.
func (s *Server) cardsOf(list []plan.Plan, full int) []any {
	whole := map[plan.Token]bool{}
	if full >= 0 {
		oldest := slices.Clone(list)
		slices.SortStableFunc(oldest, func(a, b plan.Plan) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for _, p := range oldest {
			if p.State == plan.AwaitingApproval && len(whole) < full {
				whole[p.Token] = true
			}
		}
	}
	out := make([]any, len(list))
	for i, p := range list {
		if full < 0 || p.State != plan.AwaitingApproval || whole[p.Token] {
			out[i] = s.card(p)
		} else {
			out[i] = s.brief(p)
		}
	}
	return out
}

// listed says whether GET /api/plans lists a plan: what waits, with all also what is decided and not ended.
func listed(p plan.Plan, all bool, now time.Time) bool {
	switch p.State {
	case plan.AwaitingApproval:
		return p.ExpiresAt.After(now)
	case plan.Approved:
		return all && p.ExpiresAt.After(now)
	case plan.Executing, plan.Unknown:
		return all
	default:
		return false
	}
}

// soonest orders by the time of expiry, to the millisecond that the API shows.
func soonest(a, b plan.Plan) int { return cmp.Compare(ms(a.ExpiresAt), ms(b.ExpiresAt)) }
