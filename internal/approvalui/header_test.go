package approvalui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestHeaderSaysPrivilegedRoles (field case 72): with database.allowPrivilegedRoles on, every view says so at
// the top, in words, with an icon, and readable in each scheme and width; without it there is no such line.
func TestHeaderSaysPrivilegedRoles(t *testing.T) {
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.PrivilegedRoles = true })
	b.add(cascade())
	ctx := b.browse()
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, armed)
	for _, hash := range []string{"", "#refused", "#history"} {
		eval[bool](t, ctx, `(location.hash = '`+hash+`') !== null`)
		for _, at := range []struct {
			scheme string
			width  int64
		}{{"light", 1280}, {"dark", 1280}, {"light", 360}, {"forced", 1280}} {
			look(t, ctx, at.width, at.scheme)
			require.Equal(t, "Database roles are not checked. database.allowPrivilegedRoles is on: the database itself may not stop what this server lets through.",
				eval[string](t, ctx, `document.querySelector('.unwalled').innerText.trim()`))
			require.True(t, eval[bool](t, ctx, `(() => { const r = document.querySelector('.unwalled').getBoundingClientRect(); return r.top >= 0 && r.bottom < 260 && r.height > 30 && document.querySelector('.unwalled .i').getBoundingClientRect().width >= 18; })()`), at.scheme)
			require.NotEqual(t, "none", eval[string](t, ctx, `getComputedStyle(document.querySelector('.unwalled')).borderTopStyle`), "a line that forced colours draw")
			require.Empty(t, eval[string](t, ctx, pale), at.scheme)
			require.Empty(t, eval[string](t, ctx, fits), at.scheme)
			if hash == "" {
				shoot(t, ctx, "privileged-"+at.scheme)
			}
		}
	}
	c := setup(t)
	_, body, _ := c.ask("GET", "/api/plans", "")
	require.Equal(t, false, body["server"].(map[string]any)["privileged_roles"])
}
