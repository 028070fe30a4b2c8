//go:build bench

package tests

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBenchQueryBesideWaiting: a query on the wire while a hundred execute_plan calls were sent for a plan
// that waits for a person (8 wait, 92 are told so), beside the same query with nobody waiting. In pairs, in
// one program each.
func TestBenchQueryBesideWaiting(t *testing.T) {
	alone, beside := start(t, world(t), everyPlanWaits()), start(t, world(t), everyPlanWaits())
	p := beside.preview("delete_rows", writers()[0].write.args(1))
	calls := make([]*pending, 100)
	for i := range calls {
		calls[i] = beside.begin("execute_plan", p.echo())
	}
	waiting := func() (n int) {
		for _, c := range calls {
			if !c.answered() {
				n++
			}
		}
		return n
	}
	eventually(t, "all but 8 calls are answered", func() bool { return waiting() == 8 })
	var plain, busy, ratio []float64
	timed := func(s *server) float64 {
		began := time.Now()
		s.call("query", args{"statement": "SELECT id, qty FROM app.item WHERE id = $1", "params": []any{1}, "reason": "t"}).ok(t, nil)
		return time.Since(began).Seconds() * 1e3
	}
	for range rounds() + 5 {
		a, b := timed(alone), timed(beside)
		plain, busy, ratio = append(plain, a), append(busy, b), append(ratio, b/a)
	}
	plain, busy, ratio = plain[5:], busy[5:], ratio[5:] // the first ones fill caches
	require.Equal(t, 8, waiting(), "they wait to the end")
	fmt.Printf("%-44s median %7.2f ms  (three quarters %.2f, slowest %.2f)\n", "query, nobody waits", quantile(plain, 0.5), quantile(plain, 0.75), quantile(plain, 1))
	fmt.Printf("%-44s median %7.2f ms  (three quarters %.2f, slowest %.2f)\n", "query, 8 of 100 execute_plan calls wait", quantile(busy, 0.5), quantile(busy, 0.75), quantile(busy, 1))
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%-44s %.2f of the query alone, of %d pairs; load %s", "  ratio", quantile(ratio, 0.5), len(ratio), load)
}
