package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// TestSeamPreviewAndExecuteInPipelines proves what every write stands on: a preview is one flush,
// an execute two; an error belongs to the step at its position and skips the rest of its segment
// and nothing else; COMMIT never happens behind an error; the ROLLBACK in its own segment always
// runs and leaves the connection idle.
func TestSeamPreviewAndExecuteInPipelines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `
		CREATE TABLE seam (id int PRIMARY KEY, v int NOT NULL CHECK (v >= 0), parent int REFERENCES seam DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO seam SELECT g, g FROM generate_series(1, 100) g;
		GRANT SELECT, INSERT, UPDATE, DELETE ON seam TO writer`)
	values := func() string { return b.PG.Query(t, "SELECT sum(v)::text FROM seam")[0][0] }
	untouched := values()

	rollback := seg("ROLLBACK", "SELECT pg_advisory_unlock_all()")
	good := func() wire.Segment {
		return seg(
			"BEGIN ISOLATION LEVEL REPEATABLE READ",
			"SELECT set_config('statement_timeout', '5000', true), set_config('lock_timeout', '1000', true)",
			"SELECT count(*) FROM (SELECT 1 FROM seam WHERE id <= 8 LIMIT 11 OFFSET 0) s",
			"WITH sw_m AS (UPDATE seam SET v = v + 1 WHERE id <= 8\n RETURNING id, v) SELECT * FROM sw_m",
			"SET CONSTRAINTS ALL IMMEDIATE",
			"SELECT 'effects'",
		)
	}
	const begin, probe, statement = 0, 2, 3

	t.Run("preview in one flush", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), good(), rollback)
		require.NoError(t, err)
		require.Len(t, replies, 2)
		require.Nil(t, replies[0].Err)
		require.Len(t, replies[0].Results, 6)
		require.Equal(t, byte('T'), replies[0].TxStatus)
		require.Len(t, replies[0].Results[statement].Rows, 8)
		require.Equal(t, "SELECT 8", replies[0].Results[statement].Tag)
		require.Nil(t, replies[1].Err)
		require.Equal(t, "ROLLBACK", replies[1].Results[0].Tag)
		require.Equal(t, byte('I'), replies[1].TxStatus)
		require.Equal(t, untouched, values())
	})

	for _, c := range []struct {
		name  string
		step  int
		sql   string
		state string
		begun bool // the transaction had begun
	}{
		{"at BEGIN", begin, "BEGIN ISOLATION LEVEL NOSUCH", "42601", false},
		{"at the settings", 1, "SELECT set_config('statement_timeout', 'soon', true)", "22023", true},
		{"parse error at the probe", probe, "SELEC 1", "42601", true},
		{"cap assertion at the probe", probe, "SELECT ('hard_max ' || count(*))::int FROM seam", "22P02", true},
		{"unknown column at the statement", statement, "WITH sw_m AS (UPDATE seam SET nope = 1\n RETURNING 1) SELECT * FROM sw_m", "42703", true},
		{"runtime error after rows", statement, "SELECT 100 / (50 - id) FROM seam ORDER BY id", "22012", true},
		{"constraint at the statement", statement, "UPDATE seam SET v = -v", "23514", true},
		{"bare COMMIT inside the grammar", statement, "WITH sw_m AS (COMMIT\n) SELECT * FROM sw_m", "42601", true},
		{"two statements", statement, "SELECT 1; COMMIT", "42601", true},
		{"deferred constraint made immediate", 4, "SET CONSTRAINTS ALL IMMEDIATE", "23503", true},
	} {
		t.Run("error "+c.name, func(t *testing.T) {
			s := acquire(t, b.Writer())
			segment := good()
			segment[c.step].SQL = c.sql
			if c.state == "23503" {
				segment[statement].SQL = "UPDATE seam SET parent = 999 WHERE id = 1"
			}
			replies, err := s.Flush(t.Context(), segment, rollback)
			if c.begun {
				require.NoError(t, err)
			} else {
				require.True(t, refusal.Is(err, refusal.DatabaseUnavailable), "%v", err)
			}
			require.NotNil(t, replies[0].Err)
			require.Equal(t, c.state, replies[0].Err.SQLState)
			require.Len(t, replies[0].Results, c.step, "the error belongs to step len(Results)")
			if c.begun {
				require.Equal(t, byte('E'), replies[0].TxStatus)
			} else {
				require.Equal(t, byte('I'), replies[0].TxStatus)
			}
			require.Nil(t, replies[1].Err)
			require.Equal(t, byte('I'), replies[1].TxStatus)
			again, err := s.Flush(t.Context(), seg("SELECT 1"))
			require.NoError(t, err)
			require.Equal(t, "1", string(again[0].Results[0].Rows[0][0]))
			require.Equal(t, untouched, values())
		})
	}

	t.Run("ROLLBACK in the same segment is skipped by an error", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), seg("BEGIN", "SELECT 1/0", "ROLLBACK"))
		require.NoError(t, err)
		require.Equal(t, byte('E'), replies[0].TxStatus)
	})

	execute := func() wire.Segment {
		first := good()
		first[0].SQL = "BEGIN ISOLATION LEVEL READ COMMITTED"
		return first
	}
	finish := func(audit string) wire.Segment {
		return seg("SAVEPOINT sw_audit", audit, "RELEASE SAVEPOINT sw_audit", "COMMIT")
	}

	t.Run("COMMIT behind a failing statement is skipped", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), execute())
		require.NoError(t, err)
		require.Equal(t, byte('T'), replies[0].TxStatus)
		replies, err = s.Flush(t.Context(), finish("INSERT INTO no_such_audit VALUES (1)"))
		require.NoError(t, err)
		require.Equal(t, "42P01", replies[0].Err.SQLState)
		require.Len(t, replies[0].Results, 1)
		require.Equal(t, byte('E'), replies[0].TxStatus, "no ghost commit")
		s.Release()
		require.Equal(t, untouched, values())
	})

	t.Run("COMMIT of a failed transaction answers ROLLBACK", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), append(execute(), seg("SELECT 1/0")...), seg("COMMIT"))
		require.NoError(t, err)
		require.Equal(t, byte('E'), replies[0].TxStatus)
		require.Nil(t, replies[1].Err)
		require.Equal(t, "ROLLBACK", replies[1].Results[0].Tag)
		require.Equal(t, untouched, values())
	})

	t.Run("deferred constraint fails COMMIT itself", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), seg("BEGIN", "UPDATE seam SET parent = 999 WHERE id = 1", "COMMIT"))
		require.NoError(t, err)
		require.Equal(t, "23503", replies[0].Err.SQLState)
		require.Len(t, replies[0].Results, 2)
		require.Equal(t, byte('I'), replies[0].TxStatus)
		require.Equal(t, untouched, values())
	})

	t.Run("cancel in the middle of the statement", func(t *testing.T) {
		s := acquire(t, b.Writer())
		segment := good()
		segment[statement].SQL = "WITH sw_m AS (UPDATE seam SET v = v + 1 RETURNING 1) SELECT pg_sleep(30) FROM sw_m"
		segment[1].SQL = "SELECT set_config('statement_timeout', '60000', true)"
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		replies, err := s.Flush(ctx, segment, rollback)
		require.NoError(t, err)
		require.Less(t, time.Since(start), 30*time.Second)
		require.Error(t, ctx.Err())
		require.Equal(t, "57014", replies[0].Err.SQLState)
		require.Equal(t, byte('E'), replies[0].TxStatus)
		require.Equal(t, "ROLLBACK", replies[1].Results[0].Tag)
		require.Equal(t, byte('I'), replies[1].TxStatus)
		again, err := s.Flush(t.Context(), seg("SELECT pg_backend_pid()"))
		require.NoError(t, err, "the connection is reusable")
		require.Nil(t, again[0].Err)
		require.Equal(t, untouched, values())
	})

	t.Run("statement_timeout of the same flush is in force", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), seg("BEGIN", "SELECT set_config('statement_timeout', '100', true)", "SELECT pg_sleep(30)"), rollback)
		require.NoError(t, err)
		require.Equal(t, "57014", replies[0].Err.SQLState)
		require.Len(t, replies[0].Results, 2)
		require.Equal(t, byte('I'), replies[1].TxStatus)
	})

	t.Run("a backend that dies mid-flush is a lost connection", func(t *testing.T) {
		s := acquire(t, b.Writer())
		pid, err := s.Flush(t.Context(), seg("SELECT pg_backend_pid()"))
		require.NoError(t, err)
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			p := string(pid[0].Results[0].Rows[0][0])
			for range 500 {
				busy := b.PG.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int AND query LIKE '%pg_sleep(31)%'", p)
				if busy[0][0] == "1" {
					b.PG.Query(t, "SELECT pg_terminate_backend($1::int)", p)
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		replies, err := s.Flush(t.Context(), seg("BEGIN", "UPDATE seam SET v = v + 1", "SELECT pg_sleep(31)"), rollback)
		<-killed
		require.ErrorIs(t, err, wire.ErrConnectionLost)
		require.Len(t, replies, 1, "what had arrived")
		require.Len(t, replies[0].Results, 2)
		require.True(t, replies[0].Err.Fatal)
		require.Zero(t, replies[0].TxStatus)
		_, err = s.Flush(t.Context(), seg("SELECT 1"))
		require.ErrorIs(t, err, wire.ErrConnectionLost)
		s.Release()
		require.Equal(t, untouched, values())
	})

	t.Run("an ended context sends nothing", func(t *testing.T) {
		s := acquire(t, b.Writer())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		replies, err := s.Flush(ctx, seg("SELECT 1"))
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, errors.Is(err, wire.ErrConnectionLost))
		require.Empty(t, replies)
	})

	// Last: it changes the table.
	t.Run("execute in two flushes commits", func(t *testing.T) {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), execute())
		require.NoError(t, err)
		require.Nil(t, replies[0].Err)
		require.Equal(t, byte('T'), replies[0].TxStatus)
		require.Equal(t, untouched, values(), "not visible before COMMIT")
		replies, err = s.Flush(t.Context(), finish("SELECT 'audit'"))
		require.NoError(t, err)
		require.Nil(t, replies[0].Err)
		require.Equal(t, "COMMIT", replies[0].Results[3].Tag)
		require.Equal(t, byte('I'), replies[0].TxStatus)
		require.NotEqual(t, untouched, values())
	})
}
