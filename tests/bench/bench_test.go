//go:build bench

package bench_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// rounds is how many pairs a figure rests on; SW_BENCH_ROUNDS changes it.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("SW_BENCH_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 21
}

// counter is a TCP proxy that counts round trips: every time the server answers after the client spoke.
type counter struct {
	trips atomic.Int64
	spoke atomic.Bool
	addr  string
}

func count(t *testing.T, target string) *counter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &counter{addr: l.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, x := range open {
			_ = x.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			mu.Lock()
			open = append(open, near, far)
			mu.Unlock()
			wg.Go(func() { pump(far, near, func() { c.spoke.Store(true) }) })
			wg.Go(func() {
				pump(near, far, func() {
					if c.spoke.Swap(false) {
						c.trips.Add(1)
					}
				})
			})
		}
	})
	return c
}

func pump(to, from net.Conn, seen func()) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			seen()
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

func (c *counter) through(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	u.Host = c.addr
	return u.String()
}

type world struct {
	db    *pgtemp.DB
	pools *postgres.DB
	guard *sqlguard.Guard
	core  *writecore.TwoPhaseWrite
	store *plan.Store
	raw   *pgconn.PgConn // the writer's role, no product in between
	wire  *counter

	lastTrips int64 // of the last paired
}

const tables = `CREATE SCHEMA app AUTHORIZATION migrator; GRANT USAGE ON SCHEMA app TO readonly, writer;
CREATE TABLE app.b (id bigint PRIMARY KEY, k int NOT NULL, u int NOT NULL, a text NOT NULL, n numeric NOT NULL, at timestamptz NOT NULL);
INSERT INTO app.b SELECT g, g % 5, g % 5, 'row ' || g, g * 1.5, '2026-01-01'::timestamptz + g * interval '1 second' FROM generate_series(1, 50000) g;
CREATE INDEX ON app.b (k); CREATE INDEX ON app.b (at);
CREATE TABLE app.one AS SELECT; CREATE TABLE app.log (id bigint);
CREATE TABLE app.big AS SELECT g AS id, repeat('x', 100) AS t FROM generate_series(1, 200000) g;
GRANT SELECT ON ALL TABLES IN SCHEMA app TO readonly; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO writer;`

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{db: pgtemp.New(t)}
	w.db.Exec(t, tables)
	w.db.Exec(t, "VACUUM ANALYZE app.b")
	w.db.Exec(t, "VACUUM ANALYZE app.big")
	u, err := url.Parse(w.db.Writer)
	require.NoError(t, err)
	w.wire = count(t, u.Host)
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	w.pools, err = postgres.Open(t.Context(), postgres.Options{
		ReadonlyURL: w.wire.through(t, w.db.Readonly), WriterURL: w.wire.through(t, w.db.Writer), MaxConnections: 4, Logger: logger,
	})
	require.NoError(t, err)
	t.Cleanup(w.pools.Close)
	allow, err := sqlguard.ParseWriteAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	w.guard = sqlguard.New(sqlguard.Policy{Write: allow})
	w.store = plan.NewStore(plan.Options{PlanTTL: time.Minute, ApprovalTTL: time.Minute, MaxOpen: 10_000})
	t.Cleanup(w.store.Close)
	w.core = writecore.New(writecore.Options{
		Acquire: func(ctx context.Context) (writecore.Session, error) { return w.pools.Writer().Acquire(ctx) },
		Store:   w.store, CanWrite: w.guard.CanWrite,
		Audit:            audit.NewLog(func(ctx context.Context) (audit.Session, error) { return w.pools.Writer().Acquire(ctx) }, logger),
		Limits:           writecore.Limits{ApprovalAbove: 1_000_000, HardMax: 1_000_000},
		StatementTimeout: time.Minute, LockTimeout: time.Second, ExecuteWait: time.Second, PreviewLock: time.Second, Logger: logger,
	})
	w.raw, err = pgconn.Connect(t.Context(), w.wire.through(t, w.db.Writer)) // the same detour, so that the ratio is fair
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.raw.Close(context.Background()) })
	return w
}

// bare runs text as one simple Query message and reads everything.
func bare(t *testing.T, c *pgconn.PgConn, text string) {
	t.Helper()
	_, err := c.Exec(t.Context(), text).ReadAll()
	require.NoError(t, err)
}

// paired runs ours and raw in turn and prints medians of both, the median of the pairs' ratios, and
// the round trips of one of ours.
func (w *world) paired(t *testing.T, name string, before, ours, raw func()) {
	t.Helper()
	ours()
	raw()
	var a, b []float64
	var r []float64
	var trips int64
	for range rounds() {
		before()
		w.wire.trips.Store(0)
		start := time.Now()
		ours()
		x := time.Since(start)
		trips = w.wire.trips.Load()
		before()
		start = time.Now()
		raw()
		y := time.Since(start)
		a, b, r = append(a, x.Seconds()*1e3), append(b, y.Seconds()*1e3), append(r, x.Seconds()/y.Seconds())
	}
	w.lastTrips = trips
	fmt.Printf("%-44s %9.2f ms  bare %9.2f ms  ratio %5.2f (%.2f–%.2f)  round trips %d\n",
		name, median(a), median(b), median(r), quantile(r, 0.25), quantile(r, 0.75), trips)
}

func median(v []float64) float64 { return quantile(v, 0.5) }

func quantile(v []float64, q float64) float64 {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[int(q*float64(len(s)-1)+0.5)]
}

func nothing() {}

// TestBenchWrite: preview and execute against raw SQL on the same connection settings.
func TestBenchWrite(t *testing.T) {
	w := setup(t)
	vacuum := func() { w.db.Exec(t, "VACUUM app.b") }
	for _, c := range []struct{ name, where string }{
		{"1 row by key", "id = 4711"},
		{"100 rows by index", "id BETWEEN 1001 AND 1100"},
		{"10,000 rows by index", "k = 3"},
		{"1 row, no index", "u = 1 AND n = 7066.5"},
		{"10,000 rows, no index", "u = 3"},
		{"1 row on a snapshot", "id IN (SELECT 4711 FROM app.one)"},
		{"the same, a trigger writes on", "id IN (SELECT 4711 FROM app.one)"}, // a second connection looks at that
	} {
		if strings.Contains(c.name, "trigger") {
			w.db.Exec(t, `CREATE FUNCTION app.logs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (NEW.id); RETURN NEW; END $$;
				CREATE TRIGGER logs AFTER UPDATE ON app.b FOR EACH ROW EXECUTE FUNCTION app.logs()`)
		}
		text := "UPDATE app.b SET a = a || '!' WHERE " + c.where
		st := func() *sqlguard.Statement {
			s, err := w.guard.Update(t.Context(), w.pools.Writer().Catalog(), sqlguard.UpdateSpec{
				Table: "app.b", SetExpressions: []sqlguard.SetExpr{{Column: "a", Expr: "a || '!'"}}, Where: c.where,
			})
			require.NoError(t, err)
			return s
		}
		var last writecore.Reply
		preview := func() {
			r, err := w.core.Preview(t.Context(), writecore.Request{Tool: "update_rows", Reason: "bench", Statement: st()})
			require.NoError(t, err)
			last = r
		}
		w.paired(t, "preview, "+c.name, vacuum, preview, func() { bare(t, w.raw, "BEGIN; "+text+"; ROLLBACK") })
		w.paired(t, "execute, "+c.name, func() { vacuum(); preview() }, func() {
			_, err := w.core.Execute(t.Context(), writecore.ExecuteRequest{Token: last.Plan.Token, Echo: plan.Echo{Payload: &last.Plan.Payload}})
			if err != nil && !strings.Contains(err.Error(), "USED_TOKEN") {
				require.NoError(t, err)
			}
		}, func() { bare(t, w.raw, "BEGIN; "+text+"; COMMIT") })
	}
}

// TestBenchHardCap: a refusal above the cap against the bare bounded SELECT.
func TestBenchHardCap(t *testing.T) {
	w := setup(t)
	w.db.Exec(t, `CREATE TABLE app.two (id int PRIMARY KEY, first int, spread int, last int);
		INSERT INTO app.two SELECT g, (g <= 20000)::int, (g % 100 = 0)::int, (g > 1980000)::int FROM generate_series(1, 2000000) g;
		GRANT SELECT, UPDATE, DELETE ON app.two TO writer`)
	w.db.Exec(t, "VACUUM ANALYZE app.two")
	core := writecore.New(writecore.Options{
		Acquire: func(ctx context.Context) (writecore.Session, error) { return w.pools.Writer().Acquire(ctx) },
		Store:   w.store, CanWrite: w.guard.CanWrite,
		Audit:            audit.NewLog(func(ctx context.Context) (audit.Session, error) { return w.pools.Writer().Acquire(ctx) }, slog.New(slog.NewTextHandler(io.Discard, nil))),
		Limits:           writecore.Limits{ApprovalAbove: 100, HardMax: 10_000},
		StatementTimeout: time.Minute, LockTimeout: time.Second, PreviewLock: time.Second,
	})
	for _, column := range []string{"first", "spread", "last"} {
		w.paired(t, "refusal at the cap, 2,000,000 rows, "+column, nothing, func() {
			st, err := w.guard.Delete(t.Context(), w.pools.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.two", Where: column + " = 1"})
			require.NoError(t, err)
			_, err = core.Preview(t.Context(), writecore.Request{Tool: "delete_rows", Reason: "bench", Statement: st})
			require.ErrorContains(t, err, "HARD_MAX_ROWS_EXCEEDED")
		}, func() {
			bare(t, w.raw, "SELECT count(*) FROM (SELECT 1 FROM app.two WHERE "+column+" = 1 LIMIT 10001) s")
		})
	}
}
