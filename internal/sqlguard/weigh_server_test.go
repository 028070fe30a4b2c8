package sqlguard

import (
	"context"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// TestGrowthIsCheap takes, of everything that makes Postgres copy, the deepest text that is let
// through, and has a real server parse and plan it. Two levels more of some took gigabytes.
func TestGrowthIsCheap(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `
		CREATE TABLE customers (id bigint NOT NULL, tenant_id int, name text, email text, status text, active bool);
		CREATE TABLE orders (id bigint, customer_id bigint, status text);
		CREATE VIEW doubling AS `+strings.Replace(doubling, "a + a AS a", "a + a AS id", 1))
	cat := growingCatalog()
	for name, text := range growing {
		deepest := 0
		for n := 1; n <= 40; n++ {
			if _, err := openGuard().Read(context.Background(), cat, text(n), nil); err != nil {
				break
			}
			deepest = n
		}
		require.Less(t, deepest, 40, name)
		took, peak := explain(t, db, text(deepest))
		require.Less(t, peak, 200, "%s, %d levels: MB of the backend", name, deepest)
		require.Less(t, took, 30*time.Second, "%s, %d levels", name, deepest)
	}
}

// TestWidthIsCheap is the same for what grows with the width of a text.
func TestWidthIsCheap(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `CREATE TABLE customers (id bigint NOT NULL, tenant_id int)`)
	cat := newFake()
	for name, text := range wide {
		widest := sort.Search(300, func(n int) bool {
			_, err := openGuard().Read(context.Background(), cat, text(n), nil)
			return err != nil
		}) - 1
		require.Less(t, widest, 298, name)
		took, peak := explain(t, db, text(widest))
		require.Less(t, peak, 200, "%s, %d wide: MB of the backend", name, widest)
		require.Less(t, took, 30*time.Second, "%s, %d wide", name, widest)
	}
}

// explain plans a text in a backend of its own and gives the time and the most memory it had, in MB.
func explain(t *testing.T, db *pgtemp.DB, text string) (time.Duration, int) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, db.Super)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	began := time.Now()
	_, err = conn.Exec(ctx, "EXPLAIN "+text)
	took := time.Since(began)
	require.NoError(t, err, text)
	var status string
	require.NoError(t, conn.QueryRow(ctx, "SELECT pg_read_file('/proc/self/status')").Scan(&status))
	_, after, ok := strings.Cut(status, "VmHWM:")
	require.True(t, ok)
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return took, kilobytes / 1024
}
