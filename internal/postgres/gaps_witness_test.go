package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const attackedSchema = `
	CREATE SCHEMA app; CREATE SCHEMA secret; GRANT USAGE ON SCHEMA app, secret TO readonly, writer;
	CREATE TABLE app.t (id int PRIMARY KEY, name text, n numeric, j jsonb, x xml, parent int REFERENCES app.t);
	CREATE TABLE secret.s (id int, password text); INSERT INTO secret.s VALUES (1, 'HUSH');
	INSERT INTO app.t VALUES (1, 'a', 1, '{}', '<a/>', null);
	CREATE VIEW app.v AS SELECT id, name FROM app.t;
	CREATE VIEW secret.sv AS SELECT * FROM secret.s;
	CREATE VIEW app.over_secret AS SELECT id FROM secret.s;
	CREATE MATERIALIZED VIEW secret.sm AS SELECT * FROM secret.s;
	CREATE FUNCTION app.vol() RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION app.peek() RETURNS text STABLE LANGUAGE sql AS 'SELECT password FROM secret.s';
	GRANT ALL ON ALL TABLES IN SCHEMA app, secret TO readonly, writer`

// Attacks on the read allowlist (S12), one a line of sqlguard's testdata/attacks.txt. The guard refuses each,
// and with the guard switched off the second witness alone refuses each that names a hidden relation where
// Postgres reads one ("w"), before a row is computed. What a line marked "g" names stands in a literal or is
// no relation, so the guard is alone.
func TestS12AttacksMeetBothWitnesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, attackedSchema)
	pool := b.Readonly()
	list, err := sqlguard.ParseAllowlist(nil, []string{"app.t", "app.v"})
	require.NoError(t, err)
	guard := sqlguard.New(sqlguard.Policy{Read: list})
	st, err := guard.Read(t.Context(), pool.Catalog(), "SELECT FROM app.t, app.v", nil)
	require.NoError(t, err)
	raw, err := os.ReadFile("../sqlguard/testdata/attacks.txt")
	require.NoError(t, err)
	seen := map[string]int{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		mark, sql, ok := strings.Cut(line, " ")
		require.True(t, ok, line)
		seen[mark]++
		_, err := guard.Read(t.Context(), pool.Catalog(), sql, nil)
		require.Error(t, err, sql)
		_, isRefusal := refusal.As(err)
		require.True(t, isRefusal, "%s: %v", sql, err)

		_, err = pool.RunUnguarded(t.Context(), sql, st.LockClosure())
		if mark == "w" {
			require.True(t, refusal.Is(err, refusal.TableNotAllowlisted), "the witness alone: %s: %v", sql, err)
			require.NotContains(t, err.Error(), "HUSH", sql)
		} else {
			require.Equal(t, "g", mark, line)
			require.False(t, refusal.Is(err, refusal.TableNotAllowlisted), "mark it w: %s", sql)
		}
	}
	require.Greater(t, seen["w"], 60)
	require.Greater(t, seen["g"], 60)
	_, err = pool.RunUnguarded(t.Context(), "SELECT id FROM app.v", st.LockClosure())
	require.NoError(t, err)
}
