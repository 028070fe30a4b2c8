package tests

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	auditlog "github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// blind is a catalog that takes every hidden relation for app.item: what a guard would see that is
// fooled by each way of naming one. Nothing else of the product is changed, so what still refuses is
// the second witness. The shipped program has no way to such a catalog; a test file can make one.
type blind struct{ sqlguard.Catalog }

// Lookup implements sqlguard.Catalog.
func (b blind) Lookup(ctx context.Context, q sqlguard.Lookup, fresh bool) (*sqlguard.Facts, error) {
	item := sqlguard.Name{Schema: "app", Name: "item"}
	q.Relations = append(append([]sqlguard.Name{}, q.Relations...), item)
	f, err := b.Catalog.Lookup(ctx, q, fresh)
	if err != nil {
		return nil, err
	}
	for name, r := range f.Relations {
		if r.Schema == "secret" || r.Schema == "mcp_audit" {
			f.Relations[name] = f.Relations[item]
		}
	}
	return f, nil
}

// blindTools are the eight tools on a real database, as cmd wires them, with a guard that sees nothing
// of what is hidden.
func blindTools(t *testing.T, db *pgtemp.DB) func(tool string, a args) (string, *refusal.Error) {
	t.Helper()
	pools, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: db.Readonly, WriterURL: db.Writer, MaxConnections: 4, MigrationRole: "migrator"})
	require.NoError(t, err)
	t.Cleanup(pools.Close)
	allow, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	guard := sqlguard.New(sqlguard.Policy{Read: allow, Write: allow})
	acquire := func(ctx context.Context) (*postgres.Session, error) { return pools.Writer().Acquire(ctx) }
	store := plan.NewStore(plan.Options{PlanTTL: time.Minute, ApprovalTTL: time.Minute, MaxOpen: 100})
	t.Cleanup(store.Close)
	core := writecore.New(writecore.Options{
		Acquire: func(ctx context.Context) (writecore.Session, error) { return acquire(ctx) },
		Store:   store, Audit: auditlog.NewLog(func(ctx context.Context) (auditlog.Session, error) { return acquire(ctx) }, slog.New(slog.DiscardHandler)),
		CanWrite: guard.CanWrite, Limits: writecore.Limits{ApprovalAbove: 100, HardMax: 10_000},
		StatementTimeout: 20 * time.Second, LockTimeout: 5 * time.Second, ExecuteWait: time.Second, PreviewLock: 20 * time.Second,
		MigrationRole: "migrator", ReadonlyRole: "readonly", ApprovalURL: func() string { return "http://127.0.0.1:1/" },
	})
	all := tools.All(tools.Deps{
		Text: guard, Rows: guard, ReadonlyCatalog: blind{pools.Readonly().Catalog()}, WriterCatalog: blind{pools.Writer().Catalog()},
		Reads: poolReads{pool: pools.Readonly(), guard: guard}, Writes: core,
		Limits: tools.Limits{QueryRows: 1000, QueryBytes: 1 << 20, QueryTimeout: 20 * time.Second, ApprovalAbove: 100, ExecuteWait: time.Second},
	})
	return func(tool string, a args) (string, *refusal.Error) {
		raw, err := json.Marshal(a)
		require.NoError(t, err)
		for _, x := range all {
			if x.Name != tool {
				continue
			}
			answer, err := x.Handle(t.Context(), tools.Call{Arguments: raw})
			if err == nil {
				return string(answer), nil
			}
			refused, ok := refusal.As(err)
			require.True(t, ok, "%s %s: %v", tool, raw, err)
			return refused.Message + refused.Hint, refused
		}
		t.Fatalf("no tool %s", tool)
		return "", nil
	}
}

// poolReads is the readonly side as the tools see it.
type poolReads struct {
	tools.Reads // Describe is not called here
	pool        *postgres.Pool
	guard       *sqlguard.Guard
}

// Query implements tools.Reads.
func (r poolReads) Query(ctx context.Context, st *sqlguard.Statement, l tools.QueryLimits) (*tools.QueryResult, error) {
	q, err := r.pool.Query(ctx, st, postgres.QueryLimits{Rows: l.Rows, Bytes: l.Bytes, Timeout: l.Timeout})
	if err != nil {
		return nil, err
	}
	return &tools.QueryResult{Columns: q.Columns, Types: q.Types, Rows: q.Rows, Truncated: q.Truncated}, nil
}

// Explain implements tools.Reads.
func (r poolReads) Explain(ctx context.Context, st *sqlguard.Statement, timeout time.Duration) (*tools.Explained, error) {
	e, err := r.pool.Explain(ctx, st, timeout, r.guard.CanRead)
	if err != nil {
		return nil, err
	}
	return &tools.Explained{Plan: e.Plan}, nil
}

// S12: the second witness (Postgres' own locks, read in the flush that runs the text) alone catches each
// attack that names a relation, in every tool that reads by an agent's text, before a row is computed.
// What names one only in a literal (query_to_xml and its kin) is tried in internal/postgres, see
// TestS12AttacksMeetBothWitnesses; migrations are a person's to decide, whatever they name.
func TestS12TheWitnessAlone(t *testing.T) {
	t.Parallel()
	db := world(t)
	// The roles may read what is hidden: rights are not what stops them here.
	db.Exec(t, "GRANT USAGE ON SCHEMA secret, mcp_audit TO readonly, writer; GRANT SELECT ON ALL TABLES IN SCHEMA secret, mcp_audit TO readonly, writer")
	call := blindTools(t, db)
	const word = "xyzzy-plugh"
	// The guard's own words for a hidden table are others.
	witnessed := func(tool string, a args) {
		t.Helper()
		answer, refused := call(tool, a)
		require.NotContains(t, answer, word)
		if refused == nil {
			t.Errorf("%s took %v: %s", tool, a, answer)
			return
		}
		require.Equal(t, refusal.TableNotAllowlisted, refused.Code, "%s %v: %s", tool, a, refused.Message)
		require.Regexp(t, "could not be recognised in its text|was not among the relations that were checked", refused.Message, "%s %v", tool, a)
	}
	// The tools work: what is refused below is refused for what it reaches.
	for _, tool := range []string{"query", "explain_plan"} {
		_, refused := call(tool, args{"statement": "SELECT i.id FROM app.item i, app.parents p", "reason": "t"})
		require.Nil(t, refused)
	}
	tried := 0
	for _, sql := range attacks(t, "s12_attacks.sql") {
		named := strings.Contains(strings.ToLower(sql), "hidden") || strings.Contains(sql, "mcp_audit.log")
		switch {
		case !named:
			continue // of pg_catalog; there the guard goes by names that nobody can make ambiguous
		case strings.Contains(sql, "_to_xml(") || strings.Contains(sql, "ts_stat("):
			continue // in a literal
		case strings.Contains(sql, "UESCAPE '!'.hidden"):
			continue // no SQL: UESCAPE stands behind the whole name's part, and Postgres refuses it too
		}
		tried++
		witnessed("query", args{"statement": sql, "reason": "t"})
		witnessed("explain_plan", args{"statement": sql, "reason": "t"})
	}
	require.Greater(t, tried, 20)

	for _, condition := range []string{
		"id = (SELECT id FROM secret.hidden)", "EXISTS (SELECT FROM secret.hidden WHERE word LIKE 'x%')", "name IN (SELECT word FROM secret.hidden)", "id IN (SELECT id FROM mcp_audit.log)",
		"name = ANY (ARRAY(SELECT word FROM secret.hidden))", "(SELECT count(*) FROM ONLY secret.hidden) = 1", `id IN (WITH x AS (SELECT id FROM "secret"."hidden") SELECT id FROM x)`, "name < (SELECT max(word) FROM secret.hidden)",
		"EXISTS (SELECT FROM app.parent p JOIN LATERAL (SELECT FROM secret.hidden h WHERE h.id = p.id) x ON true)", "id IN (SELECT 1 UNION SELECT id FROM secret.hidden)",
		"CASE WHEN EXISTS (SELECT FROM secret.hidden) THEN id = 1 ELSE id = 2 END", "false AND EXISTS (SELECT FROM secret.hidden)",
	} {
		witnessed("delete_rows", args{"table": "app.item", "where": condition, "reason": "t"})
		witnessed("update_rows", args{"table": "app.item", "set": args{"qty": 1}, "where": condition, "reason": "t"})
	}
	for _, expression := range []string{
		"(SELECT word FROM secret.hidden)", "name || (SELECT max(word) FROM secret.hidden)", "CASE WHEN EXISTS (SELECT FROM secret.hidden) THEN 'a' ELSE 'b' END",
		"(SELECT h.word FROM secret.hidden h WHERE h.id = item.id)", `coalesce((SELECT word FROM "secret"."hidden"), 'x')`,
	} {
		witnessed("update_rows", args{"table": "app.item", "set": args{}, "set_expressions": args{"name": expression}, "where": "id = 1", "reason": "t"})
	}
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status <> 'failed'"))
	_, refused := call("delete_rows", args{"table": "app.item", "where": "id IN (SELECT id FROM app.parent WHERE id < 3)", "reason": "t"})
	require.Nil(t, refused)
}
