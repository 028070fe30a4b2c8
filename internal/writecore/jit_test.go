package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// What compiling a long expression takes is bounded by nothing, so nothing is compiled, whatever the role says.
func TestWritesAreNotCompiled(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `ALTER ROLE writer IN DATABASE "`+db.Name+`" SET jit = on`)
	b := setupOn(t, db, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'x')")
	r, err := b.update("app.t", nil, []sqlguard.SetExpr{{Column: "v", Expr: "current_setting('jit')"}}, "id = 1")
	require.NoError(t, err)
	require.JSONEq(t, `"off"`, string(r.Plan.SampleRows[0][1].Value))
	_, err = b.execute(r)
	require.NoError(t, err)
	require.Equal(t, "off", b.one("SELECT v FROM app.t"))
}
