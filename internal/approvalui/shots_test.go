package approvalui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// armed is true once a button can be pressed.
const armed = `[...document.querySelectorAll('.acts .btn')].some((x) => x.getAttribute('aria-disabled') === 'false')`

// gallery is a page with everything that it can show.
func gallery(t *testing.T) *bundle {
	l := diary()
	l.rows = l.rows[:12]
	return setup(t, with(l), func(o *approvalui.Options, _ *plan.Options) {
		o.Refusals = refusals()
		o.OpenCommand = "sw-postgres-mcp approvals open"
		o.OpenBrowser = func(string) error { return nil }
	})
}

// walk leads the browser through every state of the page and stops at each.
func walk(t *testing.T, b *bundle, at func(name string)) {
	t.Helper()
	ctx := b.ctx
	do(t, ctx, chromedp.Navigate(b.page.URL()))
	until(t, ctx, `document.getElementById('gate') !== null`)
	at("locked")
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('.empty') !== null && document.title === 'Approvals: shop'`)
	at("empty")

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
	at("queue")

	field := "#card-" + string(again.Token) + "-type"
	do(t, ctx, chromedp.SendKeys(field, "9421"))
	until(t, ctx, `document.querySelector('.help-warn:not([hidden])').textContent.includes('That is 9,421. The plan changes 9,412.')`)
	at("confirm")
	// Not the 400 lines and 1,200 parameters: more of the same, of which checkers never get to the end.
	eval[bool](t, ctx, `document.querySelectorAll('details').forEach((x) => { x.open = !/^Show all [\d,]{3,}/.test(x.textContent); }) === undefined`)
	until(t, ctx, `[...document.querySelectorAll('details[open]')].every((x) => x.childElementCount > 1)`)
	at("unfolded")
	eval[bool](t, ctx, `document.querySelectorAll('details').forEach((x) => { x.open = false; }) === undefined`)

	until(t, ctx, armed)
	eval[bool](t, ctx, `document.querySelectorAll('#card-`+string(again.Token)+` .acts .btn')[1].click() === undefined`)
	until(t, ctx, `document.querySelector('dialog[open]') !== null`)
	eval[bool](t, ctx, `document.querySelector('dialog input').click() === undefined`)
	at("reject")
	eval[bool](t, ctx, `document.querySelector('dialog').close() === undefined`)
	eval[bool](t, ctx, `document.querySelector('.me button').click() === undefined`)
	until(t, ctx, `document.querySelector('dialog[open]') !== null`)
	at("person")
	eval[bool](t, ctx, `document.querySelector('dialog').close() === undefined`)

	_, _, err = b.store.Approve(done.Token, "on-call")
	require.NoError(t, err)
	until(t, ctx, `document.querySelector('.decided .outcome') !== null`)
	shoot(t, ctx, "decided-in-place")
	until(t, ctx, `document.querySelector('.receipt-new') !== null && document.querySelector('.decided') === null`)
	at("decided")
	run, err := b.store.Begin(done.Token, planEcho(done))
	require.NoError(t, err)
	run.Confirm(8, b.now())
	until(t, ctx, `[...document.querySelectorAll('.receipt h2, .receipt h3')].some((x) => x.textContent === 'Done: deleted 8 rows from public.customers, and 832 that went with them')`)
	eval[bool](t, ctx, `(location.hash = '#history') !== ''`)
	until(t, ctx, `document.querySelectorAll('.log tbody tr').length === 10`)
	at("audit")
	eval[bool](t, ctx, `document.querySelectorAll('.log .more summary')[2].click() === undefined`)
	until(t, ctx, `document.querySelectorAll('.log .line li').length === 3`)
	eval[bool](t, ctx, `(() => { const w = document.querySelector('#f-w'); w.value = 'own'; w.dispatchEvent(new Event('change')); return true; })()`)
	at("audit-open")
	eval[bool](t, ctx, `(location.hash = '#refused') !== ''`)
	until(t, ctx, `document.querySelectorAll('.refused').length === 3`)
	at("refused")
	eval[bool](t, ctx, `(location.hash = '#plan/`+string(done.Token)+`') !== ''`)
	until(t, ctx, `document.querySelector('.chain') !== null`)
	at("plan")
	eval[bool](t, ctx, `(location.hash = '#plan/7Qd4cccccccccccccccck2') !== ''`)
	until(t, ctx, `document.querySelector('#main').textContent.includes('This server does not have the plan')`)
	at("plan-of-the-log")
	eval[bool](t, ctx, `(location.hash = '') === ''`)
	until(t, ctx, `!document.querySelector('.head').parentElement.hidden`)

	for range 9 {
		b.add(rush(b))
	}
	until(t, ctx, `document.querySelectorAll('.index-group').length > 0 && document.querySelectorAll('article.card').length === 13`)
	at("rush")
	b.page.Close()
	until(t, ctx, `document.querySelector('.alarm') !== null`)
	at("gone")
}

// rush is one of many alike.
func rush(b *bundle) plan.Preview {
	p := repricing()
	p.Payload.Params[1] = raw(len(b.store.List()))
	return p
}

// fits fails for whatever is wider than the window, or cut off.
const fits = `(() => {
  const bad = [];
  if (document.documentElement.scrollWidth > innerWidth) bad.push('the page scrolls sideways: ' + document.documentElement.scrollWidth);
  const skip = '.vh, .skip, .log thead, svg, .scroll, .fold, textarea, input, select, .sprite, noscript';
  const what = (e) => e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 60);
  for (const e of document.querySelectorAll('#app *, dialog *')) {
    if (e.closest(skip)) continue;
    const s = getComputedStyle(e);
    if ((s.overflowX === 'hidden' || s.overflowX === 'clip') && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)) bad.push('cut: ' + what(e));
  }
  for (const e of document.querySelectorAll('.blast td, .blast th, .btn, .meta dd, .index .t, .clock b')) {
    if (!e.closest(skip) && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1) bad.push('wider than its place: ' + what(e));
  }
  for (const e of document.querySelectorAll('.field > :is(input, select, textarea)')) {
    if (e.checkVisibility() && e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1) bad.push('wider than its field: ' + e.id);
  }
  for (const e of document.querySelectorAll('.count')) {
    if (e.checkVisibility() && e.getBoundingClientRect().height < parseFloat(getComputedStyle(e).fontSize) * 1.5) bad.push('a count is wider than its disc: ' + what(e));
  }
  if (new Set([...document.querySelectorAll('.nav a:not([hidden])')].map((e) => e.getBoundingClientRect().top)).size > 1) bad.push('the navigation takes two rows');
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (!n.data.trim() || n.parentElement.closest(skip)) continue;
    range.selectNodeContents(n);
    const r = range.getBoundingClientRect();
    if (r.width > 0 && (r.right > innerWidth + 1 || r.left < -1)) bad.push('outside the window: ' + what(n.parentElement));
  }
  return bad.slice(0, 8).join('\n');
})()`

// pale lists the texts whose contrast with what is painted below them is under 4.5. It also sees those
// that axe leaves undecided; buttons that cannot be pressed are held to it too.
const pale = `(() => {
  const g = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const seen = new Map();
  const rgba = (c) => {
    if (!seen.has(c)) { g.clearRect(0, 0, 1, 1); g.fillStyle = c; g.fillRect(0, 0, 1, 1); seen.set(c, [...g.getImageData(0, 0, 1, 1).data].map((x) => x / 255)); }
    return seen.get(c);
  };
  const over = (a, b) => a.slice(0, 3).map((x, i) => x * a[3] + b[i] * (1 - a[3]));
  const light = (c) => { const [r, q, b] = c.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * q + 0.0722 * b; };
  const below = (e) => (e ? over(rgba(getComputedStyle(e).backgroundColor), below(e.tagName === 'DIALOG' ? null : e.parentElement)) : [1, 1, 1]);
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || !e.checkVisibility() || e.closest('.vh, .skip, noscript, option')) continue;
    const back = below(e);
    const [a, b] = [light(over(rgba(getComputedStyle(e).color), back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.add(ratio.toFixed(2) + ': ' + e.tagName + '.' + e.className + ' ' + n.data.trim().slice(0, 40));
  }
  return [...bad].slice(0, 8).join('\n');
})()`

// TestPageFitsItsWindow looks at every state in both schemes, at 360 and 320 px, at 200 % (a window of
// half the width), with text alone twice as large, and in forced colours: nothing may be wider than the
// window, cut off, or pale. With SW_SCREENSHOTS it leaves the pictures.
func TestPageFitsItsWindow(t *testing.T) {
	b := gallery(t)
	ctx := b.browse()
	watch(t, ctx, b)
	walk(t, b, func(name string) {
		for _, at := range []struct {
			tail, scheme string
			width        int64
		}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-narrow", "light", 360}, {"-320", "light", 320}, {"-zoomed", "light", 640}} {
			look(t, ctx, at.width, at.scheme)
			shoot(t, ctx, name+at.tail)
			require.Empty(t, eval[string](t, ctx, fits), name+at.tail)
			if at.width == 1280 {
				require.Empty(t, eval[string](t, ctx, pale), name+at.tail)
			}
		}
		look(t, ctx, 1280, "forced")
		require.Empty(t, eval[string](t, ctx, pale), name+" in forced colours")
		require.Empty(t, eval[string](t, ctx, small), name+" in forced colours")
		shoot(t, ctx, name+"-forced")
		look(t, ctx, 1280, "light")
		eval[bool](t, ctx, largeText)
		shoot(t, ctx, name+"-large")
		require.Empty(t, eval[string](t, ctx, fits), name+" with large text")
		eval[bool](t, ctx, smallText)
	})
}

// largeText doubles the size of every text and leaves everything else; smallText takes that back.
const (
	largeText = `(() => { const all = [...document.querySelectorAll('#app *, dialog, dialog *')]; const size = all.map((e) => parseFloat(getComputedStyle(e).fontSize)); all.forEach((e, i) => { e.style.fontSize = 2 * size[i] + 'px'; }); return true; })()`
	smallText = `document.querySelectorAll('#app *, dialog, dialog *').forEach((e) => { e.style.fontSize = ''; }) === undefined`
)

// TestDecisionIsInView: the sentence and the button stand in a window of 1280×720 without scrolling,
// whatever the card.
func TestDecisionIsInView(t *testing.T) {
	b := setup(t)
	ctx := b.browse()
	do(t, ctx, chromedp.EmulateViewport(1280, 720))
	for name, p := range map[string]plan.Preview{"cascade": cascade(), "repricing": repricing(), "dropColumn": dropColumn(), "importRows": importRows(), "archive": archive()} {
		made := b.add(p)
		do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
		until(t, ctx, `document.querySelector(`+quote(card(made))+`) !== null && document.querySelectorAll('article.card').length === 1`)
		require.Empty(t, eval[string](t, ctx, `(() => { const bad = []; for (const s of ['.say', '.acts .btn']) { const r = document.querySelector(`+quote(card(made))+`).querySelector(s).getBoundingClientRect(); if (r.top < 0 || r.bottom > innerHeight) bad.push(s + ' ' + r.top + ' to ' + r.bottom); } return bad.join(); })()`), name)
		_, _, err := b.store.Reject(made.Token, "x", "")
		require.NoError(t, err)
	}
}
