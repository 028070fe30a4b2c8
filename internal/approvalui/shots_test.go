package approvalui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// armed is true once a button can be pressed.
const armed = `[...document.querySelectorAll('.acts .btn')].some((x) => x.getAttribute('aria-disabled') === 'false')`

// TestPageFitsItsWindow looks at every state in both schemes and at 360 px: nothing may be wider
// than the window. With SW_SCREENSHOTS it leaves the pictures.
func TestPageFitsItsWindow(t *testing.T) {
	ctx := browser(t)
	b := setup(t)
	fits := func(name string) {
		for _, at := range []struct {
			tail, scheme string
			width        int64
		}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-narrow", "light", 360}} {
			look(t, ctx, at.width, at.scheme)
			shoot(t, ctx, name+at.tail)
			require.LessOrEqual(t, eval[int64](t, ctx, `document.documentElement.scrollWidth`), at.width, name+at.tail)
		}
		look(t, ctx, 1280, "light")
	}
	do(t, ctx, chromedp.Navigate(b.page.URL()))
	until(t, ctx, `document.getElementById('gate') !== null`)
	fits("locked")
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('.empty') !== null && document.title === 'Approvals: shop'`)
	fits("empty")

	first := b.add(archive())
	_, _, err := b.store.Reject(first.Token, "on-call", "Too broad. Narrow the WHERE and preview again.")
	require.NoError(t, err)
	done := b.add(cascade())
	b.add(repricing())
	b.add(dropColumn())
	b.add(importRows())
	again := b.add(archive())
	until(t, ctx, `document.querySelectorAll('article.card').length === 5 && document.title.startsWith('(5)')`)
	until(t, ctx, armed)
	fits("queue")

	field := "#card-" + string(again.Token) + "-type"
	do(t, ctx, chromedp.SendKeys(field, "9421"))
	until(t, ctx, `document.querySelector('.help-warn:not([hidden])').textContent.includes('That is 9,421. The plan changes 9,412.')`)
	fits("confirm")

	until(t, ctx, armed)
	eval[bool](t, ctx, `document.querySelectorAll('#card-`+string(again.Token)+` .acts .btn')[1].click() === undefined`)
	until(t, ctx, `document.querySelector('dialog[open]') !== null`)
	eval[bool](t, ctx, `document.querySelector('dialog input').click() === undefined`)
	fits("reject")
	eval[bool](t, ctx, `document.querySelector('dialog').close() === undefined`)

	_, _, err = b.store.Approve(done.Token, "on-call")
	require.NoError(t, err)
	until(t, ctx, `document.querySelector('.decided .outcome') !== null`)
	shoot(t, ctx, "decided-in-place")
	until(t, ctx, `document.querySelector('.receipt-new') !== null`)
	fits("decided")
	run, err := b.store.Begin(done.Token, planEcho(done))
	require.NoError(t, err)
	run.Confirm(8, b.now())
	until(t, ctx, `[...document.querySelectorAll('.receipt h2, .receipt h3')].some((x) => x.textContent === 'Done: deleted 8 rows from public.customers, and 832 that went with them')`)
	eval[bool](t, ctx, `(location.hash = '#history') !== ''`)
	until(t, ctx, `document.querySelector('h1') !== null && [...document.querySelectorAll('h1')].some((x) => x.textContent === 'History') && document.querySelectorAll('.stack .receipt').length > 0`)
	fits("history")
	eval[bool](t, ctx, `(location.hash = '#plan/`+string(done.Token)+`') !== ''`)
	until(t, ctx, `document.querySelector('.line') !== null`)
	fits("plan")
	eval[bool](t, ctx, `(location.hash = '') === ''`)
	until(t, ctx, `!document.querySelector('.head').parentElement.hidden`)

	b.page.Close()
	until(t, ctx, `document.querySelector('.alarm') !== null`)
	fits("gone")
}
