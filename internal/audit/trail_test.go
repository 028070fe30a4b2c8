package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// trail is both sides of the log on a database of the test's own.
func trail(t *testing.T, opts ...pgtemp.Option) (*audit.Trail, *audit.Log, *pgtemp.DB) {
	t.Helper()
	pg := pgtemp.New(t, opts...)
	db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: pg.Readonly, WriterURL: pg.Writer, MaxConnections: 3, Warn: func(string) {}})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	from := func(p *postgres.Pool) func(context.Context) (audit.Session, error) {
		return func(ctx context.Context) (audit.Session, error) {
			s, err := p.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			return s, nil
		}
	}
	return audit.NewTrail(from(db.Readonly()), db.Readonly().Address().User), audit.NewLog(from(db.Writer()), slog.New(slog.DiscardHandler)), pg
}

func record(t *testing.T, l *audit.Log, events ...audit.Event) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, l.Record(t.Context(), e))
	}
}

func found(rows []audit.Row) (out []string) {
	for _, r := range rows {
		out = append(out, r.Status+" "+r.PlanToken)
	}
	return out
}

// life is what a plan leaves in the log: asked, decided, ended.
func life(token, table string) []audit.Event {
	n := int64(8)
	preview := audit.Event{
		Tool: "delete_rows", Reason: "tidy " + table, Statement: "DELETE FROM " + table + " WHERE id = $1", PreviewRows: &n, PlanToken: token,
		Status: audit.AwaitingApproval, CallerID: "claude", BlastRadius: []byte(`{"total_rows":8,"tables":[{"table":"` + table + `","inserted":0,"updated":0,"deleted":8}]}`),
	}
	yes := audit.Event{Tool: "approve_plan", PlanToken: token, ApprovedBy: "Ada", Status: audit.Approved, CallerID: "claude"}
	done := preview
	done.Status, done.ActualRows, done.ApprovedBy, done.Duration = audit.Executed, &n, "Ada", 41*time.Millisecond
	return []audit.Event{preview, yes, done}
}

// TestTrailFinds: each filter finds what it names and nothing else, newest first.
func TestTrailFinds(t *testing.T) {
	t.Parallel()
	tr, log, _ := trail(t)
	before := time.Now().Add(-time.Minute)
	record(t, log, life("one", "public.customers")...)
	two := life("two", "public.orders")
	record(t, log, two[0], audit.Event{Tool: "reject_plan", Reason: "Too broad, 100 % of it", PlanToken: "two", ApprovedBy: "Grace", Status: audit.Rejected, CallerID: "claude"})
	many := int64(13200)
	record(t, log, audit.Event{Tool: "update_rows", Reason: "everything", Statement: "update public.orders", PreviewRows: &many, Status: audit.HardCapRefused, ErrorCode: "HARD_MAX_ROWS_EXCEEDED", CallerID: "other"})

	all := []string{"hard_cap_refused ", "rejected two", "awaiting_approval two", "executed one", "approved one", "awaiting_approval one"}
	for _, c := range []struct {
		name string
		f    audit.Filter
		want []string
	}{
		{"everything", audit.Filter{}, all},
		{"the last of each plan", audit.Filter{Plans: true}, []string{all[0], all[1], all[3]}},
		{"a status", audit.Filter{Status: "approved"}, []string{all[4]}},
		{"a status of the last event only", audit.Filter{Status: "approved", Plans: true}, nil},
		{"a tool, decisions about it too", audit.Filter{Tool: "delete_rows"}, all[1:]},
		{"a tool of decisions", audit.Filter{Tool: "reject_plan"}, []string{all[1]}},
		{"a table, decisions about it too", audit.Filter{Table: "Orders"}, all[:3]},
		{"the person's words", audit.Filter{Text: "TOO BROAD, 100 %"}, []string{all[1]}},
		{"the agent's words, the plan by its last event", audit.Filter{Text: "tidy public.orders", Plans: true}, []string{all[1]}},
		{"a code", audit.Filter{Text: "hard_max"}, []string{all[0]}},
		{"a token", audit.Filter{Text: "two"}, all[1:3]},
		{"no wildcards", audit.Filter{Text: "t%o"}, nil},
		{"no quotes to escape", audit.Filter{Text: `'; DROP TABLE mcp_audit.log; --\`}, nil},
		{"text that no database can hold", audit.Filter{Text: "\x00", Table: "\xff"}, nil},
		{"since before", audit.Filter{From: before}, all},
		{"until before", audit.Filter{To: before}, nil},
		{"since the future", audit.Filter{From: time.Now().Add(time.Hour)}, nil},
	} {
		c.f.Limit = 50
		rows, more, err := tr.Search(t.Context(), c.f)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, found(rows), c.name)
		require.False(t, more, c.name)
	}

	rows, _, err := tr.Search(t.Context(), audit.Filter{Plans: true, Limit: 50})
	require.NoError(t, err)
	r := rows[1] // what a rejection is about comes from its preview
	require.Equal(t, []any{"delete_rows", "reject_plan", "tidy public.orders", "Too broad, 100 % of it", "Grace", int64(8)},
		[]any{r.Tool, r.Event, r.Reason, r.Answer, r.ApprovedBy, *r.PreviewRows})
	require.Contains(t, r.Statement, "DELETE FROM public.orders")
	require.Nil(t, r.ActualRows)
	require.EqualValues(t, 41, *rows[2].DurationMS)
	require.WithinDuration(t, time.Now(), r.At, time.Minute)
}

// TestTrailPages: pages follow one another without a gap or a repeat while new rows come in.
func TestTrailPages(t *testing.T) {
	t.Parallel()
	tr, log, pg := trail(t)
	pg.Exec(t, `INSERT INTO mcp_audit.log (tool, statement, status, error_code) SELECT 'query', 'select ' || i, 'failed', 'X' FROM generate_series(1, 250) AS i`)
	seen := map[int64]bool{}
	last := int64(1 << 62)
	sizes := []int{}
	for f := (audit.Filter{Limit: 1000}); ; {
		rows, more, err := tr.Search(t.Context(), f)
		require.NoError(t, err)
		for _, r := range rows {
			require.Less(t, r.ID, last)
			require.False(t, seen[r.ID])
			seen[r.ID], last = true, r.ID
		}
		sizes = append(sizes, len(rows))
		if !more {
			break
		}
		f.Before = last
		record(t, log, audit.Event{Tool: "query", Status: audit.Failed, ErrorCode: "NEW"})
	}
	require.Equal(t, []int{100, 100, 50}, sizes, "never more than %d at once", audit.MaxPage)
}

// TestTrailByToolEitherWay: the plans of a tool are looked at one by one where a page is soon full, else put
// together once; what is found is the same, whatever the size of a page decides.
func TestTrailByToolEitherWay(t *testing.T) {
	t.Parallel()
	tr, log, _ := trail(t)
	for i := range 6 {
		events := life(fmt.Sprint("plan ", i), "public.t")
		if i%2 == 1 {
			events[0].Tool, events[2].Tool = "update_rows", "update_rows"
		}
		record(t, log, events...)
		record(t, log, audit.Event{Tool: "query", Status: audit.Failed, ErrorCode: "X"})
	}
	for _, f := range []audit.Filter{{Tool: "update_rows"}, {Tool: "update_rows", Plans: true}, {Tool: "delete_rows", Status: "approved"}, {Tool: "approve_plan"}, {Tool: "query"}, {Tool: "none"}} {
		f.Limit = 100 // more than there are
		whole, _, err := tr.Search(t.Context(), f)
		require.NoError(t, err)
		var paged []audit.Row
		for f.Limit = 1; ; f.Before = paged[len(paged)-1].ID {
			rows, more, err := tr.Search(t.Context(), f)
			require.NoError(t, err)
			paged = append(paged, rows...)
			if !more {
				break
			}
		}
		require.Equal(t, found(whole), found(paged), "%+v", f)
		require.Equal(t, f.Tool == "none", len(whole) == 0)
	}
}

// TestTrailOfOnePlan: everything of one plan, in order.
func TestTrailOfOnePlan(t *testing.T) {
	t.Parallel()
	tr, log, _ := trail(t)
	one, two := life("one", "a"), life("two", "b")
	record(t, log, one[0], two[0], one[1], two[1], two[2], one[2])
	rows, err := tr.ByToken(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, []string{"awaiting_approval one", "approved one", "executed one"}, found(rows))
	rows, err = tr.ByToken(t.Context(), "nobody's")
	require.NoError(t, err)
	require.Empty(t, rows)
}

// TestTrailIsBounded: long texts come shortened with their length, whatever stands in the table.
func TestTrailIsBounded(t *testing.T) {
	t.Parallel()
	tr, _, pg := trail(t)
	pg.Exec(t, `INSERT INTO mcp_audit.log (tool, reason, statement, status, error_code, blast_radius)
		SELECT 'query', repeat('r', 100000), repeat('s', 500000), 'failed', 'X', jsonb_build_object('tables', repeat('t', 100000)) FROM generate_series(1, 3)`)
	rows, _, err := tr.Search(t.Context(), audit.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Len(t, rows[0].Statement, 4000)
	require.Equal(t, 500000, rows[0].StatementLength)
	require.Len(t, rows[0].Reason, 4000)
	require.Nil(t, rows[0].BlastRadius)
}

// TestTrailSaysWhatIsMissing: a grant, a table or a lock that is not there is said in a person's
// words with what helps, and never as a fault.
func TestTrailSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sql string
		code      refusal.Code
		hint      string
	}{
		{"no grant on the table", "REVOKE SELECT ON mcp_audit.log FROM readonly", refusal.AuditUnavailable, "GRANT SELECT ON mcp_audit.log"},
		{"no grant on the schema", "REVOKE USAGE ON SCHEMA mcp_audit FROM readonly", refusal.AuditUnavailable, "GRANT USAGE ON SCHEMA mcp_audit"},
		{"no table", "DROP TABLE mcp_audit.log CASCADE", refusal.AuditUnavailable, "02_audit.sql"},
		{"no schema", "DROP SCHEMA mcp_audit CASCADE", refusal.AuditUnavailable, "02_audit.sql"},
		{"a column less", "ALTER TABLE mcp_audit.log RENAME COLUMN caller_id TO x", refusal.AuditUnavailable, "02_audit.sql"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr, _, pg := trail(t)
			pg.Exec(t, c.sql)
			_, _, err := tr.Search(t.Context(), audit.Filter{Limit: 1})
			e, ok := refusal.As(err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.code, e.Code)
			require.Contains(t, e.Hint, c.hint)
			_, err = tr.ByToken(t.Context(), "x")
			require.True(t, refusal.Is(err, c.code), "%v", err)
		})
	}
}

// TestSearchUsesItsIndexes: what is rare, and what is long ago, is found by an index, not by reading the log.
func TestSearchUsesItsIndexes(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	pg.Exec(t, `INSERT INTO mcp_audit.log (ts, tool, statement, status, plan_token, error_code)
		SELECT '2026-01-01'::timestamptz + i * interval '1 minute', 'delete_rows', 'DELETE FROM a.b', CASE i WHEN 7 THEN 'failed' ELSE 'previewed' END, 't' || i, 'X' FROM generate_series(1, 30000) AS i`)
	pg.Exec(t, "VACUUM ANALYZE mcp_audit.log")
	sql, err := os.ReadFile("search.sql")
	require.NoError(t, err)
	explain := "EXPLAIN "
	plan := func(args ...string) (out string) {
		text := string(sql)
		for i := 9; i > 0; i-- {
			text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i), args[i-1])
		}
		for _, r := range pg.Query(t, explain+text) {
			out += r[0] + "\n"
		}
		require.NotContains(t, out, "Seq Scan on log l")
		return out
	}
	require.Contains(t, plan("NULL", "false", "NULL", "'failed'", "NULL", "NULL", "NULL", "NULL", "26"), "log_by_status")
	require.Contains(t, plan("NULL", "true", "NULL", "NULL", "NULL", "NULL", "1767225600000", "NULL", "26"), "log_by_time")
	require.Contains(t, plan("NULL", "true", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "26"), "log_pkey")
	require.Contains(t, plan("NULL", "true", "'run_migration'", "NULL", "NULL", "NULL", "NULL", "NULL", "26"), "log_by_tool")

	// Of a common tool not all plans are put together first.
	pg.Exec(t, "INSERT INTO mcp_audit.log (tool, status, plan_token, approved_by) SELECT 'approve_plan', 'approved', 't' || i, 'Ada' FROM generate_series(29000, 30000) AS i; ANALYZE mcp_audit.log")
	once := regexp.MustCompile(`\(never executed\)\n[^\n]*plan_token IS NOT NULL`)
	explain = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "
	common := plan("NULL", "false", "'delete_rows'", "NULL", "NULL", "NULL", "NULL", "NULL", "26")
	require.Regexp(t, once, common)
	require.NotRegexp(t, once, plan("NULL", "false", "'run_migration'", "NULL", "NULL", "NULL", "NULL", "NULL", "26"))
}

// TestTrailQuotesTheRole: the grants that are suggested can be run as they stand, whatever the role's name.
func TestTrailQuotesTheRole(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	for i, name := range []string{`reader`, `Reader é`, `a"b`, `back\slash`, "tab\there", `$1'; --`} {
		name := fmt.Sprintf("%s_%s_%d", name, pg.Query(t, "SELECT current_database()")[0][0], i)
		quoted := pg.Query(t, "SELECT quote_ident('"+strings.ReplaceAll(name, "'", "''")+"')")[0][0]
		pg.Exec(t, "CREATE ROLE "+quoted)
		t.Cleanup(func() { pg.Exec(t, "DROP OWNED BY "+quoted+"; DROP ROLE "+quoted) })
		pg.Exec(t, "REVOKE SELECT ON mcp_audit.log FROM readonly")
		db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: pg.Readonly, WriterURL: pg.Writer, MaxConnections: 2, Warn: func(string) {}})
		require.NoError(t, err)
		tr := audit.NewTrail(func(ctx context.Context) (audit.Session, error) { return db.Readonly().Acquire(ctx) }, name)
		_, _, err = tr.Search(t.Context(), audit.Filter{Limit: 1})
		db.Close()
		e, ok := refusal.As(err)
		require.True(t, ok, "%v", err)
		_, grants, ok := strings.Cut(e.Hint, "grants: ")
		require.True(t, ok, e.Hint)
		pg.Exec(t, grants)
		require.Equal(t, "t", pg.Query(t, "SELECT has_table_privilege('"+strings.ReplaceAll(name, "'", "''")+"', 'mcp_audit.log', 'SELECT')")[0][0], name)
	}
}

// TestTrailReadsOnly: both statements are one SELECT, run READ ONLY and rolled back, and objects of
// others with the names of Postgres' own are not reached.
func TestTrailReadsOnly(t *testing.T) {
	t.Parallel()
	tr, log, pg := trail(t)
	record(t, log, life("one", "a")...)
	pg.Exec(t, `CREATE SCHEMA trap; CREATE TABLE trap.hit (x int); GRANT ALL ON SCHEMA trap TO readonly; GRANT ALL ON trap.hit TO readonly;
		CREATE FUNCTION trap.lower(text) RETURNS text LANGUAGE plpgsql AS $$BEGIN INSERT INTO trap.hit VALUES (1); RETURN $1; END$$;
		CREATE FUNCTION trap.strpos(text, text) RETURNS int LANGUAGE plpgsql AS $$BEGIN INSERT INTO trap.hit VALUES (2); RETURN 1; END$$`)
	pg.Exec(t, fmt.Sprintf("ALTER ROLE readonly IN DATABASE %s SET search_path = trap, pg_catalog", pg.Query(t, "SELECT quote_ident(current_database())")[0][0]))
	rows, _, err := tr.Search(t.Context(), audit.Filter{Text: "nothing has this", Table: "x", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, rows)
	require.Equal(t, "0", pg.Query(t, "SELECT count(*) FROM trap.hit")[0][0])
	require.Equal(t, "0", pg.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'")[0][0])
	require.True(t, strings.HasPrefix(pg.Query(t, "SELECT count(*) FROM mcp_audit.log")[0][0], "3"))
}
