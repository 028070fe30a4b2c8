//go:build bench

package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// reads is the readonly pool as the tools see it. The other methods are not called here.
type reads struct {
	tools.Reads
	pool *postgres.Pool
}

func (r reads) Query(ctx context.Context, st *sqlguard.Statement, l tools.QueryLimits) (*tools.QueryResult, error) {
	q, err := r.pool.Query(ctx, st, postgres.QueryLimits{Rows: l.Rows, Bytes: l.Bytes, Timeout: l.Timeout})
	if err != nil {
		return nil, err
	}
	return &tools.QueryResult{Columns: q.Columns, Types: q.Types, Rows: q.Rows, Truncated: q.Truncated, Shortened: q.Shortened, Hint: q.Hint}, nil
}

// TestBenchQuery: the query tool, from its arguments to its result as JSON, against the same statement
// through bare pgx (prepared once, every value decoded, nothing kept). First times and round trips, then,
// each by itself, what a run adds to the process's resident memory at its peak.
func TestBenchQuery(t *testing.T) {
	w := setup(t)
	pool := w.pools.Readonly()
	query := tools.All(tools.Deps{
		Text: w.guard, ReadonlyCatalog: pool.Catalog(), Reads: reads{pool: pool},
		Limits: tools.Limits{QueryRows: 1000, QueryBytes: 1 << 20, QueryTimeout: time.Minute},
	})[1]
	require.Equal(t, "query", query.Name)
	conn, err := pgx.Connect(t.Context(), w.wire.through(t, w.db.Readonly))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })

	type run struct {
		name      string
		rows      int
		ours, raw func()
	}
	var runs []run
	for _, c := range []struct {
		name, text string
		rows       int
	}{
		{"query, 1 row by key", "SELECT * FROM app.b WHERE id = 4711", 1},
		{"query, 1,000 rows", "SELECT * FROM app.b WHERE id <= 1000", 1000},
		{"query, 200,000 rows capped at 1,000", "SELECT * FROM app.big", 200_000},
	} {
		args, err := json.Marshal(map[string]any{"statement": c.text, "reason": "bench"})
		require.NoError(t, err)
		runs = append(runs, run{
			name: c.name, rows: c.rows,
			ours: func() {
				out, err := query.Handle(t.Context(), tools.Call{Arguments: args})
				require.NoError(t, err)
				require.Contains(t, string(out[max(0, len(out)-400):]), fmt.Sprintf(`"row_count":%d`, min(c.rows, 1000)))
			},
			raw: func() {
				rows, err := conn.Query(t.Context(), c.text)
				require.NoError(t, err)
				n := 0
				for rows.Next() {
					_, err := rows.Values()
					require.NoError(t, err)
					n++
				}
				require.NoError(t, rows.Err())
				require.Equal(t, c.rows, n)
			},
		})
	}
	for _, r := range runs {
		w.paired(t, r.name, nothing, r.ours, r.raw)
		require.EqualValues(t, 1, w.lastTrips, "with a warm catalog cache a query is one round trip")
	}
	for _, r := range runs {
		fmt.Printf("%-44s peak memory above idle: %s  bare %s\n", r.name, peakOf(r.ours), peakOf(r.raw))
	}
}

// peakOf is what running f a few times adds to the resident memory at its peak: read from the kernel,
// where it can be told to count afresh (Linux), else sampled from the Go heap.
func peakOf(f func()) string {
	debug.FreeOSMemory()
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil {
		if idle, ok := resident("VmRSS:"); ok {
			for range 5 {
				f()
			}
			if most, ok := resident("VmHWM:"); ok {
				return fmt.Sprintf("%5.1f MiB", float64(max(most-idle, 0))/1024)
			}
		}
	}
	return sampled(f)
}

// resident reads a line of /proc/self/status, in KiB.
func resident(name string) (int64, bool) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func sampled(f func()) string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	sizes := []uint64{m.HeapInuse}
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Go(func() {
		var m runtime.MemStats
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				sizes = append(sizes, m.HeapInuse)
			}
		}
	})
	for range 5 {
		f()
	}
	close(stop)
	done.Wait()
	return fmt.Sprintf("%5.1f MiB (of the Go heap)", float64(slices.Max(sizes)-sizes[0])/(1<<20))
}
