package sqlguard_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// server is a database with both pools, for rules that only a real catalog can try.
type server struct {
	*postgres.DB
	pg *pgtemp.DB
}

func newServer(t *testing.T, schema string) *server {
	t.Helper()
	s := &server{pg: pgtemp.New(t)}
	s.pg.Exec(t, schema)
	var err error
	s.DB, err = postgres.Open(t.Context(), postgres.Options{ReadonlyURL: s.pg.Readonly, WriterURL: s.pg.Writer, MaxConnections: 3})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// policyOf reads lists as the configuration has them.
func policyOf(t *testing.T, read, write, functions []string) sqlguard.Policy {
	t.Helper()
	r, err := sqlguard.ParseAllowlist(nil, read)
	require.NoError(t, err)
	w, err := sqlguard.ParseWriteAllowlist(write, nil)
	require.NoError(t, err)
	return sqlguard.Policy{Read: r, Write: w, AllowFunctions: functions}
}

// read guards a text and, where it passes, runs it.
func (s *server) read(t *testing.T, g *sqlguard.Guard, sql string, params ...json.RawMessage) (*postgres.QueryResult, error) {
	t.Helper()
	st, err := g.Read(t.Context(), s.Readonly().Catalog(), sql, params)
	if err != nil {
		return nil, err
	}
	return s.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
}

func requireRefused(t *testing.T, code refusal.Code, err error, text string) {
	t.Helper()
	_ = refused(t, code, err, text)
}

// refused insists on a refusal with a next step and gives it back.
func refused(t *testing.T, code refusal.Code, err error, text string) *refusal.Error {
	t.Helper()
	require.Error(t, err, text)
	r, ok := refusal.As(err)
	require.True(t, ok, "%s: %v", text, err)
	require.Equal(t, code, r.Code, "%s: %s", text, r.Message)
	require.NotEmpty(t, r.Hint, text)
	return r
}
