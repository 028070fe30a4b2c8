package approvalui_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const rightPIN = "sesame-246810"

type fakePIN string

func (f fakePIN) Matches(pin string) bool { return pin == string(f) }

func withPIN(o *approvalui.Options, _ *plan.Options) { o.PIN = fakePIN(rightPIN) }

// TestPINIsNeededToApprove: no PIN, a wrong one and one in another place approve nothing; rejecting
// needs none; nothing of it is said again anywhere.
func TestPINIsNeededToApprove(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := setup(t, withPIN, func(o *approvalui.Options, _ *plan.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	p, q := b.add(repricing()), b.add(cascade())
	path := "/api/plans/" + string(p.Token) + "/approve"
	_, about, _ := b.ask("GET", "/api/plans", "")
	require.Equal(t, true, about["server"].(map[string]any)["pin_required"])
	for _, body := range []string{`{}`, `{"pin":""}`, `{"approvedBy":"` + rightPIN + `"}`, `{"confirm":"` + rightPIN + `"}`, `{"pin":"wrong-pin-1"}`, `{"pin":" ` + rightPIN + `"}`} {
		status, got, _ := b.ask("POST", path, body)
		require.Equal(t, 403, status, body)
		require.Equal(t, "PIN_REQUIRED", got["code"])
		require.NotContains(t, fmt.Sprint(got), "sesame")
	}
	for _, body := range []string{`{"pin":null}`, `{"pin":246810}`, `{"pin":"a","pin":"` + rightPIN + `"}`, `{"Pin":"` + rightPIN + `"}`} {
		status, _, _ := b.ask("POST", path, body)
		require.Equal(t, 400, status, body)
	}
	status, _, _ := b.ask("POST", path+"?pin="+rightPIN, "{}")
	require.Equal(t, 403, status, "the address is no place for a PIN")
	require.Equal(t, plan.AwaitingApproval, b.wait(p, plan.AwaitingApproval).State)
	status, _, _ = b.ask("POST", "/api/plans/"+string(q.Token)+"/reject", `{"reason":"no"}`)
	require.Equal(t, 200, status, "rejecting needs no PIN")
	status, got, _ := b.ask("POST", path, `{"approvedBy":"me","pin":"`+rightPIN+`"}`)
	require.Equal(t, 200, status)
	require.Equal(t, false, got["already_approved"])
	require.NotContains(t, fmt.Sprint(got), "sesame")
	status, _, _ = b.ask("POST", path, `{"approvedBy":"me"}`)
	require.Equal(t, 403, status, "a second time needs it too")
	require.Contains(t, log.String(), "wrong PIN")
	require.NotContains(t, log.String(), "sesame")
	require.NotContains(t, log.String(), "wrong-pin-1")
}

// TestPINTriesAreCountedOverEverything: five wrong ones, each on another plan and another
// connection, and then nothing is approved, whatever the plan; rejecting still works.
func TestPINTriesAreCountedOverEverything(t *testing.T) {
	t.Parallel()
	b := setup(t, withPIN)
	plans := []plan.Plan{b.add(repricing()), b.add(cascade()), b.add(importRows())}
	path := func(p plan.Plan) string { return "/api/plans/" + string(p.Token) }
	for i := range 5 {
		status, _, _ := b.ask("POST", path(plans[i%3])+"/approve", fmt.Sprintf(`{"pin":"guess-%d"}`, i))
		require.Equal(t, 403, status)
	}
	for _, p := range plans {
		status, got, _ := b.ask("POST", path(p)+"/approve", `{"pin":"`+rightPIN+`"}`)
		require.Equal(t, 429, status)
		require.Equal(t, "TOO_MANY_TRIES", got["code"])
		require.Contains(t, got["hint"], "Wait")
		require.Equal(t, plan.AwaitingApproval, b.wait(p, plan.AwaitingApproval).State)
	}
	status, _, _ := b.ask("POST", path(plans[0])+"/reject", `{}`)
	require.Equal(t, 200, status)
}

// TestWrongPINsLeaveATrace: each wrong PIN that was looked at is a line in the log and is recorded with who
// gave it and for which plan; a missing one is not, and a hundred tries during a pause are one line.
func TestWrongPINsLeaveATrace(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var told []string
	b := setup(t, withPIN, func(o *approvalui.Options, _ *plan.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Denied = func(_ context.Context, p plan.Plan, actor, code string) {
			told = append(told, p.Target+" "+actor+" "+code)
		}
	})
	p := b.add(repricing())
	path := "/api/plans/" + string(p.Token) + "/approve"
	b.ask("POST", path, `{"approvedBy":"Ana"}`)
	b.ask("POST", "/api/plans/no-such-plan/approve", `{"approvedBy":"Ana","pin":"guess"}`)
	require.Empty(t, told)
	for range 5 {
		b.ask("POST", path, `{"approvedBy":"Ana","pin":"guess-1"}`)
	}
	for range 100 {
		status, _, _ := b.ask("POST", path, `{"approvedBy":"Ana","pin":"guess-1"}`)
		require.Equal(t, 429, status)
	}
	require.Equal(t, slices.Repeat([]string{"public.products Ana PIN_REQUIRED"}, 5), told)
	require.Equal(t, 5, strings.Count(log.String(), "a wrong PIN was given"))
	require.Equal(t, 1, strings.Count(log.String(), "during the pause"))
	require.NotContains(t, log.String(), "guess")
}

func TestNoPINIsAskedWhereNoneIsSet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	_, about, _ := b.ask("GET", "/api/plans", "")
	require.Equal(t, false, about["server"].(map[string]any)["pin_required"])
	status, _, _ := b.ask("POST", "/api/plans/"+string(p.Token)+"/approve", `{"pin":"whatever"}`)
	require.Equal(t, 200, status)
}

// TestBrowserPIN: Approve asks for the PIN; Escape keeps the plan waiting; wrong ones are said in
// the dialog; the right one approves. On another page five wrong ones end in a pause, and the plan
// can still be rejected.
func TestBrowserPIN(t *testing.T) {
	ctx := browser(t)
	b := setup(t, withPIN)
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === 'Approvals: shop'`)
	do(t, ctx, chromedp.Click(".foot p")) // the window gets its focus, which makes buttons wait
	p := b.add(repricing())
	until(t, ctx, `document.querySelector(`+quote(card(p))+`) !== null`)
	says := func(part string) {
		until(t, ctx, `document.getElementById('pin-e')?.textContent.includes(`+quote(part)+`)`)
	}
	press(t, ctx, yes(p))
	until(t, ctx, `document.activeElement.id === 'pin-t'`)
	require.Equal(t, "password", eval[string](t, ctx, `document.activeElement.type`))
	require.Equal(t, "true", eval[string](t, ctx, `document.querySelector('dialog .btn-yes').getAttribute('aria-disabled')`))
	do(t, ctx, chromedp.KeyEvent(kb.Enter)) // nothing typed: nothing sent
	do(t, ctx, chromedp.SendKeys("#pin-t", "abcdef"), chromedp.KeyEvent(kb.Escape))
	until(t, ctx, `document.querySelector('dialog') === null`)
	require.Equal(t, "Approve: update 240 rows", eval[string](t, ctx, `document.activeElement.textContent.trim()`), "focus comes back")
	require.Equal(t, plan.AwaitingApproval, b.wait(p, plan.AwaitingApproval).State)

	press(t, ctx, yes(p))
	require.Empty(t, eval[string](t, ctx, `document.getElementById('pin-t').value`), "what was typed before is gone")
	do(t, ctx, chromedp.SendKeys("#pin-t", "wrong-one"), chromedp.KeyEvent(kb.Enter))
	says("4 more tries")
	require.Empty(t, eval[string](t, ctx, `document.getElementById('pin-t').value`))
	until(t, ctx, `document.activeElement.id === 'pin-t'`)
	do(t, ctx, chromedp.SendKeys("#pin-t", rightPIN), chromedp.Click("dialog .btn-yes"))
	b.wait(p, plan.Approved)
	until(t, ctx, `document.querySelector('dialog') === null`)
	require.NotContains(t, eval[string](t, ctx, `document.documentElement.outerHTML + JSON.stringify({...sessionStorage, ...localStorage})`), "sesame")

	q := b.add(cascade())
	until(t, ctx, `document.querySelector(`+quote(card(q))+`) !== null`)
	press(t, ctx, yes(q))
	for i := range 5 {
		do(t, ctx, chromedp.SendKeys("#pin-t", "guess"), chromedp.KeyEvent(kb.Enter))
		says([]string{"4 more tries", "3 more tries", "2 more tries", "1 more try", "one try too many"}[i])
	}
	do(t, ctx, chromedp.SendKeys("#pin-t", rightPIN), chromedp.KeyEvent(kb.Enter))
	says("Too many wrong PINs. Nothing was decided. Wait")
	require.Equal(t, plan.AwaitingApproval, b.wait(q, plan.AwaitingApproval).State)
	do(t, ctx, chromedp.KeyEvent(kb.Escape))
	until(t, ctx, `document.querySelector('dialog') === null`)
	press(t, ctx, no(q))
	do(t, ctx, chromedp.Click("dialog .btn-yes"))
	b.wait(q, plan.Rejected)
}
