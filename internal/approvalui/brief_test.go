package approvalui_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestBriefPlans: with ?full=n the n oldest that wait are whole, the others have what the list of all
// plans shows, and no more; without it, every plan is whole.
func TestBriefPlans(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := crowd(b, 6)
	_, _, err := b.store.Approve(made[5].Token, "Ana")
	require.NoError(t, err)
	_, body, _ := b.ask("GET", "/api/plans?all=1&full=2", "")
	brief := map[string]bool{}
	for _, c := range body["plans"].([]any) {
		c := c.(map[string]any)
		_, is := c["brief"]
		brief[c["plan_token"].(string)] = is
		if !is {
			require.Contains(t, c, "statement")
			continue
		}
		for _, k := range []string{"statement", "params", "reason", "sample_rows", "changes", "payload"} {
			require.NotContains(t, c, k)
		}
		_, one, _ := b.ask("GET", "/api/plans/"+c["plan_token"].(string)+"?audit=0", "")
		whole := one["plan"].(map[string]any)
		for _, k := range []string{"state", "tool", "preview_count", "expires_at", "previewed_at", "target", "affected_rows", "level"} {
			require.Equal(t, whole[k], c[k], k)
		}
		require.Equal(t, whole["render"].(map[string]any)["sentence"], c["render"].(map[string]any)["sentence"])
		require.Equal(t, whole["blast_radius"].(map[string]any)["total_rows"], c["blast_radius"].(map[string]any)["total_rows"])
		require.Equal(t, whole["blast_radius"].(map[string]any)["unknown"], c["blast_radius"].(map[string]any)["unknown"])
	}
	want := map[string]bool{}
	for i, p := range made {
		want[string(p.Token)] = i >= 2 && i < 5
	}
	require.Equal(t, want, brief)
	_, body, _ = b.ask("GET", "/api/plans?all=1", "")
	for _, c := range body["plans"].([]any) {
		require.NotContains(t, c, "brief")
	}
	for _, bad := range []string{"", "-1", "x", "1e9", "99999999999999999999"} {
		status, body, _ := b.ask("GET", "/api/plans?full="+bad, "")
		require.Equal(t, http.StatusBadRequest, status, bad)
		require.Equal(t, "BAD_REQUEST", body["code"])
	}
}

// slowList is a reviewer in which something happens right after the first list was made.
type slowList struct {
	reviewer
	once *sync.Once
	then func()
}

func (r slowList) Plans(all bool) []plan.Plan {
	out := r.reviewer.Plans(all)
	r.once.Do(r.then)
	return out
}

// TestOneListAtTheStart: the page asks for the list once, where nothing happens between it and the stream.
func TestOneListAtTheStart(t *testing.T) {
	b := setup(t)
	p := b.add(cascade())
	ctx := b.browse()
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, armed)
	const lists = `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/plans?')).length`
	_, _, err := b.store.Reject(p.Token, "Ana", "")
	require.NoError(t, err)
	until(t, ctx, `document.title === 'Approvals: shop'`) // the stream is there
	require.EqualValues(t, 1, eval[int64](t, ctx, lists))
}

// TestBetweenListAndStream: what is told of after the list was made and before the stream is there is not
// lost, also where it is told of a plan that is not whole in the list.
func TestBetweenListAndStream(t *testing.T) {
	var c *bundle
	var made []plan.Plan
	var late, again plan.Plan
	c = setup(t, func(o *approvalui.Options, so *plan.Options) {
		store := plan.NewStore(*so)
		t.Cleanup(store.Close)
		o.Reviewer = slowList{reviewer{store}, &sync.Once{}, func() {
			late = c.add(dropColumn())
			p := made[39].Preview
			p.Reason = "Asked once more."
			again = c.add(p)
		}}
	})
	made = crowd(c, 40)
	ctx := c.browse()
	watch(t, ctx, c)
	do(t, ctx, chromedp.Navigate(c.page.SecretURL()))
	until(t, ctx, `document.title === '(41) Approvals: shop'`)
	require.Equal(t, made[39].Token, again.Token, "it joined")
	until(t, ctx, `document.querySelector('.index a[href="`+card(late)+`"]') !== null`)
	eval[bool](t, ctx, `document.querySelector('.index a[href="`+card(again)+`"]').click() === undefined`)
	until(t, ctx, `document.querySelector(`+quote(card(again))+`).textContent.includes('Asked once more.')`)
	require.Contains(t, eval[string](t, ctx, `document.querySelector(`+quote(card(again))+`).textContent`), "asked 2 times")
}

// TestManyRunOut: a hundred plans that run out at once, most of them never looked at, leave a trace each,
// and no storm of questions.
func TestManyRunOut(t *testing.T) {
	b := setup(t, func(_ *approvalui.Options, so *plan.Options) { so.ApprovalTTL = 5 * time.Second })
	ctx := b.browse()
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === 'Approvals: shop'`)
	crowd(b, 100)
	until(t, ctx, `document.title === '(100) Approvals: shop'`)
	until(t, ctx, `document.title === 'Approvals: shop' && document.querySelectorAll('.list > .card').length === 0`)
	require.EqualValues(t, 100, eval[int64](t, ctx, `document.querySelectorAll('.list > .receipt').length`))
	require.Equal(t, "Nothing waits for you", eval[string](t, ctx, `document.querySelector('h1').textContent`))
	asked := eval[int64](t, ctx, `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/plans')).length`)
	require.Less(t, asked, int64(60), "questions about single plans")
}

// nudged is a watcher that can be made to say that events were lost.
type nudged struct {
	*plan.Store
	lost chan plan.Event
}

func (n *nudged) Subscribe() (<-chan plan.Event, func()) {
	events, cancel := n.Store.Subscribe()
	out := make(chan plan.Event)
	done := make(chan struct{})
	go func() {
		for {
			var e plan.Event
			select {
			case e = <-events:
			case e = <-n.lost:
			case <-done:
				return
			}
			select {
			case out <- e:
			case <-done:
				return
			}
		}
	}()
	return out, func() { close(done); cancel() }
}

// TestListAgainKeepsWholeCards: when events were lost the list is loaded again; a card that is whole keeps
// what it shows, though the list is brief about it, and can be decided.
func TestListAgainKeepsWholeCards(t *testing.T) {
	n := &nudged{lost: make(chan plan.Event)}
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.Watcher = n })
	p := crowd(b, 40)[39]
	ctx := b.browse()
	watch(t, ctx, b)
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === '(40) Approvals: shop' && document.querySelector('.state')?.textContent.includes('Live')`)
	until(t, ctx, `document.querySelector('.index a[href="`+card(p)+`"]') !== null`)
	eval[bool](t, ctx, `document.querySelector('.index a[href="`+card(p)+`"]').click() === undefined`)
	until(t, ctx, `document.querySelector(`+quote(card(p)+" .agent")+`) !== null`)
	n.lost <- plan.Event{Kind: "resync"}
	until(t, ctx, `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/plans?')).length === 2`)
	late := b.add(dropColumn())
	until(t, ctx, `document.title.startsWith('(41)') && document.querySelector(`+quote(card(late))+`) !== null`)
	require.True(t, eval[bool](t, ctx, `document.querySelector(`+quote(card(p)+" .agent")+`) !== null`))
	// Not a click at a place: the window's scrolling there builds neighbours, which makes all buttons wait.
	until(t, ctx, `(() => { const b = document.querySelector(`+quote(yes(p))+`); if (b.getAttribute('aria-disabled') === 'true') return false; b.click(); return true; })()`)
	b.wait(p, plan.Approved)
}
