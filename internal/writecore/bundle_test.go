package writecore_test

import (
	"context"
	"encoding/json"
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
		Acquire:          func(ctx context.Context) (writecore.Session, error) { return b.pools.Writer().Acquire(ctx) },
		CanWrite:         b.guard.CanWrite,
		Limits:           writecore.Limits{ApprovalAbove: 100, HardMax: 10_000},
		StatementTimeout: 10 * time.Second, LockTimeout: time.Second, ExecuteWait: 10 * time.Second, PreviewLock: 2 * time.Second,
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

func (b *bundle) delete(table, where string, params ...string) (writecore.Reply, error) {
	b.t.Helper()
	st, err := b.guard.Delete(b.ctx, b.pools.Writer().Catalog(), sqlguard.DeleteSpec{Table: table, Where: where, Params: raws(params...)})
	require.NoError(b.t, err)
	return b.core.Preview(b.ctx, writecore.Request{Tool: "delete_rows", Reason: "test", Statement: st})
}

func (b *bundle) update(table string, set []sqlguard.SetValue, exprs []sqlguard.SetExpr, where string, params ...string) (writecore.Reply, error) {
	b.t.Helper()
	st, err := b.guard.Update(b.ctx, b.pools.Writer().Catalog(), sqlguard.UpdateSpec{Table: table, Set: set, SetExpressions: exprs, Where: where, Params: raws(params...)})
	require.NoError(b.t, err)
	return b.core.Preview(b.ctx, writecore.Request{Tool: "update_rows", Reason: "test", Statement: st})
}

func (b *bundle) insert(table string, columns []string, rows ...[]json.RawMessage) (writecore.Reply, error) {
	b.t.Helper()
	st, err := b.guard.Insert(b.ctx, b.pools.Writer().Catalog(), sqlguard.InsertSpec{Table: table, Columns: columns, Rows: rows})
	require.NoError(b.t, err)
	return b.core.Preview(b.ctx, writecore.Request{Tool: "insert_rows", Reason: "test", Statement: st})
}

func (b *bundle) migrate(text string) (writecore.Reply, error) {
	b.t.Helper()
	st, err := b.guard.Migration(b.ctx, b.pools.Writer().Catalog(), text)
	require.NoError(b.t, err)
	return b.core.Preview(b.ctx, writecore.Request{Tool: "run_migration", Reason: "test", Statement: st})
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
