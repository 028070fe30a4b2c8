//go:build bench

package bench_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// manyTables makes 3,000 tables of 40 columns in two schemas; it commits, so it goes alone.
const manySchemas = `CREATE SCHEMA app; CREATE SCHEMA crm; GRANT USAGE ON SCHEMA app, crm TO readonly, writer;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO readonly, writer`

const manyTables = `DO $$ DECLARE cols text; BEGIN
  SELECT string_agg(format('c%s %s', i, (ARRAY['int NOT NULL DEFAULT 0', 'text', 'numeric(12,2)', 'timestamptz'])[1 + i % 4]), ', ') INTO cols FROM generate_series(1, 39) i;
  FOR i IN 1..3000 LOOP
    EXECUTE format('CREATE TABLE %s (id bigint PRIMARY KEY, %s)', CASE WHEN i % 10 = 0 THEN 'crm.client_' ELSE 'app.orders_of_' END || i, cols);
    IF i % 100 = 0 THEN COMMIT; END IF; -- else the locks do not fit
  END LOOP; END $$`

// describing is the readonly side of the tools, and nothing else of it.
type describing struct {
	tools.Reads
	pool  *postgres.Pool
	guard *sqlguard.Guard
}

func (r describing) Describe(ctx context.Context, req tools.DescribeRequest) ([]tools.Described, error) {
	list, err := r.pool.Describe(ctx, postgres.DescribeRequest{
		Schema: req.Schema, Table: req.Table, OID: req.OID, Like: req.Like, Full: req.Full, Children: req.Children, Budget: req.Budget,
		MayRead: r.guard.CanRead, MayWrite: r.guard.CanWrite,
	})
	out := make([]tools.Described, len(list))
	for i, d := range list {
		out[i] = tools.Described{Schema: d.Schema, Table: d.Table, Entry: d.Entry, Summary: d.Summary}
	}
	return out, err
}

// TestBenchDescribe prints what describe_schema takes on 3,000 tables of 40 columns: the promise is 2 s
// and 60 kB.
func TestBenchDescribe(t *testing.T) {
	db := pgtemp.New(t)
	started := time.Now()
	db.Exec(t, manySchemas)
	db.Exec(t, manyTables)
	t.Logf("making 3,000 tables of 40 columns: %s", time.Since(started).Round(time.Millisecond))
	pools, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: db.Readonly, WriterURL: db.Writer, MaxConnections: 2})
	require.NoError(t, err)
	t.Cleanup(pools.Close)
	allow, err := sqlguard.ParseWriteAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	guard := sqlguard.New(sqlguard.Policy{Write: allow})
	describe := tools.All(tools.Deps{
		Text: guard, Rows: guard, ReadonlyCatalog: pools.Readonly().Catalog(), WriterCatalog: pools.Writer().Catalog(),
		Reads: describing{pool: pools.Readonly(), guard: guard},
	})[0]
	for _, arguments := range []string{
		`{}`, `{}`, `{"detail":"summary"}`, `{"schema":"app"}`, `{"schema":"crm","detail":"summary"}`,
		`{"schema":"app","table":"orders_of_29*"}`, `{"table":"app.orders_of_299*","detail":"full"}`, `{"table":"app.orders_of_7"}`,
	} {
		var out json.RawMessage
		best := time.Hour
		for range rounds() {
			from := time.Now()
			out, err = describe.Handle(t.Context(), tools.Call{Arguments: json.RawMessage(arguments)})
			require.NoError(t, err)
			best = min(best, time.Since(from))
		}
		var d struct {
			Tables    []json.RawMessage
			Truncated bool
			Hint      string
		}
		require.NoError(t, json.Unmarshal(out, &d))
		t.Logf("%-45s %8s  %6d bytes  %4d tables  truncated %-5t %.200s", arguments, best.Round(100*time.Microsecond), len(out), len(d.Tables), d.Truncated, d.Hint)
		require.Less(t, len(out), 60_000)
	}
}
