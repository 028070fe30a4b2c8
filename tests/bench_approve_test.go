//go:build bench

package tests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// unraced: figures are taken from a program without the race detector.
func init() { buildFlags = nil }

// rounds is how many pairs a figure rests on; SW_BENCH_ROUNDS changes it.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("SW_BENCH_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 101
}

// TestBenchApproval: from the press of Approve to the answer of the execute_plan that waited for it, over
// the built program: two POSTs over the page's kept connection (recheck, approve), one line back on stdout. Beside it, in the
// same rounds: the two halves by themselves, and the same change as bare SQL.
func TestBenchApproval(t *testing.T) {
	db := world(t)
	s := start(t, db, everyPlanWaits())
	raw, err := pgconn.Connect(t.Context(), db.Writer)
	require.NoError(t, err)
	defer func() { _ = raw.Close(context.Background()) }()
	page := &http.Client{}
	secret := s.secret()
	post := func(path, body string) {
		r, err := http.NewRequest(http.MethodPost, s.at(path), strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		res, err := page.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
	// press is what the page does: it looks whether the rows are still those of the card, then approves.
	press := func(p preview) {
		post("/api/plans/"+p.Token+"/recheck", "{}")
		post("/api/plans/"+p.Token+"/approve", `{"approvedBy":"Ada"}`)
	}
	n := 0
	ask := func() preview {
		n++
		return s.preview("update_rows", args{"table": "app.item", "set": map[string]any{"qty": n}, "where": "id = $1", "params": []any{1}, "reason": "t"})
	}
	var whole, half, other, bare []float64
	timed := func(list *[]float64, do func()) {
		began := time.Now()
		do()
		*list = append(*list, time.Since(began).Seconds()*1e3)
	}
	for range rounds() {
		p := ask()
		waits := s.begin("execute_plan", p.echo())
		// Requests are taken in turn: once this later one is answered the call waits.
		require.Nil(t, s.request("ping", map[string]any{}).wait().Error)
		time.Sleep(20 * time.Millisecond) // nothing outside tells that it waits
		require.False(t, waits.answered())
		timed(&whole, func() {
			go press(p)
			waits.reply().ok(t, &executed{})
		})
		p = ask()
		timed(&half, func() { press(p) })
		timed(&other, func() { s.execute(p) })
		timed(&bare, func() {
			_, err := raw.Exec(t.Context(), "BEGIN; UPDATE app.item SET qty = "+strconv.Itoa(n)+" WHERE id = 1; COMMIT").ReadAll()
			require.NoError(t, err)
		})
	}
	for _, l := range []struct {
		name string
		v    []float64
	}{{"approve to execute_plan answering", whole}, {"recheck and approve alone", half}, {"execute_plan alone, approved before", other}, {"the bare statement", bare}} {
		fmt.Printf("%-44s median %7.2f ms  (quarter %.2f, three quarters %.2f, slowest %.2f)\n", l.name, quantile(l.v, 0.5), quantile(l.v, 0.25), quantile(l.v, 0.75), quantile(l.v, 1))
	}
	var ratio []float64
	for i := range whole {
		ratio = append(ratio, whole[i]/other[i])
	}
	fmt.Printf("%-44s %.2f of execute_plan alone, of %d rounds\n", "  ratio", quantile(ratio, 0.5), len(whole))
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%-44s %s", "  load", load)
}

// quantile of the figures, which it leaves as they are.
func quantile(v []float64, q float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[int(q*float64(len(v)-1)+0.5)]
}
