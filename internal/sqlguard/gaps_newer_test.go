package sqlguard_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// Syntax of a later Postgres is not called a mistake in spelling: the refusal names it and its version, also
// inside where and in a migration. What only looks like it stays what it is.
func TestNewerSyntaxSaysSo(t *testing.T) {
	t.Parallel()
	s := newServer(t, "CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO readonly, writer; CREATE TABLE app.t (id int, at int, period tstzrange, expression int, virtual int); GRANT SELECT ON app.t TO readonly")
	g := sqlguard.New(policyOf(t, nil, []string{"app"}, nil))
	read := func(sql string) error {
		_, err := s.read(t, g, sql)
		return err
	}
	where := func(sql string) error {
		_, err := g.Delete(t.Context(), s.Writer().Catalog(), sqlguard.DeleteSpec{Table: "app.t", Where: sql})
		return err
	}
	ddl := func(sql string) error {
		_, err := g.Migration(t.Context(), s.Writer().Catalog(), sql)
		return err
	}
	for _, c := range []struct {
		run              func(string) error
		sql, name, since string
	}{
		{read, "SELECT * FROM json_table('[]', '$[*]' COLUMNS (a int PATH '$'))", "JSON_TABLE", "17"},
		{read, "SELECT json_value('1', '$' RETURNING int)", "JSON_VALUE", "17"},
		{read, "SELECT JSON_EXISTS('[]', '$' PASSING 1 AS x)", "JSON_EXISTS", "17"},
		{read, "SELECT json_query('[]', '$' WITH WRAPPER)", "JSON_QUERY", "17"},
		{read, "SELECT json_serialize('{}' RETURNING bytea)", "JSON_SERIALIZE", "17"},
		{read, "SELECT json('{}' WITH UNIQUE KEYS)", "JSON()", "17"},
		{read, "SELECT now() AT LOCAL", "AT LOCAL", "17"},
		{read, "MERGE INTO app.t USING app.t s ON false WHEN MATCHED THEN DELETE RETURNING *", "RETURNING", "17"},
		{read, "MERGE INTO app.t USING app.t s ON false WHEN NOT MATCHED BY SOURCE THEN DELETE", "NOT MATCHED BY", "17"},
		{read, "WITH u AS (UPDATE app.t SET id = 1 RETURNING WITH (OLD AS o) o.id) TABLE u", "RETURNING WITH", "18"},
		{where, "json_value('1', '$' RETURNING int) = 1", "JSON_VALUE", "17"},
		{where, "now() AT LOCAL > '2026-01-01'", "AT LOCAL", "17"},
		{ddl, "ALTER TABLE app.t ALTER COLUMN at SET EXPRESSION AS (id)", "SET EXPRESSION", "17"},
		{ddl, "ALTER TABLE app.t ADD v int GENERATED ALWAYS AS (id) VIRTUAL", "VIRTUAL", "18"},
		{ddl, "ALTER TABLE app.t ADD v int GENERATED ALWAYS AS (id)", "without STORED", "18"},
		{ddl, "ALTER TABLE app.t ADD CONSTRAINT c NOT NULL id", "NOT NULL", "18"},
		{ddl, "ALTER TABLE app.t ADD CONSTRAINT c CHECK (id > 0) NOT ENFORCED", "NOT ENFORCED", "18"},
		{ddl, "ALTER TABLE app.t ADD CONSTRAINT c CHECK (id > 0) ENFORCED", "ENFORCED", "18"},
		{ddl, "ALTER TABLE app.t ADD PRIMARY KEY (id, period WITHOUT OVERLAPS)", "WITHOUT OVERLAPS", "18"},
		{ddl, "ALTER TABLE app.t ADD FOREIGN KEY (id, PERIOD period) REFERENCES app.t", "PERIOD", "18"},
	} {
		e := refused(t, refusal.InvalidInput, c.run(c.sql), c.sql)
		require.Contains(t, e.Message, c.name, c.sql)
		require.Contains(t, e.Message, "Postgres "+c.since, c.sql)
		require.Contains(t, e.Hint, "Postgres 16", c.sql)
	}
	// Read as a call by the grammar of 16.
	for _, sql := range []string{"SELECT json_value('1', '$')", "SELECT json_exists('1', '$')", "SELECT merge_action()"} {
		e := refused(t, refusal.InvalidInput, read(sql), sql)
		require.Contains(t, e.Message+e.Hint, "Postgres 17", sql)
	}
	// Columns of such names, and plain mistakes, are no newer syntax.
	require.NoError(t, read("SELECT at, t.at AS local, period, virtual FROM app.t WHERE period IS NULL"))
	for _, sql := range []string{"SELEC at FROM app.t", "SELECT (id FROM app.t", "SELECT at FROM app.t WHERE", "SELECT 'json_table (' FROM"} {
		e := refused(t, refusal.InvalidInput, read(sql), sql)
		require.Contains(t, e.Message, "cannot be parsed", sql)
	}
	// What 16 reads and an older server reads otherwise.
	if rows := s.pg.Query(t, "SELECT current_setting('server_version_num')::int < 160000"); rows[0][0] == "t" || rows[0][0] == "true" {
		for _, sql := range []string{"SELECT json_array(1)", "SELECT json_object('a': 1)", "SELECT 0xFF", "SELECT 1_000", "SELECT '{}' IS JSON", "SELECT json_arrayagg(id) FROM app.t", "SELECT 0b11", "SELECT system_user"} {
			requireRefused(t, refusal.InvalidInput, read(sql), sql)
		}
	}
}

// A rewrite rule makes the database run something else, or more, than the statement says. The refusal names
// it; the statements that the rule does not concern are taken.
func TestRulesAreSaid(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO writer;
		CREATE TABLE app.log (id int);
		CREATE TABLE app.also (id int); CREATE RULE note AS ON INSERT TO app.also DO ALSO INSERT INTO app.log VALUES (NEW.id);
		CREATE TABLE app.soft (id int, gone bool); CREATE RULE "Soft del" AS ON DELETE TO app.soft DO INSTEAD UPDATE app.soft SET gone = true WHERE id = OLD.id;
		CREATE RULE second AS ON DELETE TO app.soft WHERE OLD.id = 1 DO INSTEAD NOTHING;
		CREATE TABLE app.off (id int); CREATE RULE r AS ON DELETE TO app.off DO INSTEAD NOTHING; ALTER TABLE app.off DISABLE RULE r;
		CREATE TABLE app.always (id int); CREATE RULE r AS ON UPDATE TO app.always DO INSTEAD NOTHING; ALTER TABLE app.always ENABLE ALWAYS RULE r;
		CREATE TABLE app.replica (id int); CREATE RULE r AS ON UPDATE TO app.replica DO INSTEAD NOTHING; ALTER TABLE app.replica ENABLE REPLICA RULE r;
		CREATE VIEW app.v AS SELECT id FROM app.log; CREATE RULE r AS ON DELETE TO app.v DO INSTEAD DELETE FROM app.log WHERE id = OLD.id RETURNING id;
		CREATE VIEW app.plain AS SELECT id FROM app.log;
		GRANT ALL ON ALL TABLES IN SCHEMA app TO writer`)
	g := sqlguard.New(policyOf(t, nil, []string{"app"}, nil))
	cat := s.Writer().Catalog()
	run := map[sqlguard.Class]func(string) error{
		sqlguard.Delete: func(table string) error {
			_, err := g.Delete(t.Context(), cat, sqlguard.DeleteSpec{Table: table, Where: "id = 1"})
			return err
		},
		sqlguard.Update: func(table string) error {
			_, err := g.Update(t.Context(), cat, sqlguard.UpdateSpec{Table: table, Set: []sqlguard.SetValue{{Column: "id", Value: []byte("1")}}, Where: "id = 1"})
			return err
		},
		sqlguard.Insert: func(table string) error {
			_, err := g.Insert(t.Context(), cat, sqlguard.InsertSpec{Table: table, Columns: []string{"id"}, Rows: [][]json.RawMessage{{[]byte("1")}}})
			return err
		},
	}
	for _, c := range []struct {
		table string
		class sqlguard.Class
		names []string
	}{
		{"app.also", sqlguard.Insert, []string{"rule note on INSERT"}},
		{"app.also", sqlguard.Delete, nil},
		{"app.also", sqlguard.Update, nil},
		{"app.soft", sqlguard.Delete, []string{`"Soft del"`, "second", "rules"}},
		{"app.soft", sqlguard.Insert, nil},
		{"app.soft", sqlguard.Update, nil},
		{"app.off", sqlguard.Delete, nil},
		{"app.always", sqlguard.Update, []string{"rule r on UPDATE"}},
		{"app.replica", sqlguard.Update, nil},
		{"app.v", sqlguard.Delete, []string{"rule r on DELETE"}},
		{"app.v", sqlguard.Update, nil},
		{"app.plain", sqlguard.Delete, nil},
	} {
		err := run[c.class](c.table)
		if len(c.names) == 0 {
			require.NoError(t, err, "%s %s", c.class, c.table)
			continue
		}
		e := refused(t, refusal.TableNotWritable, err, c.table)
		for _, n := range c.names {
			require.Contains(t, e.Message, n)
		}
		require.Contains(t, e.Hint, "trigger")
	}
}

// The operators of an exclusion constraint run for every row there is while the constraint is made.
func TestExclusionOperatorsAreJudged(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
		CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO writer;
		CREATE TABLE app.t (id int, during tstzrange);
		CREATE FUNCTION app.same(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT $1 = $2';
		CREATE OPERATOR app.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = app.same, COMMUTATOR = OPERATOR(app.===));
		GRANT ALL ON ALL TABLES IN SCHEMA app TO writer`)
	g := sqlguard.New(policyOf(t, nil, []string{"app"}, nil))
	tight := sqlguard.New(policyOf(t, []string{"app.t"}, []string{"app"}, nil))
	for _, sql := range []string{
		"ALTER TABLE app.t ADD EXCLUDE USING btree (id WITH OPERATOR(app.===))",
		"ALTER TABLE app.t ADD CONSTRAINT x EXCLUDE USING gist (during WITH &&, id WITH OPERATOR(app.===)) WHERE (id > 0)",
		"CREATE TABLE app.n (id int, EXCLUDE USING btree (id WITH OPERATOR(app.===)))",
		"CREATE TABLE app.n (id int, CONSTRAINT x EXCLUDE (id WITH OPERATOR(app.===)))",
	} {
		st, err := g.Migration(t.Context(), s.Writer().Catalog(), sql)
		require.NoError(t, err, sql)
		require.Equal(t, []string{"app.same"}, st.Volatile(), sql)
		_, err = tight.Migration(t.Context(), s.Writer().Catalog(), sql)
		requireRefused(t, refusal.FunctionNotAllowed, err, sql)
	}
	st, err := tight.Migration(t.Context(), s.Writer().Catalog(), "ALTER TABLE app.t ADD EXCLUDE USING gist (during WITH &&, int4range(id, id, '[]') WITH -|-)")
	require.NoError(t, err)
	require.Empty(t, st.Volatile())
}
