package plan_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestMemoryIsBounded: 100,000 plans with large payloads that end in every way cost at most 10 MB.
// Not parallel: it reads the heap.
func TestMemoryIsBounded(t *testing.T) {
	now := time.Now()
	s := plan.NewStore(plan.Options{Now: func() time.Time { return now }, PlanTTL: planTTL, ApprovalTTL: approvalTTL, MaxOpen: 20})
	defer s.Close()
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var first, last plan.Token
	for i := range 100_000 {
		p := preview(fmt.Sprint("DELETE FROM app.t WHERE id = ", i, strings.Repeat(" ", 200), "--"), "rows")
		p.Reason = fmt.Sprint("reason ", i)
		p.Payload.Params = []json.RawMessage{json.RawMessage(`"` + strings.Repeat("x", 200) + `"`)}
		p.Work = make([]byte, 200)
		made, _, err := s.Create(p, i%5 == 0)
		require.NoError(t, err)
		switch i % 5 {
		case 0:
			_, _, err = s.Reject(made.Token, "maria", fmt.Sprint("no ", i, strings.Repeat("!", 200)))
			require.NoError(t, err)
		case 1:
			x, err := s.Begin(made.Token, echoOf(p))
			require.NoError(t, err)
			x.Confirm(8, now)
		case 2:
			x, err := s.Begin(made.Token, echoOf(p))
			require.NoError(t, err)
			x.Stop(string(refusal.RowsetChanged), fmt.Sprint("changed ", i))
		case 3:
			p.RowsDigest = "others"
			_, _, err = s.Create(p, false)
			require.NoError(t, err)
		case 4:
			now = now.Add(planTTL)
		}
		last = made.Token
		if i == 85_000 {
			first = made.Token
		}
	}
	grown := heap() - before
	t.Logf("100,000 plans: %.1f MB", float64(grown)/1e6)
	require.Less(t, grown, int64(10_000_000))

	// What the gates need is still there, long after the rest is gone.
	p, ok := s.Get(first)
	require.True(t, ok)
	require.Equal(t, plan.Rejected, p.State)
	_, err := s.Begin(first, plan.Echo{})
	requireCode(t, err, refusal.PlanRejected)
	p, ok = s.Get(last)
	require.True(t, ok)
	require.Contains(t, p.Payload.Statement, "id = 99999")
	require.Nil(t, p.Payload.Params)
	require.Nil(t, p.Work)
	require.Len(t, s.Recent(1000), 200)
}

// The history keeps the beginning of a huge statement.
func TestHistoryCutsLongStatements(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("DELETE FROM app.t WHERE a = '"+strings.Repeat("é", 1<<19)+"'", "rows"), true)
	_, _, err := b.Reject(p.Token, "maria", "no")
	require.NoError(t, err)
	kept := b.Recent(1)[0]
	require.Less(t, len(kept.Payload.Statement), 5000)
	require.True(t, strings.HasSuffix(kept.Payload.Statement, "… (1048606 bytes)"), kept.Payload.Statement[4000:])
	require.Equal(t, p.BlastRadius, kept.BlastRadius)
}

// Of a thousand rejections the words are kept; of older ones that they were rejected, and when.
func TestOldRejectionsLoseTheirWordsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var tokens []plan.Token
	text := func(i int) string { return fmt.Sprint("DELETE FROM app.t", i) }
	for i := range 1_001 {
		p := b.create(t, preview(text(i), "rows"), true)
		_, _, err := b.Reject(p.Token, "maria", fmt.Sprint("reason ", i))
		require.NoError(t, err)
		tokens = append(tokens, p.Token)
	}
	_, err := b.Begin(tokens[0], echoOf(preview(text(0), "rows")))
	r := requireCode(t, err, refusal.PlanRejected)
	require.NotContains(t, r.Message, "reason")
	require.Contains(t, r.Message, "rejected this plan at ")
	require.Nil(t, b.create(t, preview(text(0), "rows"), true).Earlier)
	_, err = b.Begin(tokens[1], echoOf(preview(text(1), "rows")))
	require.Contains(t, requireCode(t, err, refusal.PlanRejected).Message, `"reason 1"`)
	require.Equal(t, "reason 1", b.create(t, preview(text(1), "rows"), true).Earlier.Reason)
}
