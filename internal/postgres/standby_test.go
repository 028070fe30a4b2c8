package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// A read replica as the readonly connection: reads work, and where replay has to end one, it is tried again.
func TestReadsOfAStandby(t *testing.T) {
	t.Parallel()
	primary := pgtemp.New(t, pgtemp.OwnCluster(true))
	primary.Exec(t, "CREATE TABLE s (id int); INSERT INTO s SELECT generate_series(1, 100); GRANT SELECT ON s TO readonly")
	standby := primary.Standby(t)
	// One statement at a time: ALTER SYSTEM runs in no transaction.
	standby.Exec(t, "ALTER SYSTEM SET max_standby_streaming_delay = '50ms'")
	standby.Exec(t, "SELECT pg_reload_conf()")
	standby.CaughtUp(t, primary)
	db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: standby.Readonly, WriterURL: primary.Writer, MaxConnections: 2})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Check(t.Context()))
	b := &bundle{DB: db, PG: standby}
	require.Equal(t, `[["100"]]`, asJSON(t, mustQuery(t, b, "SELECT count(*) FROM s")))

	// The primary takes a lock that no reader of the standby may stand in the way of, while a query runs there.
	attempts := func() string {
		return standby.Query(t, "SELECT confl_lock FROM pg_stat_database_conflicts WHERE datname = current_database()")[0][0]
	}
	require.Equal(t, "0", attempts())
	var locking sync.WaitGroup
	locking.Go(func() {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) { // a server tells nobody what it runs
			if standby.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'FETCH%'")[0][0] != "0" {
				break
			}
			if time.Now().After(deadline) {
				t.Error("the query never ran")
				return
			}
		}
		primary.Exec(t, "BEGIN; LOCK TABLE s IN ACCESS EXCLUSIVE MODE; COMMIT")
	})
	got, err := query(t, b, postgres.QueryLimits{Timeout: 30 * time.Second}, "SELECT count(*) FROM s, pg_sleep(3)")
	locking.Wait()
	require.NoError(t, err)
	require.Equal(t, `[["100"]]`, asJSON(t, got))
	// Counted are the signals, and a standby sends one every 5 ms until the transaction is gone: one or more.
	require.Eventually(t, func() bool { return attempts() != "0" }, 20*time.Second, 50*time.Millisecond, "the query was never in the way")
}

// A writer's connection string that leads to a standby is refused call by call, without an end of the start,
// and the pool keeps no connection to it.
func TestStandbyIsNoWriter(t *testing.T) {
	t.Parallel()
	primary := pgtemp.New(t, pgtemp.OwnCluster(true))
	standby := primary.Standby(t)
	db, err := postgres.Open(t.Context(), postgres.Options{ReadonlyURL: standby.Readonly, WriterURL: standby.Writer})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	err = db.Check(t.Context())
	require.True(t, refusal.Is(err, refusal.DatabaseUnavailable), "%v", err)
	require.False(t, postgres.IsRoleError(err))
	require.ErrorContains(t, err, "leads to a standby")
	acquire(t, db.Readonly())
	_, err = db.Writer().Acquire(t.Context())
	require.ErrorContains(t, err, fmt.Sprintf("database.writerConnectionString leads to a standby server at 127.0.0.1:%d", standby.Cluster.Port()))
	standby.Promote(t)
	acquire(t, db.Writer())
}
