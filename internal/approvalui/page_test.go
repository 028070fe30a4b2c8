package approvalui_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// watch fails the test for whatever the browser complains about, and for every request that
// leaves the page's own address.
func watch(t *testing.T, ctx context.Context, b *bundle) {
	t.Helper()
	var mu sync.Mutex
	var faults []string
	own, err := url.Parse(b.page.URL())
	require.NoError(t, err)
	require.NoError(t, chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || strings.Contains(e.Entry.Text, "Content Security Policy") {
				if !strings.Contains(e.Entry.Text, "status of 4") && !strings.Contains(e.Entry.Text, "status of 503") && !strings.Contains(e.Entry.Text, "ERR_CONNECTION_REFUSED") && !strings.Contains(e.Entry.Text, "ERR_INCOMPLETE_CHUNKED") {
					faults = append(faults, e.Entry.Text)
				}
			}
		case *runtime.EventExceptionThrown:
			faults = append(faults, e.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			// The picture in the browser's own date field is data inside the browser; the page's policy forbids its own.
			if err != nil || u.Host != own.Host && u.Scheme != "data" {
				faults = append(faults, "a request left the page: "+e.Request.URL)
			}
		}
	}))
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		require.Empty(t, faults)
	})
}

// press clicks a button as a pointer does, once it can be pressed.
func press(t *testing.T, ctx context.Context, sel string) {
	t.Helper()
	until(t, ctx, `document.querySelector(`+quote(sel)+`)?.getAttribute('aria-disabled') !== 'true'`)
	do(t, ctx, chromedp.Click(sel))
}

func quote(s string) string {
	out, _ := json.Marshal(s) // a string always marshals
	return string(out)
}

func card(p plan.Plan) string { return "#card-" + string(p.Token) }

func yes(p plan.Plan) string { return card(p) + " .acts .btn:first-child" }

func no(p plan.Plan) string { return card(p) + " .acts .btn:last-child" }

func (b *bundle) wait(p plan.Plan, want plan.State) plan.Plan {
	b.t.Helper()
	var got plan.Plan
	require.Eventually(b.t, func() bool { got, _ = b.store.Get(p.Token); return got.State == want }, 10*time.Second, 10*time.Millisecond)
	return got
}

// TestBrowserDecides: a plan arrives on an open page and is approved with a click; another is
// rejected with a reason; a third needs its number typed.
func TestBrowserDecides(t *testing.T) {
	ctx := browser(t)
	b := setup(t)
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === 'Approvals: shop'`)
	require.Equal(t, b.page.URL(), eval[string](t, ctx, `location.href`), "the secret has left the address bar")
	require.NotContains(t, eval[string](t, ctx, `document.documentElement.outerHTML`), b.token)
	require.Equal(t, "{}", eval[string](t, ctx, `JSON.stringify({...sessionStorage, ...localStorage})`), "and is nowhere at rest")

	p := b.add(repricing())
	until(t, ctx, `document.querySelector(`+quote(card(p))+`) !== null`)
	require.Equal(t, "true", eval[string](t, ctx, `document.querySelector(`+quote(yes(p))+`).getAttribute('aria-disabled')`), "inert at first")
	do(t, ctx, chromedp.Click(yes(p)))
	got, _ := b.store.Get(p.Token)
	require.Equal(t, plan.AwaitingApproval, got.State, "a click that was under way when the card appeared does nothing")
	require.Equal(t, "(1) Approvals: shop", eval[string](t, ctx, `document.title`))
	require.Equal(t, "/static/icon-1.svg", eval[string](t, ctx, `document.getElementById('icon').getAttribute('href')`))
	press(t, ctx, yes(p))
	require.Equal(t, "on-call", b.wait(p, plan.Approved).Decision.Actor)
	until(t, ctx, `document.activeElement.textContent === 'Approved, not run yet: set price to 9.90 in 240 rows of public.products'`)
	run, err := b.store.Begin(p.Token, planEcho(p))
	require.NoError(t, err)
	run.Confirm(240, time.Now())
	until(t, ctx, `document.querySelector(`+quote(card(p))+`).textContent.includes('Done: set price to 9.90')`)

	q := b.add(cascade())
	until(t, ctx, `document.querySelector(`+quote(card(q))+`) !== null`)
	press(t, ctx, no(q))
	until(t, ctx, `document.querySelector('dialog[open]') !== null`)
	require.False(t, eval[bool](t, ctx, `document.querySelector('dialog input:checked') !== null`), "nothing is chosen beforehand")
	do(t, ctx, chromedp.KeyEvent(kb.Escape))
	until(t, ctx, `document.querySelector('dialog') === null`)
	got, _ = b.store.Get(q.Token)
	require.Equal(t, plan.AwaitingApproval, got.State, "Escape keeps it waiting")
	require.Equal(t, "Reject\u2026", eval[string](t, ctx, `document.activeElement.textContent`), "focus comes back")
	press(t, ctx, no(q))
	do(t, ctx, chromedp.Click("dialog .pick:nth-child(4) input"))
	require.Equal(t, "Ask me first. Say in the chat what you want to do and why.", eval[string](t, ctx, `document.querySelector('dialog textarea').value`))
	do(t, ctx, chromedp.SendKeys("dialog textarea", " Thanks."), chromedp.Click("dialog .btn-yes"))
	require.Equal(t, "Ask me first. Say in the chat what you want to do and why. Thanks.", b.wait(q, plan.Rejected).Decision.Reason)

	r := b.add(archive())
	until(t, ctx, `document.querySelector(`+quote(card(r))+`) !== null`)
	until(t, ctx, `document.querySelector(`+quote(no(r))+`).getAttribute('aria-disabled') === 'false'`)
	do(t, ctx, chromedp.SendKeys(card(r)+"-type", "9421"), chromedp.KeyEvent(kb.Enter), chromedp.Click(yes(r)))
	require.Contains(t, eval[string](t, ctx, `document.querySelector(`+quote(card(r)+"-help")+`).textContent`), "That is 9,421. The plan changes 9,412.")
	got, _ = b.store.Get(r.Token)
	require.Equal(t, plan.AwaitingApproval, got.State, "neither a wrong number nor Enter approves")
	do(t, ctx, chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace))
	eval[bool](t, ctx, `(() => { const i = document.querySelector(`+quote(card(r)+"-type")+`); i.value = ''; i.focus(); return true; })()`)
	do(t, ctx, chromedp.SendKeys(card(r)+"-type", "9,412"))
	press(t, ctx, yes(r))
	b.wait(r, plan.Approved)
}

// TestBrowserShowsMarkupAsText: whatever an agent, a table or a person writes is text, and what
// cannot be seen is shown.
func TestBrowserShowsMarkupAsText(t *testing.T) {
	ctx := browser(t)
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.Database = "<img src=x onerror=alert(1)>" })
	watch(t, ctx, b)
	evil := `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script><a href="javascript:alert(1)">x</a>` + "\u202e\u200b\U000e0041"
	p := cascade()
	p.Reason, p.Target, p.CallerID = evil, `public."`+evil+`"`, evil
	p.BlastRadius.Tables[0].Name = p.Target
	p.BlastRadius.Tables[1].Why = evil
	p.SampleRows = []plan.Row{row(evil, evil, "n", nil, "blank", "a  ")}
	p.Payload.Statement = "DELETE FROM x WHERE a = '" + evil + "'"
	p.Payload.Params = []json.RawMessage{raw(evil)}
	p.Warnings = []plan.Warning{{Code: "X", Message: evil}}
	p.Why = evil
	m := dropColumn()
	m.Facts.Drops = append(m.Facts.Drops, plan.Drop{Type: evil, Name: evil})
	m.Payload.Statement += evil
	rejected := b.add(p)
	_, _, err := b.store.Reject(rejected.Token, evil, evil)
	require.NoError(t, err)
	made := b.add(p)
	b.add(m)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelectorAll('article.card').length === 2`)
	eval[bool](t, ctx, `(location.hash = '#plan/`+string(made.Token)+`') !== ''`)
	until(t, ctx, `document.querySelector('.line') !== null`)
	require.EqualValues(t, 0, eval[int64](t, ctx, `document.querySelectorAll('#app img, #app script, #app iframe, #app [onerror], a[href^="javascript"]').length`))
	require.NotContains(t, eval[string](t, ctx, `document.title`), "owned")
	require.Contains(t, eval[string](t, ctx, `document.querySelector('.agent blockquote').textContent`), `<script>document.title='owned'</script>`)
	codes := eval[string](t, ctx, `[...document.querySelectorAll('.agent:first-of-type .ctl')].map((x) => x.title).join(', ')`)
	require.Contains(t, codes, "right-to-left override, zero-width space, tag character")
	require.NotRegexp(t, "[\u202e\u200b\U000e0041]", eval[string](t, ctx, `document.querySelector('#app').textContent`), "no hidden character is left anywhere")
	require.True(t, eval[bool](t, ctx, `document.querySelector('.card .null') !== null`))
	require.Equal(t, "2 blanks at the end", eval[string](t, ctx, `document.querySelector('.card .blanks').textContent`))
}

// TestBrowserOneTimeCode: the server opens the page with a code; the second use of it shows the
// locked page; after a restart on the same port the page sends nothing secret.
func TestBrowserOneTimeCode(t *testing.T) {
	ctx := browser(t)
	opened := make(chan string, 2)
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.OpenBrowser = func(u string) error { opened <- u; return nil }
	})
	watch(t, ctx, b)
	b.add(cascade())
	do(t, ctx, chromedp.Navigate(b.page.URL()))
	until(t, ctx, `document.querySelector('#gate h1').textContent === 'This page needs its link'`)
	do(t, ctx, chromedp.Click("#open"))
	link := <-opened
	do(t, ctx, chromedp.Navigate(link))
	until(t, ctx, `document.querySelectorAll('article.card').length === 1`)
	require.Equal(t, b.page.URL(), eval[string](t, ctx, `location.href`))
	do(t, ctx, chromedp.Navigate(link))
	until(t, ctx, `document.getElementById('gate-note').textContent.includes('one-time code was used')`)
	require.EqualValues(t, 0, eval[int64](t, ctx, `document.querySelectorAll('article.card').length`))
}

// TestBrowserNoticesAnotherServer: the page is told when its server goes, and gives its secret to
// nobody who takes the port over, be it the same program with the same fixed secret.
func TestBrowserNoticesAnotherServer(t *testing.T) {
	ctx := browser(t)
	fixed := func(o *approvalui.Options, _ *plan.Options) { o.AuthToken = "the-same-secret-both-times" }
	b := setup(t, fixed)
	p := b.add(cascade())
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelectorAll('article.card').length === 1`)
	b.add(repricing()) // when it shows, the stream is open
	until(t, ctx, `document.querySelectorAll('article.card').length === 2`)
	var mu sync.Mutex
	var sent []string
	require.NoError(t, chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			head, _ := json.Marshal(e.Request.Headers) // a map of strings
			sent = append(sent, e.Request.URL+" "+string(head))
		}
	}))
	port := strings.TrimSuffix(b.page.URL()[strings.LastIndex(b.page.URL(), ":")+1:], "/")
	b.page.Close()
	until(t, ctx, `document.querySelector('.alarm') !== null && document.title === 'Not connected: Approvals'`)
	require.Equal(t, "true", eval[string](t, ctx, `document.querySelector(`+quote(no(p))+`).getAttribute('aria-disabled')`))
	setup(t, fixed, func(o *approvalui.Options, _ *plan.Options) {
		n, err := url.Parse("http://x:" + port)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(n.Port()), &o.Port))
	})
	until(t, ctx, `document.title === 'Session ended: Approvals'`)
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, sent)
	require.NotContains(t, strings.Join(sent, "\n"), "the-same-secret-both-times")
}

// TestBrowserExpiry: a plan that runs out while it is looked at says so and cannot be pressed.
func TestBrowserExpiry(t *testing.T) {
	ctx := browser(t)
	b := setup(t, func(_ *approvalui.Options, o *plan.Options) { o.ApprovalTTL = 3 * time.Second })
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === 'Approvals: shop'`)
	p := b.add(cascade())
	until(t, ctx, `document.querySelector('.clock-soon') !== null`)
	until(t, ctx, `document.querySelector(`+quote(card(p))+`).textContent.includes('Expired: delete 8 rows from public.customers')`)
	until(t, ctx, `document.title === 'Approvals: shop'`)
}

// TestBrowserKeyboard: everything can be reached and decided with the keyboard, in reading order.
func TestBrowserKeyboard(t *testing.T) {
	ctx := browser(t)
	b := setup(t)
	watch(t, ctx, b)
	p := b.add(repricing())
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, armed)
	seen := []string{}
	for range 30 {
		do(t, ctx, chromedp.KeyEvent(kb.Tab))
		at := eval[string](t, ctx, `document.activeElement.textContent.trim().replace(/\s+/g, ' ').slice(0, 60)`)
		seen = append(seen, at)
		if at == "Approve: update 240 rows" {
			break
		}
	}
	require.Equal(t, "Skip to the plans", seen[0])
	require.Equal(t, "Approve: update 240 rows", seen[len(seen)-1], seen)
	until(t, ctx, armed) // the window has just got its focus
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	b.wait(p, plan.Approved)
	until(t, ctx, `document.activeElement.textContent.startsWith('Approved, not run yet')`)
	until(t, ctx, `document.getElementById('live').textContent.startsWith('Approved, not run yet')`)
}
