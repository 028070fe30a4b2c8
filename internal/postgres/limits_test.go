package postgres_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// S21: of wide rows Postgres makes about as many as are sent, not as many as the row bound allows, and
// the query is stopped in the middle of them without losing its connection.
func TestS21WideRowsStopEarly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `CREATE TABLE wide AS SELECT 'x'::text AS word FROM generate_series(1, 5000); GRANT SELECT ON wide TO readonly`)
	mustQuery(t, b, "SELECT 1 FROM wide LIMIT 1")
	before := backendPID(t, b)
	for range 3 {
		r, err := query(t, b, postgres.QueryLimits{Timeout: time.Minute}, "SELECT repeat(word, 1000000) FROM wide")
		require.NoError(t, err)
		require.True(t, r.Truncated)
		require.Len(t, r.Rows, 15, "of 64 kB, in 1 MiB")
	}
	require.Equal(t, before, backendPID(t, b), "the connection lives")
	// Few bytes are kept of each and many are sent: that is bounded too.
	r, err := query(t, b, postgres.QueryLimits{Timeout: time.Minute}, "SELECT repeat(word, 30000000) FROM wide")
	require.NoError(t, err)
	require.True(t, r.Truncated)
	require.Less(t, len(r.Rows), 4)
	require.NotEmpty(t, r.Rows)

	b.Close() // a backend's statistics are complete once it has ended
	read := 0
	require.Eventually(t, func() bool {
		var err error
		read, err = strconv.Atoi(b.PG.Query(t, "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'wide'")[0][0])
		require.NoError(t, err)
		return read > 45
	}, 20*time.Second, 20*time.Millisecond)
	require.Less(t, read, 4*256, "rows that Postgres made, where 4 × 1001 were asked for")
}

// backendPID is the process behind the readonly pool's connection. Calls one after the other use one.
func backendPID(t *testing.T, b *bundle) string {
	t.Helper()
	s := acquire(t, b.Readonly())
	defer s.Release()
	replies, err := s.Flush(t.Context(), seg("SELECT pg_backend_pid()"))
	require.NoError(t, err)
	return string(replies[0].Results[0].Rows[0][0])
}

// A cancel that arrives while Postgres sends rows is one that it drops. It is asked again: the long
// statement behind does not run on, and the connection lives.
func TestCancelBetweenStatements(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := acquire(t, b.Readonly())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := 0
	replies, err := s.FlushRows(ctx, []wire.Segment{
		seg("BEGIN", "DECLARE c CURSOR FOR SELECT repeat('x', 1000000) FROM generate_series(1, 300)", "FETCH ALL FROM c", "SELECT pg_sleep(60)"),
		seg("ROLLBACK"),
	}, func() {
		if rows++; rows == 1 {
			cancel()
		}
	})
	require.NoError(t, err)
	require.NotNil(t, replies[0].Err)
	require.Equal(t, "57014", replies[0].Err.SQLState)
	require.Nil(t, replies[1].Err)
	require.Equal(t, byte('I'), replies[1].TxStatus)
	again, err := s.Flush(t.Context(), seg("SELECT 1"))
	require.NoError(t, err)
	require.Nil(t, again[0].Err, "no cancel is left to hit the next call")
}

// A statement that gives its rows slowly is stopped by the timeout of all of it, not of each FETCH.
func TestTimeoutIsOfTheWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// Each FETCH sleeps once.
	_, err := query(t, b, postgres.QueryLimits{Timeout: time.Second},
		"SELECT pg_sleep(CASE WHEN g IN (1, 2, 5, 17, 65, 257) THEN 0.8 ELSE 0 END) FROM generate_series(1, 1001) g")
	require.ErrorContains(t, err, "query.statementTimeoutMs")
}
