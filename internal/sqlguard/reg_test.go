package sqlguard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const namesSQL = `
	CREATE SCHEMA app; CREATE SCHEMA secret; GRANT USAGE ON SCHEMA app, secret TO readonly, writer;
	CREATE TABLE secret.hushed (id int);
	CREATE DOMAIN app.ref AS regclass; CREATE TYPE app.pair AS (a int, r regclass);
	CREATE TABLE app.t (id int, name text, lang regconfig DEFAULT 'simple');
	CREATE TABLE app.refs (id int, r regclass, d app.ref, p app.pair, many regclass[], t regtype);
	CREATE VIEW app.v AS SELECT id, tableoid::regclass AS of FROM app.t;
	INSERT INTO app.t (id, name) VALUES (1, 'x'); INSERT INTO app.refs VALUES (1, 'app.t', 'app.t', ROW(1, 'app.t'), '{app.t}', 'int');
	GRANT ALL ON ALL TABLES IN SCHEMA app, secret TO readonly, writer`

// A value of a reg* type makes Postgres read what stands beside it as the same type, and print it as the
// name of whatever has that number. Each row is a way that the server takes; {} is the hidden table's OID.
func TestNamesOfNumbersStayHidden(t *testing.T) {
	t.Parallel()
	s := newServer(t, namesSQL)
	oid := s.pg.Query(t, "SELECT 'secret.hushed'::regclass::oid::text")[0][0]
	row := s.pg.Query(t, "SELECT 'secret.hushed'::regtype::oid::text")[0][0]
	tight := sqlguard.New(policyOf(t, []string{"app.t", "app.refs", "app.v", "pg_catalog.pg_am"}, nil, nil))
	open := sqlguard.New(sqlguard.Policy{})
	fill := strings.NewReplacer("{}", oid, "{type}", row)
	for _, c := range []struct {
		sql    string
		params []string
	}{
		{sql: "SELECT string_agg(a::text, ' ') FROM (VALUES ('app.t'::regclass), ('{}')) v(a)"},
		{sql: "VALUES ('app.t'::regclass), ('{}')"},
		{sql: "SELECT 'app.t'::regclass UNION ALL SELECT '{}'"},
		{sql: "SELECT '{}' UNION ALL SELECT 'app.t'::regclass ORDER BY 1"},
		{sql: "SELECT CASE WHEN id = 1 THEN '{}' ELSE 'app.t'::regclass END FROM app.t"},
		{sql: "SELECT CASE WHEN id = 1 THEN '{}' ELSE tableoid::regclass END FROM app.t"},
		{sql: "SELECT coalesce('{}', 'app.t'::regclass)"},
		{sql: "SELECT greatest('{}', 'app.t'::regclass)"},
		{sql: "SELECT nullif('{}', 'app.t'::regclass)"},
		{sql: "SELECT ARRAY['app.t'::regclass, '{}']"},
		{sql: "SELECT ARRAY['app.t'::regclass, $1]", params: []string{oid}},
		{sql: "SELECT array_append(ARRAY['app.t'::regclass], '{}')"},
		{sql: "SELECT array_append(ARRAY[tableoid::regclass], $1) FROM app.t", params: []string{oid}},
		{sql: "SELECT array_fill('app.t'::regclass, ARRAY[1]) || '{{}}'"},
		{sql: "SELECT 'app.t'::regclass || '{{}}'"},
		{sql: "SELECT lag('app.t'::regclass, 1, '{}') OVER ()"},
		{sql: "SELECT lag(x, 1, '{}') OVER () FROM (SELECT 'app.t'::regclass AS x) s"},
		{sql: "SELECT lead(r, 1, '{}') OVER () FROM app.refs"},
		{sql: "SELECT coalesce(tableoid::regclass, '{}') FROM app.t"},
		{sql: "SELECT regclass('app.t') UNION SELECT '{}'"},
		{sql: "SELECT to_regclass('app.t') UNION SELECT '{}'"},
		{sql: "SELECT ARRAY[pg_typeof(1), '{type}']"},
		{sql: "SELECT ARRAY[t.pg_typeof, '{type}'] FROM app.t t"},
		{sql: "SELECT ARRAY[(t).pg_typeof, '{type}'] FROM app.t t"},
		{sql: "SELECT ARRAY['int'::regtype, '{type}']"},
		{sql: "SELECT array_append(ARRAY['app'::regnamespace], (SELECT 'secret'::regnamespace::oid))"},
		{sql: "SELECT ARRAY['now'::regproc, '1']"},
		{sql: "SELECT ARRAY['lower(text)'::regprocedure, '1']"},
		{sql: "SELECT ARRAY['|/'::regoper, '1']"},
		{sql: "SELECT ARRAY['~~(text,text)'::regoperator, '1']"},
		{sql: "SELECT ARRAY['readonly'::regrole, '10']"},
		{sql: "SELECT ARRAY['simple'::regconfig, '1']"},
		{sql: "SELECT ARRAY[get_current_ts_config(), '1']"},
		{sql: "SELECT ARRAY['simple'::regdictionary, '1']"},
		{sql: `SELECT ARRAY['"C"'::regcollation, '1']`},
		{sql: "SELECT pg_partition_root('app.t') UNION SELECT '{}'"},
		{sql: "SELECT relid FROM pg_partition_tree('app.t') UNION SELECT '{}'"},
		{sql: "SELECT (pg_partition_tree('app.t')).relid UNION SELECT '{}'"},
		{sql: "SELECT fktable FROM pg_get_catalog_foreign_keys() UNION SELECT '{}'"},
		{sql: "SELECT oidvectortypes('{type}')"},
		{sql: "SELECT r FROM app.refs UNION SELECT '{}'"},
		{sql: "TABLE app.refs UNION ALL SELECT 2, '{}', null, null, null, null"},
		{sql: "SELECT * FROM app.refs UNION ALL SELECT 2, '{}', null, null, null, null"},
		{sql: "SELECT x.* FROM app.refs x UNION ALL SELECT 2, '{}', null, null, null, null"},
		{sql: "SELECT coalesce(null, x.r, '{}') FROM app.refs x"},
		{sql: "SELECT coalesce(null, refs.r, '{}') FROM app.refs"},
		{sql: "SELECT coalesce(null, app.refs.r, '{}') FROM app.refs"},
		{sql: "SELECT coalesce(d, '{}') FROM app.refs"},
		{sql: "SELECT coalesce((p).r, '{}') FROM app.refs"},
		{sql: "SELECT coalesce(many, '{{}}') FROM app.refs"},
		{sql: "SELECT coalesce((x).r, '{}') FROM app.refs x"},
		{sql: "SELECT coalesce(b, '{}') FROM app.refs x(a, b)"},
		{sql: "SELECT coalesce(b, '{}') FROM (app.refs CROSS JOIN app.t) j(a, b)"},
		{sql: "SELECT coalesce(j.r, '{}') FROM (app.refs CROSS JOIN app.v) j"},
		{sql: "SELECT (json_populate_record(j, '{\"r\": \"{}\"}')).r FROM app.refs j"},
		{sql: "SELECT row_to_json(json_populate_record(j, '{\"r\": \"{}\"}')) FROM app.refs j"},
		{sql: "SELECT coalesce(s.r, '{}') FROM (SELECT * FROM app.refs) s"},
		{sql: "WITH s AS (TABLE app.refs) SELECT coalesce(r, '{}') FROM s"},
		{sql: "WITH s AS (SELECT r AS y FROM app.refs) SELECT coalesce(y, '{}') FROM s"},
		{sql: "SELECT coalesce(s.y, '{}') FROM app.t, LATERAL (SELECT tableoid::regclass AS y FROM app.t) s"},
		{sql: "SELECT coalesce(of, '{}') FROM app.v"},
		{sql: "SELECT coalesce(amhandler, '1') FROM pg_am"},
		{sql: "SELECT coalesce(lang, '1') FROM app.t"},
		{sql: "SELECT jsonb_agg(x) FROM (SELECT 'app.t'::regclass UNION SELECT '{}') x"},
		{sql: "SELECT id FROM app.refs WHERE coalesce(r, '{}')::text ~ 'secret.h'"},
		{sql: "SELECT id FROM app.refs WHERE r IN ('app.t', 'secret.hushed')"},
		{sql: "SELECT relid FROM (SELECT relid FROM pg_partition_tree('app.t')) s UNION SELECT '{}'"},
		{sql: "SELECT coalesce(a, '{}') FROM pg_partition_tree('app.t') p(a)"},
		{sql: "SELECT coalesce(a, '{}') FROM (pg_partition_tree('app.t') p CROSS JOIN app.t) j(a)"},
		{sql: "SELECT row_to_json(p) FROM pg_partition_tree('app.t') p"},
		{sql: "SELECT coalesce(a, '{}') FROM ROWS FROM (pg_partition_ancestors('app.t'), generate_series(1, 2)) r(a, b)"},
		{sql: "SELECT * FROM pg_partition_ancestors('app.t') UNION SELECT '{}'"},
	} {
		sql := fill.Replace(c.sql)
		var params []json.RawMessage
		for _, p := range c.params {
			params = append(params, json.RawMessage(fmt.Sprintf("%q", p)))
		}
		_, err := s.read(t, open, sql, params...)
		require.NoError(t, err, "Postgres takes %s", sql)
		_, err = tight.Read(t.Context(), s.Readonly().Catalog(), sql, params)
		requireRefused(t, refusal.FunctionNotAllowed, err, sql)
	}
	for _, sql := range []string{
		"SELECT 'app.t'::regclass, tableoid::regclass, pg_typeof(id), to_regclass('app.t'), 'int'::regtype, 'now'::regproc FROM app.t",
		"SELECT tableoid::regclass, count(*) FROM app.t GROUP BY 1", "SELECT tableoid::regclass AS x FROM app.t GROUP BY tableoid::regclass ORDER BY tableoid::regclass",
		"SELECT id FROM app.t WHERE tableoid = 'app.t'::regclass", "SELECT id FROM app.t WHERE tableoid IN ('app.t'::regclass, 'app.refs'::regclass)",
		"SELECT id FROM app.t WHERE pg_typeof(name) = 'text'::regtype", "SELECT id FROM app.t WHERE pg_typeof(name)::text = 'text'",
		"SELECT 'app.t'::regclass::oid UNION SELECT 1", "SELECT ARRAY['app.t'::regclass::text, '{}']", "SELECT coalesce(tableoid::regclass::text, '{}') FROM app.t",
		"SELECT id FROM app.t WHERE to_regclass('app.t') IS NOT NULL", "SELECT pg_relation_size('app.t'::regclass), obj_description('app.t'::regclass, 'pg_class'), has_table_privilege('app.t'::regclass, 'select')",
		"SELECT format_type('int'::regtype, -1)", "SELECT to_tsvector('simple', name), to_tsvector('simple'::regconfig, name), to_tsvector(lang, name), to_tsvector(name::regconfig, 'x') FROM app.t WHERE false",
		"SELECT to_tsvector(get_current_ts_config(), name) FROM app.t",
		"SELECT * FROM app.refs", "SELECT r, d, p, many, t FROM app.refs", "SELECT x FROM app.refs x", "SELECT id FROM app.refs UNION SELECT 1", "SELECT count(*), count(r) FROM app.refs",
		"SELECT id FROM app.refs ORDER BY r", "SELECT r::text FROM app.refs UNION SELECT '{}'", "SELECT r.id FROM app.refs r JOIN app.t t ON t.tableoid = r.r", "SELECT coalesce(t.name, 'x') FROM app.refs r JOIN app.t t ON true",
		"SELECT amname FROM pg_am", "SELECT * FROM app.v", "SELECT pg_partition_root('app.t')::text", "SELECT count(*) FROM pg_partition_tree('app.t')", "SELECT relid, level FROM pg_partition_tree('app.t') ORDER BY level",
		"SELECT t.id::text FROM app.t t JOIN pg_partition_tree('app.t') p ON p.relid = t.tableoid", "SELECT id FROM app.refs WHERE r = '{}'", "SELECT id FROM app.refs WHERE r <> '{}' OR r = 'app.t'::regclass",
	} {
		sql = fill.Replace(sql)
		got, err := s.read(t, tight, sql)
		require.NoError(t, err, sql)
		require.NotContains(t, fmt.Sprint(got), "hushed", sql)
	}
}

// The same in writes: in where, in a value to set, and as the value of a column that shows it.
func TestWritesShowNoNamesOfNumbers(t *testing.T) {
	t.Parallel()
	s := newServer(t, namesSQL)
	p := policyOf(t, []string{"app.t", "app.refs"}, []string{"app"}, nil)
	tight, open := sqlguard.New(p), sqlguard.New(sqlguard.Policy{Write: p.Write})
	cat := s.Writer().Catalog()
	both := func(what string, run func(*sqlguard.Guard) error) {
		require.NoError(t, run(open), what)
		requireRefused(t, refusal.FunctionNotAllowed, run(tight), what)
	}
	for _, expr := range []string{
		"(SELECT string_agg(a::text, ' ') FROM (VALUES ('app.t'::regclass), ('16385')) v(a))", "(ARRAY['app.t'::regclass, '16385'])[2]::text",
		"coalesce(tableoid::regclass, '16385')::text", "CASE WHEN id = 1 THEN '16385' ELSE pg_typeof(id) END::text", "oidvectortypes('16385')",
	} {
		both(expr, func(g *sqlguard.Guard) error {
			_, err := g.Delete(t.Context(), cat, sqlguard.DeleteSpec{Table: "app.t", Where: "name = " + expr})
			return err
		})
		both(expr, func(g *sqlguard.Guard) error {
			_, err := g.Update(t.Context(), cat, sqlguard.UpdateSpec{Table: "app.t", Where: "id = 1", SetExpressions: []sqlguard.SetExpr{{Column: "name", Expr: expr}}})
			return err
		})
	}
	for _, where := range []string{"coalesce(r, '16385') = 1", "r IN ('app.t', 'app.refs')", "d::regclass = '1'", "(p).r = '16385'", "many @> '{16385}'", "(refs).r = '16385'", "coalesce(refs, null) IS NULL"} {
		both(where, func(g *sqlguard.Guard) error {
			_, err := g.Delete(t.Context(), cat, sqlguard.DeleteSpec{Table: "app.refs", Where: where})
			return err
		})
	}
	for _, column := range []string{"r", "d", "p", "many", "t"} {
		value := json.RawMessage(`"16385"`)
		both("set "+column, func(g *sqlguard.Guard) error {
			_, err := g.Update(t.Context(), cat, sqlguard.UpdateSpec{Table: "app.refs", Where: "id = 1", Set: []sqlguard.SetValue{{Column: column, Value: value}}})
			return err
		})
		both("insert "+column, func(g *sqlguard.Guard) error {
			_, err := g.Insert(t.Context(), cat, sqlguard.InsertSpec{Table: "app.refs", Columns: []string{column}, Rows: [][]json.RawMessage{{value}}})
			return err
		})
	}
	for _, where := range []string{"id = 1", "r::text = 'app.t'", "r::oid = 1", "r = '16385'", "tableoid = 'app.refs'::regclass", "r IS NULL", "refs::text ~ 's'"} {
		_, err := tight.Delete(t.Context(), cat, sqlguard.DeleteSpec{Table: "app.refs", Where: where})
		require.NoError(t, err, where)
	}
	_, err := tight.Update(t.Context(), cat, sqlguard.UpdateSpec{Table: "app.refs", Where: "id = 1", SetExpressions: []sqlguard.SetExpr{{Column: "r", Expr: "DEFAULT"}, {Column: "id", Expr: "'app.t'::regclass::oid::int"}}})
	require.NoError(t, err)
}

// Nor does a migration make a place where numbers become names.
func TestMigrationsMakeNoNamesOfNumbers(t *testing.T) {
	t.Parallel()
	s := newServer(t, namesSQL)
	p := policyOf(t, []string{"app.t", "app.refs"}, []string{"app"}, nil)
	tight, open := sqlguard.New(p), sqlguard.New(sqlguard.Policy{Write: p.Write})
	for _, text := range []string{
		"ALTER TABLE app.t ALTER COLUMN id TYPE regclass USING id::oid", "ALTER TABLE app.t ADD COLUMN r regclass DEFAULT '16385'", "ALTER TABLE app.t ADD COLUMN r app.ref",
		"CREATE TABLE app.x (r regclass)", "CREATE TABLE app.x (r regclass[])", "CREATE TABLE app.x (r regtype DEFAULT 'int')", "CREATE DOMAIN app.x AS regclass",
		"CREATE VIEW app.x AS SELECT tableoid::regclass FROM app.t", "CREATE VIEW app.x AS SELECT CASE WHEN true THEN '16385' ELSE pg_typeof(1) END", "CREATE TABLE app.x AS SELECT * FROM app.refs",
		"ALTER TABLE app.refs ALTER COLUMN r SET DEFAULT '16385'::regclass", "CREATE TABLE app.x AS TABLE app.refs",
	} {
		_, err := open.Migration(t.Context(), s.Writer().Catalog(), text)
		require.NoError(t, err, text)
		_, err = tight.Migration(t.Context(), s.Writer().Catalog(), text)
		requireRefused(t, refusal.FunctionNotAllowed, err, text)
	}
	for _, text := range []string{
		"CREATE VIEW app.x AS SELECT id, tableoid::regclass::text AS of FROM app.t", "ALTER TABLE app.refs ADD COLUMN n int", "CREATE INDEX ON app.refs (r)", "ALTER TABLE app.refs DROP COLUMN r",
	} {
		_, err := tight.Migration(t.Context(), s.Writer().Catalog(), text)
		require.NoError(t, err, text)
	}
}
