package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Rows of a plain inheritance child are reached through its parent. A child that is not on the write
// allowlist is no silent part of the change: it is counted by its own name, and a person decides.
func TestInheritanceChildIsAskedFor(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "CREATE SCHEMA apart AUTHORIZATION migrator")
	b := setupOn(t, db, `CREATE TABLE parent (id int PRIMARY KEY, v int); INSERT INTO parent VALUES (1, 0);
		GRANT USAGE ON SCHEMA apart TO readonly, writer; CREATE TABLE apart.child (CHECK (id > 100)) INHERITS (app.parent); INSERT INTO apart.child VALUES (101, 0), (102, 0);
		CREATE TABLE near (CHECK (id < 0)) INHERITS (app.parent); INSERT INTO near VALUES (-1, 0);`)
	r, err := b.delete("app.parent", "v = 0")
	require.NoError(t, err)
	require.Equal(t, plan.AwaitingApproval, r.Plan.State)
	require.EqualValues(t, 4, r.Plan.BlastRadius.TotalRows)
	require.Contains(t, r.Plan.Why, "apart.child is not on the write allowlist")
	names := map[string]int64{}
	for _, table := range r.Plan.BlastRadius.Tables {
		names[table.Name] = table.Rows()
	}
	require.Equal(t, map[string]int64{"app.parent": 1, "apart.child": 2, "app.near": 1}, names)
	b.approve(r)
	b.db.Exec(t, "INSERT INTO apart.child VALUES (103, 0)")
	_, err = b.execute(r)
	require.ErrorContains(t, err, "rows")
	require.Equal(t, "5", b.one("SELECT count(*) FROM app.parent"))
}
