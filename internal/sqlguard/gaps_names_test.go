package sqlguard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// Names mean to the guard what they mean to Postgres: the relation that the server reads is the one that was
// held against the allowlist, whatever hides it. Each pair of tables differs in what they show, so that a
// name that is resolved otherwise than thought shows the other's row.
func TestNamesAsPostgresResolvesThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 62)
	s := newServer(t, `
		CREATE SCHEMA app; CREATE SCHEMA secret; CREATE SCHEMA readonly; GRANT USAGE ON SCHEMA app, secret, readonly TO readonly;
		CREATE TABLE app.t (v text); INSERT INTO app.t VALUES ('shown'); CREATE TABLE secret.t (v text); INSERT INTO secret.t VALUES ('HUSH');
		CREATE TABLE app."T" (v text); INSERT INTO app."T" VALUES ('HUSH'); CREATE TABLE public.t (v text); INSERT INTO public.t VALUES ('HUSH');
		CREATE TABLE readonly.t (v text); INSERT INTO readonly.t VALUES ('HUSH');
		CREATE TABLE app."secret.t" (v text); INSERT INTO app."secret.t" VALUES ('shown'); CREATE TABLE app."a""b" (v text); INSERT INTO app."a""b" VALUES ('shown');
		CREATE TABLE app.pg_class (v text); INSERT INTO app.pg_class VALUES ('HUSH');
		CREATE TABLE app."é" (v text); INSERT INTO app."é" VALUES ('shown'); CREATE TABLE app."É" (v text); INSERT INTO app."É" VALUES ('HUSH');
		CREATE TABLE app.`+long+` (v text); INSERT INTO app.`+long+` VALUES ('HUSH');
		CREATE VIEW app.v AS SELECT v FROM secret.t; CREATE TABLE app.p (v text); INSERT INTO app.p VALUES ('shown'); CREATE TABLE secret.child () INHERITS (app.p); INSERT INTO secret.child VALUES ('child');
		GRANT SELECT ON ALL TABLES IN SCHEMA app, secret, public, readonly TO readonly`)
	guard := sqlguard.New(policyOf(t, []string{"app.t", `app."secret.t"`, `app."a""b"`, `app."é"`, "app.v", "app.p"}, nil, nil))
	for sql, want := range map[string]string{
		"SELECT v FROM app.t": "shown", "SELECT v FROM APP.T": "shown", `SELECT v FROM "app"."t"`: "shown", `SELECT v FROM U&"\0061pp".U&"t"`: "shown",
		`SELECT v FROM app."secret.t"`: "shown", `SELECT v FROM app."a""b"`: "shown", "SELECT v FROM app.é": "shown", "TABLE app.t": "shown", "SELECT v FROM ONLY app.t": "shown", "SELECT v FROM ONLY (app.p)": "shown",
		"SELECT v FROM app.v":                           "HUSH", // a view stands in the allowlist by its own name
		"WITH t AS (SELECT 'cte' AS v) SELECT v FROM t": "cte", "WITH t AS (SELECT 'cte' AS v) SELECT v FROM app.t": "shown",
		"WITH t AS (SELECT 'outer' AS v) SELECT v FROM (WITH t AS (SELECT 'inner' AS v) TABLE t) x": "inner",
		`WITH "T" AS (SELECT 'cte' AS v) SELECT v FROM "T"`:                                         "cte", "SELECT max(v) FROM ONLY app.p": "shown",
	} {
		r, err := s.read(t, guard, sql)
		require.NoError(t, err, sql)
		require.Len(t, r.Rows, 1, sql)
		require.Equal(t, `"`+want+`"`, string(r.Rows[0][0]), sql)
	}
	for _, sql := range []string{
		"SELECT v FROM t", `SELECT v FROM app."T"`, "SELECT v FROM public.t", "SELECT v FROM readonly.t", "SELECT v FROM secret.t", "SELECT v FROM secret.child", `SELECT v FROM app."É"`,
		`WITH "T" AS (SELECT 'cte' AS v) SELECT v FROM app."T"`, `WITH "T" AS (SELECT 1) SELECT v FROM t`, "WITH t AS (SELECT v FROM t) SELECT v FROM t", // without RECURSIVE the inner t is the table
		"WITH a AS (SELECT v FROM t), t AS (SELECT 1) SELECT v FROM a", "SELECT v FROM (WITH t AS (SELECT 1) SELECT 1) x, t", "SELECT relname FROM pg_class", "SELECT v FROM pg_class",
		"SELECT v FROM app." + long, "SELECT v FROM app." + long + "é", `SELECT v FROM app."` + long + `é"`, "SELECT v FROM app." + long + "aa", `SELECT v FROM U&"app".U&"` + long + `\00e9"`,
		"SELECT v FROM app.É", "SELECT v FROM app.p", "TABLE app.p", "SELECT v FROM pg_temp.t", "SELECT v FROM t UNION SELECT 'x'", "SELECT (SELECT v FROM t LIMIT 1) FROM app.t",
	} {
		_, err := s.read(t, guard, sql)
		require.Error(t, err, sql)
		_, ok := refusal.As(err)
		require.True(t, ok, "%s: %v", sql, err)
		require.NotContains(t, err.Error(), "HUSH", sql)
	}
}
