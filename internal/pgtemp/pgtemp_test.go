package pgtemp_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestNewGivesRolesAndAudit(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	for user, url := range map[string]string{"readonly": db.Readonly, "writer": db.Writer, "postgres": db.Super} {
		var who string
		require.NoError(t, connect(t, url).QueryRow(t.Context(), "select current_user").Scan(&who))
		require.Equal(t, user, who)
	}
	require.Equal(t, [][]string{{"0", "<null>"}}, db.Query(t, "select count(*), max(id) from mcp_audit.log"))
}
