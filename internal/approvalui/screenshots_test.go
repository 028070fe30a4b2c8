package approvalui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestScreenshots looks at the pages that the documents show, each as a person sees it first: nothing may
// be cut. `make screenshots` keeps the pictures in docs/img.
func TestScreenshots(t *testing.T) {
	l := diary()
	l.rows = l.rows[:10]
	b := setup(t, with(l))
	ctx := b.browse()
	watch(t, ctx, b)
	views := []struct {
		tail, scheme string
		width        int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 360}}
	picture := func(name, ready string) {
		for _, v := range views {
			look(t, ctx, v.width, v.scheme)
			do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
			until(t, ctx, `document.querySelector('.state')?.textContent.includes('Live')`)
			if name == "audit" {
				eval[bool](t, ctx, `(location.hash = '#history') !== ''`)
			}
			until(t, ctx, ready)
			eval[bool](t, ctx, `scrollTo(0, 0) === undefined`)
			require.Empty(t, eval[string](t, ctx, fits), name+" "+v.tail)
			shoot(t, ctx, "page-"+name+"-"+v.tail)
		}
	}
	picture("empty", `document.querySelector('.empty') !== null`)
	for _, c := range []struct {
		name string
		p    plan.Preview
	}{{"delete", cascade()}, {"update", repricing()}, {"migration", dropColumn()}, {"masked", newAddresses()}} {
		made := b.add(c.p)
		picture(c.name, armed)
		_, _, err := b.store.Reject(made.Token, "on-call", "Not now.")
		require.NoError(t, err)
	}
	b.add(repricing())
	picture("audit", `document.querySelectorAll('.log tbody tr').length === 8`)
}
