package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// Settings that by their names hold secrets are not asked for, in whatever spelling; those that everyday
// conditions use are. The catalogs that show such settings of roles and databases are not readable either.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE TABLE t (id int, owner text); GRANT SELECT ON t TO readonly, writer; INSERT INTO t VALUES (1, 'me');
		CREATE VIEW mine AS SELECT id FROM t WHERE owner = current_setting('app.jwt_secret', true); GRANT SELECT ON mine TO readonly;
		DO $$ BEGIN EXECUTE format('ALTER ROLE readonly IN DATABASE %I SET app.jwt_secret = ''hush''', current_database()); END $$;
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET app."user" = ''me''', current_database()); END $$`)
	open := sqlguard.New(policyOf(t, nil, []string{"public"}, nil))
	named := sqlguard.New(policyOf(t, nil, []string{"public"}, []string{"pg_catalog.current_setting"}))
	for _, sql := range []string{
		"SELECT current_setting('work_mem'), current_setting('app.user', true)", "SELECT * FROM t WHERE owner = current_setting('app.user')",
		"SELECT current_setting(E'app.\\x75ser')", "SELECT pg_catalog.current_setting('search_path')", "SELECT * FROM mine",
		"SELECT name, setting FROM pg_settings", "SELECT * FROM pg_show_all_settings()", "SELECT current_setting('password_encryption')",
	} {
		r, err := s.read(t, open, sql)
		require.NoError(t, err, sql)
		for _, row := range r.Rows {
			for _, v := range row {
				require.NotContains(t, string(v), "hush", sql)
			}
		}
	}
	for _, sql := range []string{
		"SELECT current_setting('app.jwt_secret')", "SELECT current_setting('APP.JWT_Secret', true)", `SELECT "current_setting"('app.jwt_secret')`,
		"SELECT pg_catalog.current_setting('app.jwt_' || 'secret')", "SELECT current_setting(n) FROM (VALUES ('app.jwt_secret')) v(n)",
		"SELECT current_setting(U&'app.jwt_s\\0065cret')", "SELECT current_setting(E'app.jwt_s\\x65cret')", "SELECT current_setting($$app.jwt_secret$$)",
		"SELECT current_setting('app.jwt_secret'::text)", "SELECT current_setting(lower('APP.JWT_SECRET'))", "SELECT current_setting(missing_ok => true, setting_name => 'app.jwt_secret')",
		"SELECT * FROM current_setting('app.jwt_secret')", "SELECT id FROM t WHERE EXISTS (SELECT current_setting('app.jwt_secret'))",
		"SELECT current_setting(setting_name => 'app.jwt_secret')", "SELECT current_setting(VARIADIC ARRAY['app.jwt_secret'])",
	} {
		_, err := s.read(t, open, sql)
		requireRefused(t, refusal.FunctionNotAllowed, err, sql)
	}
	_, err := s.read(t, named, "SELECT current_setting('app.jwt_secret')")
	require.NoError(t, err, "the operator may allow it")
	for _, where := range []string{"owner = current_setting('app.api_key')", "owner = current_setting(owner)"} {
		_, err := open.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "t", Where: where})
		requireRefused(t, refusal.FunctionNotAllowed, err, where)
	}
	for _, sql := range []string{
		"SELECT rolname, rolconfig FROM pg_roles", "SELECT useconfig FROM pg_user", "SELECT setconfig FROM pg_db_role_setting", "TABLE pg_shadow",
	} {
		_, err := s.read(t, open, sql)
		requireRefused(t, refusal.TableNotAllowlisted, err, sql)
	}
	_, err = s.read(t, open, "SELECT pg_get_userbyid(relowner), pg_get_userbyid(member) FROM pg_class, pg_auth_members LIMIT 1")
	require.NoError(t, err, "names of roles are no secret")
}

// The functions of the audit trail are not the agent's, whatever it may read.
func TestAuditFunctionsAreNotCalled(t *testing.T) {
	t.Parallel()
	s := newServer(t, "CREATE TABLE t (id int)")
	g := sqlguard.New(policyOf(t, nil, []string{"public"}, []string{"mcp_audit.outcome"}))
	_, err := s.read(t, g, "SELECT * FROM mcp_audit.outcome('x')")
	requireRefused(t, refusal.FunctionNotAllowed, err, "read")
	_, err = g.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "t", Where: "EXISTS (SELECT FROM mcp_audit.outcome('x'))"})
	requireRefused(t, refusal.FunctionNotAllowed, err, "where")
}
