package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	initsql "github.com/jpka/sw-postgres-mcp/docker/init"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// ownersShop is the database of somebody who follows README.md, with an application at work in it. Roles belong to
// the whole cluster, so each has a name of its own here, and the documents' SQL is run with these names.
type ownersShop struct {
	t      *testing.T
	super  *pgx.Conn
	url    string
	schema string
	suffix string
}

var shopRoles = regexp.MustCompile(`\b(app|readonly|writer|migrator)\b`)

func newOwnersShop(t *testing.T, schema string) *ownersShop {
	t.Helper()
	db := pgtemp.New(t)
	s := &ownersShop{t: t, schema: schema, suffix: "_" + db.Name}
	name := db.Name + "_shop"
	db.Exec(t, "CREATE DATABASE "+name+" TEMPLATE template0")
	s.url = strings.Replace(db.Super, "/"+db.Name, "/"+name, 1)
	t.Cleanup(func() {
		db.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)")
		db.Exec(t, s.own("DROP ROLE IF EXISTS app, readonly, writer, migrator"))
	})
	var err error
	s.super, err = pgx.Connect(t.Context(), s.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.super.Close(context.Background()) })
	// As on Postgres 14, and later in what was upgraded from there.
	s.run(s.own("CREATE ROLE app; GRANT CREATE ON SCHEMA public TO PUBLIC"))
	if schema != "public" {
		s.run(s.own("CREATE SCHEMA " + schema + " AUTHORIZATION app"))
	}
	return s
}

// own is SQL with the names of this shop's roles.
func (s *ownersShop) own(sql string) string { return shopRoles.ReplaceAllString(sql, "${1}"+s.suffix) }

// do runs statements as a superuser. An error ends their transaction.
func (s *ownersShop) do(sql string) error {
	_, err := s.super.PgConn().Exec(s.t.Context(), sql).ReadAll()
	if s.super.PgConn().TxStatus() != 'I' {
		_, rollback := s.super.PgConn().Exec(s.t.Context(), "ROLLBACK").ReadAll()
		require.NoError(s.t, rollback)
	}
	return err
}

func (s *ownersShop) run(sql string) {
	s.t.Helper()
	require.NoError(s.t, s.do(sql), sql)
}

// as is what these statements do in a session of that role; "writer, migrator" is writer that becomes migrator.
// In them, @ is the schema.
func (s *ownersShop) as(role string, statements ...string) error {
	s.t.Helper()
	login, becomes, _ := strings.Cut(role, ", ")
	begin := "BEGIN; SET LOCAL SESSION AUTHORIZATION " + login
	if becomes != "" {
		begin += "; SET LOCAL ROLE " + becomes
	}
	return s.do(s.own(begin) + "; " + strings.ReplaceAll(strings.Join(statements, "; "), "@", s.schema) + "; COMMIT")
}

func (s *ownersShop) can(role string, statements ...string) {
	s.t.Helper()
	require.NoError(s.t, s.as(role, statements...), "%s: %v", role, statements)
}

func (s *ownersShop) cannot(role, statement string) {
	s.t.Helper()
	var e *pgconn.PgError
	require.ErrorAs(s.t, s.as(role, statement), &e, "%s: %s", role, statement)
	require.Equal(s.t, "42501", e.Code, "%s: %s: %s", role, statement, e.Message)
}

// files runs the commands of README.md that feed a file to psql, in that order. Without psql their SQL is run alone.
func (s *ownersShop) files(order ...string) error {
	s.t.Helper()
	dir := s.t.TempDir()
	require.NoError(s.t, os.MkdirAll(filepath.Join(dir, "docker", "init"), 0o700))
	_, noPsql := exec.LookPath("psql")
	for _, name := range order {
		text, err := initsql.Files.ReadFile(name)
		require.NoError(s.t, err)
		sql := s.own(string(text))
		command := regexp.MustCompile(`(?m)^ *sudo -u postgres psql (.*) -d shop < docker/init/` + regexp.QuoteMeta(name)).FindStringSubmatch(docText(s.t, readme))
		require.Len(s.t, command, 2, name)
		if noPsql != nil {
			err = s.do(sql)
		} else {
			require.NoError(s.t, os.WriteFile(filepath.Join(dir, "docker", "init", name), []byte(sql), 0o600))
			psql := exec.Command("sh", "-c", "psql -X "+command[1]+` -d "$SHOP" < docker/init/`+name)
			psql.Dir, psql.Env = dir, append(os.Environ(), "SHOP="+s.url)
			var out []byte
			out, err = psql.CombinedOutput()
			s.t.Logf("%s", out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// block is the one block of SQL in a document in which the words stand, with the names of this shop.
func (s *ownersShop) block(doc, words string) string {
	s.t.Helper()
	var found []string
	for _, sql := range sqlBlocks(doc) {
		if strings.Contains(sql, words) {
			found = append(found, sql)
		}
	}
	require.Len(s.t, found, 1, words)
	return strings.ReplaceAll(s.own(found[0]), "public", s.schema)
}

func sqlBlocks(doc string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(doc, -1) {
		out = append(out, m[1])
	}
	return out
}

// rights is who owns what and may do what with it, defaults written out.
func (s *ownersShop) rights() []string {
	s.t.Helper()
	rows, err := s.super.Query(s.t.Context(), `
		SELECT concat_ws(' ', kind, name, owner::regrole, array(SELECT a::text FROM unnest(coalesce(acl, acldefault(letter, owner))) a ORDER BY 1)) AS line FROM (
			SELECT 'database' AS kind, datname::text AS name, datdba AS owner, datacl AS acl, 'd'::"char" AS letter FROM pg_database WHERE datname = current_database()
			UNION ALL SELECT 'schema', nspname, nspowner, nspacl, 'n' FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'
			UNION ALL SELECT 'relation', c.oid::regclass::text, relowner, relacl, CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char"
				FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname !~ '^(pg_|information_schema)' AND relkind NOT IN ('i', 'I')
			UNION ALL SELECT 'function', p.oid::regprocedure::text, proowner, proacl, 'f' FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname !~ '^(pg_|information_schema)'
		) x
		UNION ALL SELECT concat_ws(' ', 'default', defaclrole::regrole, defaclobjtype, defaclacl) FROM pg_default_acl
		UNION ALL SELECT concat_ws(' ', 'role', rolname, rolconfig) FROM pg_roles WHERE rolname LIKE '%' || $1
		ORDER BY 1`, s.suffix)
	require.NoError(s.t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return lines
}

// The SQL that README.md tells an owner to run does what it says, in public and in another schema: the three roles
// can do their work on tables that existed before and on those that come later, the application that owned them
// goes on working, its serial column included (the sequence goes to the new owner together with the table), and
// what docs/reference.md says removes it all again.
func TestDocsGrantsLeaveTheOwnerAtWork(t *testing.T) {
	t.Parallel()
	doc := docText(t, readme)
	require.Len(t, sqlBlocks(doc), 5, "each block of SQL in README.md is run below")
	for _, schema := range []string{"public", "sales"} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			s := newOwnersShop(t, schema)
			work := func(table string) []string {
				table = "@." + table
				return []string{"INSERT INTO " + table + " (total) VALUES (1)", "UPDATE " + table + " SET total = 2", "DELETE FROM " + table + " WHERE total = 2 RETURNING id"}
			}
			const created = " (id serial PRIMARY KEY, total int)"
			s.can("app", "CREATE TABLE @.orders"+created, "CREATE VIEW @.seen AS SELECT id FROM @.orders")
			s.can("app", work("orders")...)
			before := s.rights()

			require.Error(t, s.files("02_audit.sql"), "without the roles it fails, and the command says so by its exit code")
			require.NoError(t, s.files("01_roles.sql", "02_audit.sql", "01_roles.sql", "02_audit.sql"))
			s.can("app", work("orders")...)
			if schema == "public" {
				s.cannot("app", "CREATE TABLE @.own (id int)")
			}
			s.run(s.block(doc, "GRANT CREATE ON SCHEMA public TO app"))
			s.can("app", "CREATE TABLE @.own (id int)", "DROP TABLE @.own")

			s.run(s.block(doc, "ALTER DEFAULT PRIVILEGES"))
			s.can("app", "CREATE TABLE @.later"+created)
			for _, table := range []string{"orders", "later"} {
				s.can("writer", work(table)...)
				s.can("readonly", "SELECT * FROM @."+table)
				s.cannot("readonly", "INSERT INTO @."+table+" (total) VALUES (1)")
				s.cannot("writer", "DROP TABLE @."+table)
				s.cannot("writer, migrator", "DROP TABLE @."+table)
			}
			s.cannot("writer, migrator", "DROP VIEW @.seen")
			s.cannot("writer", "CREATE TABLE @.t (id int)")

			s.run(s.block(doc, "REVOKE migrator FROM writer"))
			s.cannot("writer, migrator", "SELECT 1")
			require.NoError(t, s.files("01_roles.sql"))
			s.can("writer, migrator", "SELECT 1")

			s.run(s.block(doc, "ALTER TABLE public.orders OWNER TO migrator"))
			s.can("writer, migrator", "ALTER TABLE @.orders ADD COLUMN note text", "CREATE INDEX ON @.orders (note)", "CREATE TABLE @.made"+created)
			s.cannot("writer, migrator", "DROP TABLE @.later")
			s.cannot("writer, migrator", "DROP VIEW @.seen")
			s.can("writer", work("made")...)
			for _, role := range []string{"app", "writer"} {
				s.can(role, work("orders")...)
			}
			s.can("app", "SELECT * FROM @.seen", "CREATE TABLE @.items (order_id int REFERENCES @.orders)", "DROP TABLE @.items")

			s.can("readonly", s.block(doc, "FROM mcp_audit.log"))
			s.cannot("writer", s.block(doc, "FROM mcp_audit.log"))

			// And back. What app was granted and what PUBLIC had is left to the owner, as it says there.
			s.run(s.block(docSection(t, docText(t, reference), "### Removing it all"), "DROP ROLE"))
			s.can("app", work("orders")...)
			s.can("app", "DROP TABLE @.later, @.made", "ALTER TABLE @.orders DROP COLUMN note")
			s.run("GRANT CREATE ON SCHEMA public TO PUBLIC")
			if schema == "public" {
				s.run(s.own("REVOKE CREATE ON SCHEMA public FROM app"))
			}
			require.Equal(t, before, s.rights())
			require.NotContains(t, fmt.Sprint(before), "migrator")
		})
	}
}
