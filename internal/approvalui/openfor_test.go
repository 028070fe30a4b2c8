package approvalui_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// A plan that is asked about elsewhere opens no browser, and is not taken for the first one: the next
// that needs the page opens it.
func TestOpensNoBrowserForWhatIsAskedElsewhere(t *testing.T) {
	t.Parallel()
	opened := make(chan string, 4)
	var passed atomic.Int32
	elsewhere := cascade()
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.OpenOnFirstPlan = true
		o.OpenBrowser = func(u string) error { opened <- u; return nil }
		o.OpenFor = func(p plan.Plan) bool {
			if p.Target == elsewhere.Target {
				passed.Add(1)
				return false
			}
			return true
		}
	})
	status, _, _ := b.ask("GET", "/api/plans", "") // Serve runs now
	require.Equal(t, 200, status)
	b.add(elsewhere)
	require.Eventually(t, func() bool { return passed.Load() == 1 }, 10*time.Second, time.Millisecond)
	require.Empty(t, opened)
	b.add(archive())
	require.Contains(t, <-opened, "?code=")
}
