package writecore_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// bundle is a core on a real, fresh database.
type bundle struct {
	t     *testing.T
	ctx   context.Context
	db    *pgtemp.DB
	pools *postgres.DB
	guard *sqlguard.Guard
	store *plan.Store
	core  *writecore.TwoPhaseWrite
	log   *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// setup makes the schema app from sql (as superuser, owned by migrator) and a core that may write all of it.
func setup(t *testing.T, sql string, change ...func(*writecore.Options)) *bundle {
	t.Helper()
	return setupOn(t, pgtemp.New(t), sql, change...)
}

func setupOn(t *testing.T, db *pgtemp.DB, sql string, change ...func(*writecore.Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, ctx: t.Context(), db: db, log: &logBuffer{}}
	db.Exec(t, `CREATE SCHEMA IF NOT EXISTS app AUTHORIZATION migrator; GRANT USAGE ON SCHEMA app TO readonly, writer;
		ALTER DEFAULT PRIVILEGES FOR ROLE migrator IN SCHEMA app GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO writer;
		ALTER DEFAULT PRIVILEGES FOR ROLE migrator IN SCHEMA app GRANT SELECT ON TABLES TO readonly;
		ALTER DEFAULT PRIVILEGES FOR ROLE migrator IN SCHEMA app GRANT USAGE ON SEQUENCES TO writer;
		SET ROLE migrator; SET search_path = app;`+sql)
	logger := slog.New(slog.NewTextHandler(b.log, nil))
	var err error
	b.pools, err = postgres.Open(b.ctx, postgres.Options{ReadonlyURL: db.Readonly, WriterURL: db.Writer, MaxConnections: 10, MigrationRole: "migrator", Logger: logger})
	require.NoError(t, err)
	t.Cleanup(b.pools.Close)
	allow, err := sqlguard.ParseWriteAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	b.guard = sqlguard.New(sqlguard.Policy{Write: allow})
	o := writecore.Options{
		Acquire:  func(ctx context.Context) (writecore.Session, error) { return b.pools.Writer().Acquire(ctx) },
		CanWrite: b.guard.CanWrite,
		Limits:   writecore.Limits{ApprovalAbove: 100, HardMax: 10_000},
		// Long enough for what a test commits while another call waits for it; who wants LOCK_TIMEOUT sets its own.
		StatementTimeout: 20 * time.Second, LockTimeout: 8 * time.Second, ExecuteWait: 10 * time.Second, PreviewLock: 2 * time.Second, MaxPreviewBytes: 64 << 20, RehearsalsPerMinute: 1_000,
		MigrationRole: "migrator", ReadonlyRole: "readonly",
		ApprovalURL: func() string { return "http://127.0.0.1:1/" },
		CallerID:    "test", Logger: logger,
	}
	o.Store = plan.NewStore(plan.Options{PlanTTL: time.Minute, ApprovalTTL: time.Minute, MaxOpen: 50})
	for _, f := range change {
		f(&o)
	}
	if o.Audit == nil {
		o.Audit = audit.NewLog(func(ctx context.Context) (audit.Session, error) { return b.pools.Writer().Acquire(ctx) }, logger)
	}
	b.store = o.Store
	t.Cleanup(b.store.Close)
	b.core = writecore.New(o)
	return b
}

func raws(values ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(values))
	for i, v := range values {
		out[i] = json.RawMessage(v)
	}
	return out
}

// freshly is the writer's catalog, asked past its cache.
type freshly struct{ sqlguard.Catalog }

func (f freshly) Lookup(ctx context.Context, q sqlguard.Lookup, _ bool) (*sqlguard.Facts, error) {
	return f.Catalog.Lookup(ctx, q, true)
}

// preview guards and previews, and as the tools do it once more with fresh facts where they were stale.
func (b *bundle) preview(tool string, guard func(sqlguard.Catalog) (*sqlguard.Statement, error)) (writecore.Reply, error) {
	b.t.Helper()
	cat := b.pools.Writer().Catalog()
	st, err := guard(cat)
	require.NoError(b.t, err)
	r, err := b.core.Preview(b.ctx, writecore.Request{Tool: tool, Reason: "test", Statement: st})
	if errors.Is(err, wire.ErrStaleCatalog) {
		st, err = guard(freshly{cat})
		require.NoError(b.t, err)
		r, err = b.core.Preview(b.ctx, writecore.Request{Tool: tool, Reason: "test", Statement: st, Last: true})
	}
	return r, err
}

func (b *bundle) delete(table, where string, params ...string) (writecore.Reply, error) {
	b.t.Helper()
	return b.preview("delete_rows", func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
		return b.guard.Delete(b.ctx, cat, sqlguard.DeleteSpec{Table: table, Where: where, Params: raws(params...)})
	})
}

func (b *bundle) update(table string, set []sqlguard.SetValue, exprs []sqlguard.SetExpr, where string, params ...string) (writecore.Reply, error) {
	b.t.Helper()
	return b.preview("update_rows", func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
		return b.guard.Update(b.ctx, cat, sqlguard.UpdateSpec{Table: table, Set: set, SetExpressions: exprs, Where: where, Params: raws(params...)})
	})
}

func (b *bundle) insert(table string, columns []string, rows ...[]json.RawMessage) (writecore.Reply, error) {
	b.t.Helper()
	return b.preview("insert_rows", func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
		return b.guard.Insert(b.ctx, cat, sqlguard.InsertSpec{Table: table, Columns: columns, Rows: rows})
	})
}

func (b *bundle) migrate(text string) (writecore.Reply, error) {
	b.t.Helper()
	return b.preview("run_migration", func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
		return b.guard.Migration(b.ctx, cat, text)
	})
}

func (b *bundle) execute(r writecore.Reply) (writecore.Outcome, error) {
	return b.core.Execute(b.ctx, writecore.ExecuteRequest{Token: r.Plan.Token, Echo: plan.Echo{Payload: &r.Plan.Payload}})
}

func (b *bundle) approve(r writecore.Reply) {
	b.t.Helper()
	_, _, err := b.core.Approve(b.ctx, r.Plan.Token, "tester")
	require.NoError(b.t, err)
}

// one is the single value of a superuser's query.
func (b *bundle) one(sql string, args ...any) string {
	b.t.Helper()
	rows := b.db.Query(b.t, sql, args...)
	require.Len(b.t, rows, 1)
	require.Len(b.t, rows[0], 1)
	return rows[0][0]
}

func requireCode(t *testing.T, err error, code refusal.Code) (message string) {
	t.Helper()
	r, ok := refusal.As(err)
	require.True(t, ok, "want the refusal %s, got %v", code, err)
	require.Equal(t, code, r.Code, r.Message)
	require.NotEmpty(t, r.Hint)
	return r.Message
}

func str(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
