package approvalui_test

import (
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestAuditFailuresAreShown: a record with gaps is said on the page, at once with the next event.
func TestAuditFailuresAreShown(t *testing.T) {
	t.Parallel()
	var failures atomic.Int64
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.AuditFailures = failures.Load })
	_, body, _ := b.ask("GET", "/api/plans", "")
	require.EqualValues(t, 0, body["server"].(map[string]any)["audit_failures"])

	ctx := browser(t)
	look(t, ctx, 1280, "light")
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('.state')?.textContent.includes('Live')`)
	require.False(t, eval[bool](t, ctx, `!!document.querySelector('.audit-gap')`))
	failures.Store(3)
	b.add(cascade())
	until(t, ctx, `document.querySelector('.audit-gap')?.textContent.includes('3 events are missing in the audit log')`)
	shoot(t, ctx, "audit-gap")
}
