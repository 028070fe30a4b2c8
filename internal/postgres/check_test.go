package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// The roles of docker/init pass without a word.
func TestChecksPassSilently(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MigrationRole = "migrator" })
	require.NoError(t, b.Check(t.Context()))
	require.Empty(t, b.Warnings())
	s := acquire(t, b.Writer())
	require.Equal(t, "writer", s.Role())
	require.Equal(t, "UTF8", s.ServerEncoding())
	require.GreaterOrEqual(t, s.ServerVersion(), 140000)
}

// TestChecksOfANewConnection: a role that makes the walls worthless is refused, names role and
// attribute, and is only warned about when that was asked for.
func TestChecksOfANewConnection(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	super, _ := pg.Role(t, "SUPERUSER")
	bypass, _ := pg.Role(t, "BYPASSRLS")
	between, _ := pg.Role(t, "IN ROLE "+bypass)
	auditor, _ := pg.Role(t, "")
	pg.Exec(t, fmt.Sprintf("CREATE TABLE mcp_audit.extra (x int); ALTER TABLE mcp_audit.extra OWNER TO %s", auditor))
	grant := "GRANT CONNECT ON DATABASE \"" + pg.Name + "\" TO "

	for _, c := range []struct {
		attributes, word string
		writerOnly       bool
	}{
		{"SUPERUSER", "is a superuser", false},
		{"BYPASSRLS", "has BYPASSRLS", false},
		{"NOINHERIT IN ROLE " + super, "is a member of the superuser role " + super, false},
		{"NOINHERIT IN ROLE " + between, "is a member of " + bypass + ", which has BYPASSRLS", false},
		{"NOINHERIT IN ROLE pg_write_all_data", "is a member of pg_write_all_data", false},
		{"IN ROLE pg_execute_server_program", "is a member of pg_execute_server_program", false},
		{"IN ROLE pg_read_server_files", "is a member of pg_read_server_files", false},
		{"IN ROLE pg_write_server_files", "is a member of pg_write_server_files", false},
		{"NOINHERIT IN ROLE " + auditor, "owns mcp_audit or can become its owner", true},
	} {
		name, url := pg.Role(t, c.attributes)
		pg.Exec(t, grant+name)
		for _, asWriter := range []bool{false, true} {
			o := postgres.Options{ReadonlyURL: url, WriterURL: pg.Writer}
			if asWriter {
				o = postgres.Options{ReadonlyURL: pg.Readonly, WriterURL: url}
			}
			var warnings []string
			o.Warn = func(s string) { warnings = append(warnings, s) }
			db, err := postgres.Open(t.Context(), o)
			require.NoError(t, err)
			err = db.Check(t.Context())
			db.Close()
			if c.writerOnly && !asWriter {
				require.NoError(t, err)
				require.Contains(t, strings.Join(warnings, "\n"), c.word)
				continue
			}
			var role *postgres.RoleError
			require.ErrorAs(t, err, &role, c.attributes)
			require.Equal(t, name, role.Role)
			require.Contains(t, role.Attribute, c.word)
			require.True(t, postgres.IsRoleError(err))
			require.True(t, refusal.Is(err, refusal.DatabaseUnavailable), "and a call reads it as a refusal")
			r, _ := refusal.As(err)
			require.Contains(t, r.Message, name)
			require.Contains(t, r.Message, c.word)

			o.AllowPrivileged = true
			warnings = nil
			db, err = postgres.Open(t.Context(), o)
			require.NoError(t, err)
			require.NoError(t, db.Check(t.Context()))
			db.Close()
			require.Contains(t, strings.Join(warnings, "\n"), c.word)
		}
	}
}

func TestCheckSameRoleTwice(t *testing.T) {
	t.Parallel()
	b := setup(t, func(pg *pgtemp.DB, o *postgres.Options) { o.ReadonlyURL = pg.Writer })
	err := b.Check(t.Context())
	require.True(t, postgres.IsRoleError(err), "%v", err)
	require.ErrorContains(t, err, "two roles")

	// Also when the role is taken by SET ROLE in the connection string.
	b = setup(t, func(pg *pgtemp.DB, o *postgres.Options) {
		name, url := pg.Role(t, "IN ROLE writer")
		pg.Exec(t, "GRANT CONNECT ON DATABASE \""+pg.Name+"\" TO "+name)
		o.ReadonlyURL = url + sep(url) + "options=-crole%3Dwriter"
	})
	err = b.Check(t.Context())
	require.True(t, postgres.IsRoleError(err), "%v", err)
	require.ErrorContains(t, err, `role "writer"`)
}

func TestCheckLexing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// The role's own settings are overruled by what the connection asks for.
	b.PG.Exec(t, fmt.Sprintf(`ALTER ROLE readonly IN DATABASE %[1]q SET standard_conforming_strings = off;
		ALTER ROLE readonly IN DATABASE %[1]q SET client_encoding = LATIN1`, b.PG.Name))
	require.NoError(t, b.Check(t.Context()))
	require.Equal(t, `[["a\\b","ü"]]`, asJSON(t, mustQuery(t, b, `SELECT 'a\b', 'ü'`)))
}

func TestCheckWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sql string
		words     []string
	}{
		{"column grant", "CREATE TABLE w1 (a int, b int); GRANT UPDATE (b) ON w1 TO readonly", []string{"may write", "public.w1"}},
		{"delete", "CREATE TABLE w2 (a int); GRANT DELETE ON w2 TO PUBLIC", []string{"may write", "public.w2"}},
		{"sequence", "CREATE SEQUENCE w4; GRANT UPDATE ON w4 TO readonly", []string{"may write", "the sequence public.w4"}},
		{"definer", "CREATE FUNCTION w5() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'", []string{"SECURITY DEFINER", "public.w5"}},
		{"schema", "GRANT CREATE ON SCHEMA public TO readonly", []string{"may create objects in schema public"}},
		{"owner", "CREATE TABLE w3 (a int); ALTER TABLE w3 OWNER TO writer", []string{"owns application tables", "public.w3"}},
		{"no outcome", "DROP FUNCTION mcp_audit.outcome", []string{"lacks outcome()"}},
		{"no audit", "DROP SCHEMA mcp_audit CASCADE", []string{"no table mcp_audit.log"}},
		{"no insert", "REVOKE INSERT ON mcp_audit.log FROM writer", []string{"may not INSERT"}},
		{"may update", "GRANT UPDATE ON mcp_audit.log TO writer", []string{"may change rows of mcp_audit.log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.PG.Exec(t, c.sql)
			require.NoError(t, b.Check(t.Context()))
			require.NoError(t, b.Check(t.Context()))
			require.Len(t, b.Warnings(), 1, "once")
			for _, w := range c.words {
				require.Contains(t, b.Warnings()[0], w)
			}
		})
	}
	t.Run("not the migrator", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) { o.MigrationRole = "nobody_known" })
		require.NoError(t, b.Check(t.Context()))
		require.Len(t, b.Warnings(), 1)
		require.Contains(t, b.Warnings()[0], "nobody_known")
	})
}

func TestRoleErrorSays(t *testing.T) {
	t.Parallel()
	err := error(&postgres.RoleError{Key: "database.readonlyConnectionString", Attribute: "is Postgres 13; supported are 14 to 18"})
	require.Equal(t, "database.readonlyConnectionString: the server is Postgres 13; supported are 14 to 18", err.Error())
	require.False(t, postgres.IsRoleError(errors.New("x")))
}
