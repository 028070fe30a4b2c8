package plan_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	planTTL     = time.Minute
	approvalTTL = 10 * time.Minute
)

// testBundle is a store with short memories of what it called back. Most tests run in a synctest
// bubble, where time is the bubble's.
type testBundle struct {
	*plan.Store
	mu         sync.Mutex
	expired    []plan.Plan
	superseded []plan.Plan
}

func setup(t testing.TB, change ...func(*plan.Options)) *testBundle {
	t.Helper()
	b := &testBundle{}
	o := plan.Options{
		PlanTTL: planTTL, ApprovalTTL: approvalTTL, MaxOpen: 20,
		OnExpired: func(p plan.Plan) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.expired = append(b.expired, p)
		},
		OnSuperseded: func(p plan.Plan) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.superseded = append(b.superseded, p)
		},
	}
	for _, c := range change {
		c(&o)
	}
	b.Store = plan.NewStore(o)
	t.Cleanup(b.Close)
	return b
}

func payload(statement string, params ...string) plan.Payload {
	p := plan.Payload{Statement: statement}
	for _, v := range params {
		p.Params = append(p.Params, json.RawMessage(v))
	}
	return p
}

// preview is a delete of the rows with that digest.
func preview(statement, digest string) plan.Preview {
	return plan.Preview{
		Tool: "delete_rows", Reason: "clean up", CallerID: "tests", Payload: payload(statement, "1", `"x"`), Target: "app.t",
		AffectedRows: 8, RowsDigest: digest,
		BlastRadius: plan.BlastRadius{TotalRows: 20, Tables: []plan.Table{
			{OID: 1, Name: "app.t", Deleted: 8, Named: true}, {OID: 2, Name: "app.child", Deleted: 12, Why: "foreign key"},
		}},
		SampleRows: []plan.Row{{{Column: "id", Value: json.RawMessage("1")}}},
		Warnings:   []plan.Warning{{Code: plan.WarnSeqScan, Message: "slow"}},
		Work:       "checked",
	}
}

func echo(p plan.Plan) plan.Echo {
	c := p.Payload
	return plan.Echo{Payload: &c}
}

func echoOf(p plan.Preview) plan.Echo { return plan.Echo{Payload: &p.Payload} }

func (b *testBundle) create(t testing.TB, p plan.Preview, needsApproval bool) plan.Plan {
	t.Helper()
	made, joined, err := b.Create(p, needsApproval)
	require.NoError(t, err)
	require.False(t, joined)
	return made
}

func (b *testBundle) begin(t testing.TB, token plan.Token, e plan.Echo) *plan.Execution {
	t.Helper()
	x, err := b.Begin(token, e)
	require.NoError(t, err)
	return x
}

func (b *testBundle) state(t testing.TB, token plan.Token) plan.State {
	t.Helper()
	p, ok := b.Get(token)
	require.True(t, ok)
	return p.State
}

// A refusal is made of sentences: it begins with a capital, a number or the name of an argument, and
// ends with a full stop.
const aSentence = `(?s)^(?:[A-Z0-9]|params\[).*\.$`

func requireCode(t testing.TB, err error, code refusal.Code) refusal.Error {
	t.Helper()
	r, ok := refusal.As(err)
	require.True(t, ok, "want %s, got %v", code, err)
	require.Equal(t, code, r.Code)
	require.Regexp(t, aSentence, r.Message)
	require.Regexp(t, aSentence, r.Hint)
	return *r
}
