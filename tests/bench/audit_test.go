//go:build bench

package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
)

// million fills the log with 250,000 plans of four events each, over 250 days: asked, approved and executed,
// and a preview that nobody redeemed. Rare things stand at the far end: rejections, migrations.
const million = `INSERT INTO mcp_audit.log (ts, tool, reason, statement, plan_token, status, preview_rows, actual_rows, approved_by, caller_id, blast_radius, error_code)

SELECT '2026-01-01'::timestamptz + g * interval '86.4 seconds' + e * interval '1 second',
       CASE e WHEN 1 THEN CASE WHEN rare THEN 'reject_plan' ELSE 'approve_plan' END ELSE CASE WHEN rare THEN 'run_migration' ELSE (ARRAY['update_rows','delete_rows','insert_rows'])[1 + g %% 3] END END,
       CASE WHEN e = 1 THEN NULL ELSE 'tidy up the orders of tenant ' || g END,
       CASE WHEN e = 1 THEN '' ELSE 'UPDATE app.orders SET status = $1 WHERE tenant = ' || g || ' AND created_at < $2' END,
       md5(CASE WHEN e = 3 THEN 'x' ELSE '' END || g), CASE e WHEN 0 THEN 'awaiting_approval' WHEN 1 THEN CASE WHEN rare THEN 'rejected' ELSE 'approved' END WHEN 2 THEN CASE WHEN rare THEN 'failed' ELSE 'executed' END ELSE 'previewed' END,
       CASE WHEN e = 1 THEN NULL ELSE g %% 1000 END, CASE WHEN e = 2 THEN g %% 1000 END, CASE WHEN e IN (1, 2) THEN 'Ada' END, 'claude-desktop',
       CASE WHEN e <> 1 THEN jsonb_build_object('total_rows', g %% 1000, 'tables', jsonb_build_array(jsonb_build_object('table', 'app.orders', 'updated', g %% 1000))) END,
       CASE WHEN e = 2 AND rare THEN 'PLAN_REJECTED' END
FROM (SELECT g, g %% 5000 = 7 AND g < 100000 AS rare FROM generate_series(%d, %d) g) s, generate_series(0, 3) e ORDER BY g, e`

// TestBenchAudit: pages of the audit view over a log of 1,000,000 rows.
func TestBenchAudit(t *testing.T) {
	pg := pgtemp.New(t)
	for g := 0; g < 250_000; g += 25_000 {
		pg.Exec(t, fmt.Sprintf(million, g, g+24_999))
	}
	pg.Exec(t, "VACUUM ANALYZE mcp_audit.log")
	db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: pg.Readonly, WriterURL: pg.Writer, MaxConnections: 2, Warn: func(string) {}})
	require.NoError(t, err)
	defer db.Close()
	tr := audit.NewTrail(func(ctx context.Context) (audit.Session, error) { return db.Readonly().Acquire(ctx) }, "readonly")
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(250_000 * 86400 * time.Millisecond)
	for _, c := range []struct {
		name string
		f    audit.Filter
	}{
		{"newest", audit.Filter{}},
		{"newest, plans", audit.Filter{Plans: true}},
		{"in the middle, plans", audit.Filter{Plans: true, Before: 500_000}},
		{"the oldest page", audit.Filter{Before: 20}},
		{"status executed, plans", audit.Filter{Plans: true, Status: "executed"}},
		{"status rejected (20 rows, far)", audit.Filter{Status: "rejected"}},
		{"tool update_rows", audit.Filter{Tool: "update_rows", Plans: true}},
		{"tool run_migration (rare, far)", audit.Filter{Tool: "run_migration", Plans: true}},
		{"tool explain_plan (none)", audit.Filter{Tool: "explain_plan"}},
		{"the last day", audit.Filter{From: end.AddDate(0, 0, -1), Plans: true}},
		{"one day, 200 days ago", audit.Filter{From: end.AddDate(0, 0, -200), To: end.AddDate(0, 0, -199), Plans: true}},
		{"before the first", audit.Filter{To: end.AddDate(0, 0, -300)}},
		{"after the last", audit.Filter{From: end.AddDate(0, 0, 1)}},
		{"text, common", audit.Filter{Text: "TIDY UP", Plans: true}},
		{"text, no hit, last day", audit.Filter{Text: "nowhere", From: end.AddDate(0, 0, -1), Plans: true}},
		{"text, no hit, last 7 days", audit.Filter{Text: "nowhere", From: end.AddDate(0, 0, -7), Plans: true}},
		{"text, no hit, any time", audit.Filter{Text: "nowhere", Plans: true}},
		{"table, no hit, last 7 days", audit.Filter{Table: "nowhere", From: end.AddDate(0, 0, -7), Plans: true}},
		{"table, no hit, any time", audit.Filter{Table: "nowhere", Plans: true}},
	} {
		c.f.Limit = 25
		best := time.Hour
		note := ""
		n := 0
		for range 3 {
			began := time.Now()
			rows, _, err := tr.Search(t.Context(), c.f)
			if err != nil {
				note = err.Error()
				best = time.Since(began)
				break
			}
			n = len(rows)
			best = min(best, time.Since(began))
		}
		fmt.Printf("%-34s %8.1f ms  %d rows %s\n", "1,000,000 rows, "+c.name, best.Seconds()*1e3, n, note)
	}
	size := pg.Query(t, "SELECT relname, pg_size_pretty(pg_relation_size(oid)) FROM pg_class WHERE relnamespace = 'mcp_audit'::regnamespace ORDER BY 1")
	fmt.Println(size)
	began := time.Now()
	pg.Exec(t, "INSERT INTO mcp_audit.log (tool, statement, status, error_code) SELECT 'x', 'y', 'failed', 'z' FROM generate_series(1, 10000)")
	fmt.Printf("10,000 more rows %d ms\n", time.Since(began).Milliseconds())
}
