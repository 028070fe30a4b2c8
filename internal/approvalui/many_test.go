package approvalui_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// crowd puts n plans into the store, over 20 tables.
func crowd(b *bundle, n int) (made []plan.Plan) {
	b.t.Helper()
	for i := range n {
		p := []plan.Preview{cascade(), repricing(), archive()}[i%3]
		p.Target = fmt.Sprintf("public.table_%d", i%20)
		p.BlastRadius.Tables = slices.Clone(p.BlastRadius.Tables)
		p.BlastRadius.Tables[0].Name = p.Target
		p.Payload.Params = append(slices.Clone(p.Payload.Params), raw(i))
		made = append(made, b.add(p))
	}
	return made
}

// TestThousandPlans: with 1,000 plans waiting the page loads in about a second, the newest can be
// decided, and a decision does not stop the page. The bounds are wide: this machine may be busy. The figures are
// printed; docs say what was measured.
func TestThousandPlans(t *testing.T) {
	b := setup(t)
	made := crowd(b, 1000)
	ctx := b.browse()
	watch(t, ctx, b)
	look(t, ctx, 1280, "light")
	began := time.Now()
	do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
	until(t, ctx, `document.title === '(1000) Approvals: shop'`)
	outside := time.Since(began)
	until(t, ctx, `performance.getEntriesByName('listed').length > 0`)
	loaded := eval[float64](t, ctx, `performance.getEntriesByName('shown')[0].startTime`)
	require.Less(t, loaded, 30_000.0)
	t.Log(eval[string](t, ctx, `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/plans')).map((e) => 'plans: ' + Math.round(e.startTime) + ' to ' + Math.round(e.responseEnd) + ' ms, ' + Math.round(e.encodedBodySize / 1e3) + ' kB').join('; ')`))
	require.EqualValues(t, 20, eval[int64](t, ctx, `document.querySelectorAll('.index-group').length`), "by table")
	require.EqualValues(t, 1000, eval[int64](t, ctx, `document.querySelectorAll('.index a').length`))
	require.Less(t, eval[int64](t, ctx, `document.querySelectorAll('.acts').length`), int64(200), "the far ones are not built")
	require.EqualValues(t, 1000, eval[int64](t, ctx, `document.querySelectorAll('.list > .card .say').length`), "each says what it does")
	require.EqualValues(t, 1, eval[int64](t, ctx, `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/plans?')).length`), "one list")
	tick := eval[float64](t, ctx, `(() => { const t = performance.now(); document.querySelectorAll('.index a')[999].click(); return performance.now() - t; })()`)
	last := made[999]
	until(t, ctx, `document.querySelector(`+quote(no(last))+`)?.getAttribute('aria-disabled') === 'false'`)
	open := eval[float64](t, ctx, `(() => { const t = performance.now(); document.querySelector(`+quote(no(last))+`).click(); return performance.now() - t; })()`)
	require.True(t, eval[bool](t, ctx, `document.querySelector('dialog[open]') !== null`))
	eval[bool](t, ctx, `document.querySelector('dialog .btn-yes').click() === undefined`)
	b.wait(last, plan.Rejected)
	began = time.Now()
	loud := b.add(dropColumn())
	until(t, ctx, `document.querySelector(`+quote(card(loud))+`) !== null && document.title.startsWith('(1000)')`)
	t.Logf("1,000 plans: shown %.0f ms after the page was asked for (%d ms seen from outside), jump %.0f ms, reject dialog %.0f ms, a new plan after %d ms",
		loaded, outside.Milliseconds(), tick, open, time.Since(began).Milliseconds())
	shoot(t, ctx, "thousand")
}

// listen opens an event stream and returns what ends it.
func listen(t testing.TB, b *bundle, ctx context.Context, got chan<- string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.page.URL()+"api/events", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+b.token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	go func() {
		defer func() { _ = res.Body.Close() }()
		in := bufio.NewScanner(res.Body)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			if name, ok := strings.CutPrefix(in.Text(), "event: "); ok {
				select {
				case got <- name:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
}

// hundredStreams opens a hundred event streams and adds one plan: the memory that they hold meanwhile, in
// bytes, and how long it takes until all have heard of it. The clients live in the same process, so what is
// measured is more than the server's part.
func hundredStreams(t testing.TB, b *bundle) (used int64, told time.Duration) {
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := memory()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan string, 1000)
	for range 100 {
		listen(t, b, ctx, got)
	}
	for range 100 {
		require.Equal(t, "hello", <-got)
	}
	began := time.Now()
	b.add(cascade())
	for range 100 {
		require.Equal(t, "plan", <-got)
	}
	told = time.Since(began)
	return max(int64(memory())-int64(before), 0), told
}

// TestHundredStreams: a hundred open pages cost under 20 MB, and each hears of every plan.
func TestHundredStreams(t *testing.T) {
	used, _ := hundredStreams(t, setup(t))
	t.Logf("100 event streams with their clients: %.1f MB", float64(used)/1e6)
	require.Less(t, used, int64(20e6))
}
