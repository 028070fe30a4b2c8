package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A plan names no table that the allowlist hides, nor its columns, indexes or values; what may be read is
// named, and a partition is part of its table.
func TestExplainHidesWhatIsBelowViews(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, `CREATE TABLE vault (id int PRIMARY KEY, password text); CREATE INDEX by_password ON vault (password); CREATE TABLE shown (id int PRIMARY KEY, note text);
		INSERT INTO vault SELECT g, 'p' || g FROM generate_series(1, 5000) g; INSERT INTO shown SELECT g, 'n' || g FROM generate_series(1, 5000) g; ANALYZE vault; ANALYZE shown;
		CREATE VIEW peek AS SELECT id FROM vault WHERE password = 'hunter2'; CREATE VIEW wide AS SELECT v.id, s.note FROM vault v JOIN shown s USING (id) WHERE v.password > 'hunter2';
		CREATE TABLE log (k int) PARTITION BY LIST (k); CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1); CREATE TABLE log_2 PARTITION OF log FOR VALUES IN (2) PARTITION BY LIST (k); CREATE TABLE log_2a PARTITION OF log_2 FOR VALUES IN (2);
		GRANT SELECT ON peek, wide, shown, log TO readonly`)
	only := func(_, name string) bool { return name != "vault" && name[:3] != "log" || name == "log" }
	for _, sql := range []string{
		"SELECT * FROM peek", "SELECT * FROM wide", "SELECT s.note FROM peek p JOIN shown s ON s.id = p.id WHERE p.id > 3", "SELECT (SELECT max(id) FROM peek)", "WITH x AS MATERIALIZED (SELECT * FROM peek) SELECT * FROM x ORDER BY id",
	} {
		e, err := b.Readonly().Explain(t.Context(), guarded(t, b.Readonly(), sql), 0, only)
		require.NoError(t, err, sql)
		require.True(t, json.Valid(e.Plan))
		for _, hidden := range []string{"vault", "password", "hunter2", "by_"} {
			require.NotContains(t, string(e.Plan), hidden, sql)
		}
		require.Contains(t, string(e.Plan), "(hidden)", sql)
		require.Contains(t, string(e.Plan), `"Plan Rows"`)
		seen := map[string]bool{}
		for _, s := range e.Scanned {
			seen[s.Name] = s.Hidden
		}
		require.True(t, seen["vault"], sql)
		require.False(t, seen["shown"], sql)
	}
	e, err := b.Readonly().Explain(t.Context(), guarded(t, b.Readonly(), "SELECT note FROM shown WHERE note > 'b'"), 0, only)
	require.NoError(t, err)
	require.Contains(t, string(e.Plan), "(note > 'b'::text)")
	require.Len(t, e.Scanned, 1)
	require.Equal(t, int64(5000), *e.Scanned[0].Rows)
	require.Greater(t, e.Scanned[0].Bytes, int64(100_000))

	e, err = b.Readonly().Explain(t.Context(), guarded(t, b.Readonly(), "SELECT * FROM log"), 0, only)
	require.NoError(t, err)
	require.Contains(t, string(e.Plan), "log_2a")
	roots := map[string]string{}
	for _, s := range e.Scanned {
		require.False(t, s.Hidden, s.Name)
		roots[s.Name] = s.RootSchema + "." + s.Root
		require.Nil(t, s.Rows)
	}
	require.Equal(t, map[string]string{"log": ".", "log_1": "public.log", "log_2": "public.log", "log_2a": "public.log"}, roots)
}
