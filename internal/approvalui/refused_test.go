package approvalui_test

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// refusals is what an agent ran into, with markup in it.
func refusals() *approvalui.Refusals {
	l := &approvalui.Refusals{}
	l.Add("query", json.RawMessage(`{"statement":"SELECT * FROM private.payroll","reason":"What does everybody earn?"}`), refusal.New(refusal.TableNotAllowlisted, "private.payroll is not on the read allowlist.", ""))
	l.Add("delete_rows", json.RawMessage(`{"table":"public.orders","where":"true","confirm_full_table":true,"reason":"Start over with an empty table.\u202e<b>"}`), refusal.New(refusal.HardMaxRowsExceeded, "13,200 rows would change, and 10,000 is the most that this server ever changes at once.", ""))
	for range 3 {
		l.Add("delete_rows", json.RawMessage(`{"table":"public.orders","reason":"Start over."}`), refusal.New(refusal.NoWhereClause, "There is no WHERE.", ""))
	}
	return l
}

// TestBrowserRefusals: what was refused is on the page, grouped, inert, and comes in live.
func TestBrowserRefusals(t *testing.T) {
	ctx := browser(t)
	l := refusals()
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.Refusals = l })
	watch(t, ctx, b)
	look(t, ctx, 1280, "light")
	status, body, _ := b.ask("GET", "/api/refusals", "")
	require.Equal(t, 200, status)
	require.Len(t, body["refusals"], 3)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.querySelector('a[href="#refused"]')?.textContent === 'Refused 3 in the last hour'`)
	do(t, ctx, chromedp.Click(`a[href="#refused"]`))
	until(t, ctx, `document.querySelectorAll('.refused').length === 3`)
	require.Equal(t, "The guard refused delete_rows 3 times", eval[string](t, ctx, `document.querySelector('.refused h2').textContent`))
	eval[bool](t, ctx, `document.querySelectorAll('.refused summary').forEach((x) => x.click()) === undefined`)
	until(t, ctx, `document.querySelectorAll('.refused .agent').length === 3`)
	require.Contains(t, eval[string](t, ctx, `document.querySelectorAll('.refused')[1].textContent`), "<b>")
	require.EqualValues(t, 1, eval[int64](t, ctx, `document.querySelectorAll('.refused .ctl').length`))
	shoot(t, ctx, "refused")
	l.Add("query", nil, refusal.New(refusal.NotSelect, "Only SELECT.", ""))
	until(t, ctx, `document.querySelectorAll('.refused').length === 4`)
	until(t, ctx, `document.querySelector('a[href="#refused"]').textContent === 'Refused 4 in the last hour'`)
}
