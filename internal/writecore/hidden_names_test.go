package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// The server's sentence names the table whose foreign key refuses a change, and the constraint, which is
// named after it. Of a table that neither allowlist names the agent hears neither; of others both.
func TestForeignKeysOfHiddenTablesAreNotNamed(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE owner (id int PRIMARY KEY, name text); INSERT INTO owner VALUES (1), (2), (3);
		RESET ROLE; CREATE SCHEMA hid; CREATE TABLE hid.hushed (id int REFERENCES app.owner); INSERT INTO hid.hushed VALUES (1);
		CREATE TABLE hid.late (id int REFERENCES app.owner DEFERRABLE INITIALLY DEFERRED); INSERT INTO hid.late VALUES (2);
		CREATE TABLE app.pet (id int REFERENCES app.owner); INSERT INTO app.pet VALUES (3)`
	read, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	tight := sqlguard.New(sqlguard.Policy{Read: read})
	b := setup(t, schema, func(o *writecore.Options) { o.CanRead = tight.CanRead })
	all := setup(t, schema)
	del := func(b *bundle, where string) *refusal.Error {
		_, err := b.delete("app.owner", where)
		require.Error(t, err, where)
		r, ok := refusal.As(err)
		require.True(t, ok, "%s: %v", where, err)
		require.Equal(t, refusal.WriteFailed, r.Code)
		require.Contains(t, r.Message, "SQLSTATE 23503")
		return r
	}
	for where, name := range map[string]string{"id = 1": "hushed", "id = 2": "late"} {
		r := del(b, where)
		require.NotContains(t, r.Message+r.Hint, name)
		require.NotContains(t, r.Message+r.Hint, "fkey")
		require.Contains(t, del(all, where).Message, name)
	}
	require.Contains(t, del(b, "id = 3").Message, "pet_id_fkey")
}
