//go:build bench

package approvalui_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func middle(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// frames is what a person feels: the longest time between two pictures while the page scrolls from the
// top to the bottom in forty steps, and the longest piece of work in it, in milliseconds.
const frames = `(async () => {
  let long = 0;
  const watch = new PerformanceObserver((l) => { for (const e of l.getEntries()) long = Math.max(long, e.duration); });
  watch.observe({ entryTypes: ['longtask'] });
  const gaps = [];
  let last = performance.now();
  for (let i = 1; i <= 40; i++) {
    scrollTo(0, document.documentElement.scrollHeight * i / 40);
    await new Promise((r) => requestAnimationFrame(r));
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }
  await new Promise((r) => setTimeout(r, 50));
  gaps.sort((a, b) => a - b);
  return [gaps[20], gaps[39], long];
})()`

// TestBenchThousandPlans: the page with 1,000 plans that wait, in a real browser that was started before:
// median of five loads. Then it is scrolled, and the last card is rejected.
func TestBenchThousandPlans(t *testing.T) {
	for _, n := range []int{1, 1000} {
		b := setup(t)
		made := crowd(b, n)
		ctx := b.browse()
		look(t, ctx, 1280, "light")
		do(t, ctx, chromedp.Navigate(b.page.URL())) // the browser itself is awake now
		var asked, answered, shown, listed []float64
		size := 0.0
		for range 5 {
			do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
			until(t, ctx, `performance.getEntriesByName('listed').length > 0 && document.querySelector('.state')?.textContent.includes('Live')`)
			shown = append(shown, eval[float64](t, ctx, `performance.getEntriesByName('shown')[0].startTime`))
			listed = append(listed, eval[float64](t, ctx, `performance.getEntriesByName('listed')[0].startTime`))
			times := eval[[]float64](t, ctx, `(() => { const l = performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/plans?')); return [l.length, l[0].startTime, l[0].responseEnd, l[0].encodedBodySize]; })()`)
			require.EqualValues(t, 1, times[0], "the list is asked for once")
			asked, answered, size = append(asked, times[1]), append(answered, times[2]), times[3]
		}
		fmt.Printf("%5d plans: navigation to list asked for %4.0f ms, answered %4.0f ms (%.0f kB), first cards shown %4.0f ms, all listed %4.0f ms\n",
			n, middle(asked), middle(answered), size/1e3, middle(shown), middle(listed))
		if n == 1 {
			continue
		}
		scroll, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](frames, chromedp.EvalAwaitPromise))
		require.NoError(t, err)
		fmt.Printf("             scrolling through all of them: a picture every %.0f ms (median), slowest %.0f ms, longest piece of work %.0f ms\n", scroll[0], scroll[1], scroll[2])

		var jump, decided []float64
		for _, p := range []plan.Plan{made[999], made[500], made[777]} {
			began := time.Now()
			eval[bool](t, ctx, `document.querySelector('.index a[href="`+card(p)+`"]').click() === undefined`)
			until(t, ctx, `document.querySelector(`+quote(no(p))+`) !== null`)
			jump = append(jump, time.Since(began).Seconds()*1e3)
			until(t, ctx, `document.querySelector(`+quote(no(p))+`).getAttribute('aria-disabled') === 'false'`)
			took, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`(async () => {
  const root = document.querySelector(`+quote(card(p))+`);
  const field = root.querySelector('input.mono');
  if (field) { field.value = field.labels[0].querySelector('code').textContent; field.dispatchEvent(new Event('input')); }
  const go = root.querySelector('.acts .btn');
  while (go.getAttribute('aria-disabled') === 'true') await new Promise((r) => setTimeout(r)); // another card was built just now
  const t = performance.now();
  go.click();
  while (!root.querySelector('.outcome')) { await new Promise((r) => setTimeout(r)); if (performance.now() - t > 10000) throw new Error('not decided'); }
  return performance.now() - t;
})()`, chromedp.EvalAwaitPromise))
			require.NoError(t, err)
			decided = append(decided, took)
			b.wait(p, plan.Approved)
		}
		began := time.Now()
		late := b.add(dropColumn())
		until(t, ctx, `document.querySelector(`+quote(card(late))+`) !== null`)
		fmt.Printf("             jump to a far card %.0f ms, its Approve to what became of it %.0f ms, a new plan on the page after %d ms\n", middle(jump), middle(decided), time.Since(began).Milliseconds())
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("             load %s", load)
}

// TestBenchHundredStreams: what a hundred open pages cost, their clients included.
func TestBenchHundredStreams(t *testing.T) {
	used, told := hundredStreams(t, setup(t))
	fmt.Printf("  100 event streams with their clients: %.1f MB; a plan reaches all of them in %.1f ms\n", float64(used)/1e6, told.Seconds()*1e3)
}
