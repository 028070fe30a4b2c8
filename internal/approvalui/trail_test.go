package approvalui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// ledger is an audit log in memory: rows newest first. It remembers what it was asked.
type ledger struct {
	mu    sync.Mutex
	rows  []approvalui.TrailRow
	err   error
	asked []approvalui.TrailFilter
}

func (l *ledger) Search(_ context.Context, f approvalui.TrailFilter) ([]approvalui.TrailRow, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, f)
	if l.err != nil {
		return nil, false, l.err
	}
	out := []approvalui.TrailRow{}
	seen := map[string]bool{}
	for _, r := range l.rows {
		if f.Plans && r.PlanToken != "" && seen[r.PlanToken] {
			continue
		}
		seen[r.PlanToken] = true
		if (f.Before == 0 || r.ID < f.Before) && (f.Status == "" || r.Status == f.Status) && (f.Text == "" || strings.Contains(r.Reason+r.Statement, f.Text)) {
			out = append(out, r)
		}
	}
	if len(out) > f.Limit {
		return out[:f.Limit], true, nil
	}
	return out, false, nil
}

func (l *ledger) ByToken(_ context.Context, token string) ([]approvalui.TrailRow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	var out []approvalui.TrailRow
	for _, r := range l.rows {
		if r.PlanToken == token {
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func (l *ledger) last() approvalui.TrailFilter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[len(l.asked)-1]
}

func (l *ledger) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func with(l *ledger) option {
	return func(o *approvalui.Options, _ *plan.Options) { o.Trail = l }
}

// diary is a day in the life of an audit log.
func diary() *ledger {
	at := time.Now().Add(-90 * time.Second)
	id := int64(400)
	radius := func(tables ...any) json.RawMessage {
		var list []map[string]any
		total := 0
		for i := 0; i < len(tables); i += 2 {
			list = append(list, map[string]any{"table": tables[i], "deleted": tables[i+1]})
			total += tables[i+1].(int)
		}
		return raw(map[string]any{"total_rows": total, "tables": list})
	}
	l := &ledger{}
	add := func(r approvalui.TrailRow) {
		id--
		at = at.Add(-7 * time.Second)
		r.ID, r.At, r.CallerID, r.StatementLength = id, at, "claude-desktop", len([]rune(r.Statement))
		if r.Event == "" {
			r.Event = r.Tool
		}
		l.rows = append(l.rows, r)
	}
	n := func(v int64) *int64 { return &v }
	add(approvalui.TrailRow{Tool: "update_rows", Status: "failed", ErrorCode: "ROWSET_CHANGED", PreviewRows: n(310), PlanToken: "7aaaaaaaaaaaaaaaaaaaaa", ApprovedBy: "on-call", Reason: "Close the orders that were delivered in May.", Statement: "UPDATE public.orders SET status = $2 WHERE status = $1", BlastRadius: radius("public.orders", 310)})
	add(approvalui.TrailRow{Tool: "run_migration", Event: "reject_plan", Status: "rejected", Answer: "Ask me first. Say in the chat what you want to do and why.", PreviewRows: n(0), PlanToken: "7bbbbbbbbbbbbbbbbbbbbb", ApprovedBy: "on-call", Reason: "The column is not used any more.", Statement: "ALTER TABLE public.orders DROP COLUMN total_amount CASCADE"})
	clean := approvalui.TrailRow{
		Tool: "delete_rows", PreviewRows: n(8), PlanToken: "7Qd4cccccccccccccccck2", ApprovedBy: "on-call", Reason: "Clean up the tenant that was made for the load test in March: 8 customers, last seen before 2025. Their orders belong to it.\u202e",
		Statement: "DELETE FROM public.customers\nWHERE tenant = $1 AND last_login < $2", BlastRadius: radius("public.customers", 8, "public.orders", 320, "public.order_items", 512),
	}
	done, yes, asked := clean, clean, clean
	done.Status, done.ActualRows, done.DurationMS = "executed", n(8), n(41)
	yes.Status, yes.Event = "approved", "approve_plan"
	asked.Status, asked.ApprovedBy = "awaiting_approval", ""
	add(done)
	add(yes)
	add(asked)
	add(approvalui.TrailRow{Tool: "delete_rows", Status: "hard_cap_refused", ErrorCode: "HARD_MAX_ROWS_EXCEEDED", Reason: "Start over with an empty table.", Statement: "DELETE FROM public.orders WHERE true"})
	add(approvalui.TrailRow{Tool: "insert_rows", Status: "executed", PreviewRows: n(12), ActualRows: n(12), PlanToken: "7dddddddddddddddddddddd", Reason: "Add the new sizes.", Statement: "INSERT INTO public.products (sku) VALUES ($1)", BlastRadius: radius("public.products", 12)})
	add(approvalui.TrailRow{Tool: "update_rows", Status: "previewed", PreviewRows: n(55), PlanToken: "7eeeeeeeeeeeeeeeeeeeeee", Reason: "How many would it be?", Statement: "UPDATE public.products SET price = $1", BlastRadius: radius("public.products", 55)})
	add(approvalui.TrailRow{Tool: "delete_rows", Status: "failed", ErrorCode: "TABLE_NOT_WRITABLE", Reason: "Remove the old log lines.", Statement: "delete from private.payroll"})
	add(approvalui.TrailRow{Tool: "query", Status: "executed", ActualRows: n(20), Reason: "Look at the orders of today.", Statement: "SELECT id, status FROM public.orders WHERE created_at > $1"})
	for i := range 60 {
		add(approvalui.TrailRow{Tool: "update_rows", Status: "executed", PreviewRows: n(131), ActualRows: n(131), PlanToken: fmt.Sprintf("7f%020d", i), ApprovedBy: "on-call", Reason: "Weekly price list.", Statement: "UPDATE public.products SET price = $1 WHERE id = ANY ($2)", BlastRadius: radius("public.products", 131)})
	}
	return l
}

// TestAuditSearch: every filter reaches the log as it was meant; what is not a filter is refused, not
// ignored.
func TestAuditSearch(t *testing.T) {
	t.Parallel()
	l := diary()
	b := setup(t, with(l))
	status, body, _ := b.ask("GET", "/api/audit?plans=1&limit=3", "")
	require.Equal(t, 200, status)
	require.Equal(t, true, body["more"])
	list := body["entries"].([]any)
	require.Len(t, list, 3)
	first := list[0].(map[string]any)
	require.Equal(t, "Failed", first["outcome"])
	require.Equal(t, "310 → 0", first["rows"])
	text := func(v any) (out string) {
		for _, s := range v.([]any) {
			out += s.(map[string]any)["v"].(string)
		}
		return out
	}
	require.Equal(t, "Update public.orders", text(first["what"]))
	require.Equal(t, "The rows had changed since the preview, nothing was saved, ROWSET_CHANGED", text(first["note"]))
	require.Equal(t, "Drop the column total_amount from public.orders", text(list[1].(map[string]any)["what"]))
	require.Equal(t, "840 rows in 3 tables", text(list[2].(map[string]any)["note"]))

	_, _, _ = b.ask("GET", "/api/audit?q=+a%25+&status=executed&tool=query&table=Orders&from=1000&to=2000&before=7&limit=1000&token="+url.QueryEscape(b.token), "")
	require.Equal(t, approvalui.TrailFilter{
		Before: 7, Tool: "query", Status: "executed", Table: "Orders", From: time.UnixMilli(1000), To: time.UnixMilli(2000), Text: "a%", Limit: 100,
	}, l.last())
	_, _, _ = b.ask("GET", "/api/audit?q=&status=&table=", "")
	require.Equal(t, approvalui.TrailFilter{Limit: 50}, l.last())

	for _, q := range []string{
		"statu=executed", "status=done", "limit=0", "limit=-1", "limit=x", "before=1e3", "from=yesterday", "to=99999999999999999999", "plans=yes",
		"q=a&q=b", "q=" + strings.Repeat("a", 501),
	} {
		status, body, _ := b.ask("GET", "/api/audit?"+q, "")
		require.Equal(t, 400, status, q)
		require.Equal(t, "BAD_REQUEST", body["code"], q)
	}
	l.set(refusal.New(refusal.AuditUnavailable, "The role \"readonly\" may not read mcp_audit.log.", "GRANT …"))
	status, body, _ = b.ask("GET", "/api/audit", "")
	require.Equal(t, []any{503, "AUDIT_UNAVAILABLE", "The role \"readonly\" may not read mcp_audit.log.", "GRANT …"}, []any{status, body["code"], body["message"], body["hint"]})
	l.set(errors.New("dial tcp 10.0.0.1: password=hunter2"))
	status, body, _ = b.ask("GET", "/api/audit", "")
	require.Equal(t, 500, status)
	require.NotContains(t, body["message"].(string)+body["hint"].(string), "hunter2")

	status, _, _ = setup(t).ask("GET", "/api/audit", "")
	require.Equal(t, 404, status, "no log, no route")
}

// TestPlanLife: the life of a plan is told once, in order, from the log and from memory; each source
// alone is enough.
func TestPlanLife(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	b := setup(t, with(l))
	p := b.add(cascade())
	_, _, err := b.store.Approve(p.Token, "Ada")
	require.NoError(t, err)
	told := func(path string) (out []string) {
		t.Helper()
		status, body, _ := b.ask("GET", path, "")
		require.Equal(t, 200, status)
		for _, s := range body["history"].([]any) {
			line := s.(map[string]any)["from"].(string) + ":"
			for _, x := range s.(map[string]any)["text"].([]any) {
				line += x.(map[string]any)["v"].(string)
			}
			out = append(out, line)
		}
		return out
	}
	path := "/api/plans/" + string(p.Token)
	memory := []string{"memory:Previewed, 840 rows, waits for a person", "memory:Approved by Ada on this page"}
	require.Equal(t, memory, told(path))

	n := int64(8)
	row := approvalui.TrailRow{ID: 2, At: p.CreatedAt, Tool: "delete_rows", Event: "delete_rows", PlanToken: string(p.Token), Status: "awaiting_approval", PreviewRows: &n, BlastRadius: raw(map[string]any{"total_rows": 840, "tables": []any{map[string]any{"table": "public.customers"}}})}
	again, try := row, row
	again.ID, again.At = 3, p.CreatedAt.Add(time.Millisecond)
	try.ID, try.At, try.Event, try.Tool, try.Status, try.ErrorCode = 4, p.CreatedAt.Add(2*time.Millisecond), "execute_plan", "execute_plan", "failed", "STATEMENT_MISMATCH"
	l.mu.Lock()
	l.rows = []approvalui.TrailRow{try, again, row}
	l.mu.Unlock()
	all := []string{
		"audit:Previewed, 840 rows, waits for a person", "audit:Asked again, 840 rows, waits for a person",
		"audit:Not run: the agent tried, STATEMENT_MISMATCH", "memory:Approved by Ada on this page",
	}
	require.ElementsMatch(t, all, told(path), "the approval is not in the log yet, memory has it")
	require.Equal(t, memory, told(path+"?audit=0"))
	l.set(refusal.New(refusal.AuditUnavailable, "No.", "Grant it."))
	require.Equal(t, memory, told(path))
	_, body, _ := b.ask("GET", path, "")
	require.Equal(t, "No. Grant it.", body["audit_note"])
	l.set(nil)

	// A plan that this process never had.
	l.mu.Lock()
	foreign := row
	foreign.PlanToken = "ofanotherprocess"
	l.rows = append(l.rows, foreign)
	l.mu.Unlock()
	require.Equal(t, []string{"audit:Previewed, 840 rows, waits for a person"}, told("/api/plans/ofanotherprocess"))
	_, body, _ = b.ask("GET", "/api/plans/ofanotherprocess", "")
	require.Nil(t, body["plan"])
	require.Len(t, body["entries"], 1)
	status, body, _ := b.ask("GET", "/api/plans/ofnobody", "")
	require.Equal(t, []any{404, "UNKNOWN_TOKEN"}, []any{status, body["code"]})
}

// TestBrowserAudit: a person searches, filters and pages by keyboard alone, unfolds a plan's life, is
// told when something new is there, and why the log cannot be shown.
func TestBrowserAudit(t *testing.T) {
	ctx := browser(t)
	l := diary()
	b := setup(t, with(l))
	watch(t, ctx, b)
	look(t, ctx, 1280, "light")
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === 'Approvals: shop'`)
	do(t, ctx, chromedp.Click(`a[href="#history"]`))
	until(t, ctx, `document.querySelectorAll('.log tbody tr').length === 25`)
	require.True(t, l.last().Plans)
	require.Equal(t, "25 entries, newest first, page 1", eval[string](t, ctx, `document.querySelector('.pager p').textContent`))
	require.Equal(t, "true", eval[string](t, ctx, `document.querySelectorAll('.pager button')[0].getAttribute('aria-disabled')`))
	eval[bool](t, ctx, `document.querySelectorAll('.pager button')[1].focus() === undefined`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('.pager p').textContent.includes('page 2')`)
	require.Equal(t, "Older", eval[string](t, ctx, `document.activeElement.textContent`), "focus stays where it was")
	require.EqualValues(t, 25, eval[int64](t, ctx, `document.querySelectorAll('.log tbody tr').length`))
	eval[bool](t, ctx, `document.querySelectorAll('.pager button')[0].focus() === undefined`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelector('.pager p').textContent.includes('page 1')`)

	eval[bool](t, ctx, `document.querySelectorAll('.log .more summary')[2].click() === undefined`)
	until(t, ctx, `document.querySelectorAll('.log .line li').length === 3`)
	require.Contains(t, eval[string](t, ctx, `document.querySelector('.log .line').textContent`), "Executed, 8 rows of the target, 41 ms, committed together with this entry")
	require.Equal(t, "right-to-left override", eval[string](t, ctx, `document.querySelector('.log .agent .ctl').title`))
	shoot(t, ctx, "audit-open")

	b.add(cascade())
	until(t, ctx, `document.querySelector('.fresh').textContent.startsWith('Something has happened since.')`)
	require.True(t, eval[bool](t, ctx, `document.querySelector('.log details').isConnected && document.querySelectorAll('.log .line li').length === 3`), "what is read stays as it is")

	do(t, ctx, chromedp.SendKeys("#f-q", "load test"), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `document.querySelectorAll('.log tbody tr').length === 1`)
	require.Equal(t, "load test", l.last().Text)
	eval[bool](t, ctx, `(document.querySelector('#f-q').value = 'nobody wrote this', document.querySelector('.filters .btn').click()) === undefined`)
	until(t, ctx, `document.querySelector('.empty-log') !== null`)
	until(t, ctx, `document.getElementById('live').textContent === 'Nothing found.'`)
	eval[bool](t, ctx, `(() => { const w = document.querySelector('#f-w'); w.value = 'own'; w.dispatchEvent(new Event('change')); document.querySelector('#f-from').value = '2026-01-02T03:04'; document.querySelector('#f-e').click(); document.querySelector('.filters .btn').click(); return true; })()`)
	until(t, ctx, `document.querySelector('.range').hidden === false`)
	require.Eventually(t, func() bool { return !l.last().From.IsZero() && !l.last().Plans }, 10*time.Second, 20*time.Millisecond)
	shoot(t, ctx, "audit-none")

	l.set(refusal.New(refusal.AuditUnavailable, `The role "readonly" may not read mcp_audit.log.`, `To see it here, its owner grants: GRANT USAGE ON SCHEMA mcp_audit TO "readonly"; GRANT SELECT ON mcp_audit.log TO "readonly";`))
	eval[bool](t, ctx, `document.querySelector('.filters .btn').click() === undefined`)
	until(t, ctx, `document.querySelector('.warn [class=hint]')?.textContent.includes('GRANT SELECT')`)
	shoot(t, ctx, "audit-refused")
	eval[bool](t, ctx, `(location.hash = '#plan/ofanotherserver') !== ''`)
	until(t, ctx, `document.querySelector('#main').textContent.includes('may not read mcp_audit.log')`)
}
