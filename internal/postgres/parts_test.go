package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const partsSchema = `
	CREATE TABLE open (id int PRIMARY KEY); INSERT INTO open VALUES (1);
	CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO readonly;
	CREATE TABLE app.closed (secret text); INSERT INTO app.closed VALUES ('hush');
	GRANT SELECT ON open, app.closed TO readonly;
	CREATE DOMAIN anyref AS regclass; CREATE DOMAIN more AS anyref; CREATE TYPE pair AS (a int, b more);
	CREATE DOMAIN rows AS app.closed; CREATE TYPE plain AS (a int); CREATE TYPE refs AS RANGE (SUBTYPE = oid)`

// What a type is made of is found at any depth: a cast to it shows what a cast to the part shows.
func TestCatalogTypeParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, partsSchema)
	f := lookup(t, b.Readonly(), sqlguard.Lookup{Types: []sqlguard.Name{
		{Name: "anyref"},
		{Name: "more"},
		{Name: "pair"},
		{Schema: "app", Name: "_closed"},
		{Name: "rows"},
		{Name: "open"},
		{Name: "plain"},
		{Name: "int4"},
		{Name: "_anyref"},
		{Name: "no_such"},
	}}, false)
	parts := map[string][]string{}
	for n, list := range f.TypeParts {
		for _, p := range list {
			parts[n.Name] = append(parts[n.Name], p.String()+string(p.Kind|' '))
		}
	}
	regclass := []string{"pg_catalog.regclass "}
	require.Equal(t, map[string][]string{
		"anyref": regclass, "more": regclass, "pair": regclass, "_anyref": regclass,
		"_closed": {"app.closedr"}, "rows": {"app.closedr"}, "open": {"public.openr"},
	}, parts)
}

// TestS12NamesStayHidden tries on a real server to learn of app.closed by its number or name, with only
// public.open in the read allowlist. Each of these shows something where nothing is hidden.
func TestS12NamesStayHidden(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.PG.Exec(t, partsSchema)
	oid := b.PG.Query(t, "SELECT 'app.closed'::regclass::oid::text")[0][0]
	rowType := b.PG.Query(t, "SELECT 'app.closed'::regtype::oid::text")[0][0]
	pool := b.Readonly()
	query := func(g *sqlguard.Guard, sql string) (*postgres.QueryResult, error) {
		st, err := g.Read(t.Context(), pool.Catalog(), sql, nil)
		if err != nil {
			return nil, err
		}
		return pool.Query(t.Context(), st, postgres.QueryLimits{})
	}
	open, hiding := sqlguard.New(sqlguard.Policy{}), readAllow(t, "public.open")
	for _, sql := range []string{
		"SELECT " + oid + "::regclass", "SELECT " + oid + "::anyref", "SELECT more(" + oid + "::oid)::text", "SELECT ('(1," + oid + ")'::pair)::text",
		"SELECT format_type(" + rowType + ", NULL)", "SELECT " + rowType + "::regtype", "SELECT '" + rowType + "'::regtype", "SELECT regtypeout(" + rowType + ")",
		"SELECT row_to_json(record_in('(1)', " + rowType + ", -1))", "SELECT array_in('{" + oid + "}', 2205, -1)::text",
		"SELECT (x[1]).* FROM (SELECT NULL::app._closed AS x) s", "SELECT row_to_json(('(1)'::rows))", "SELECT 'app.closed'::regtype", "SELECT 'app.closed[]'::regtype",
		"SELECT to_regtype('app.closed')", "SELECT to_regclass('app.closed')", "SELECT pg_stat_get_numscans(" + oid + ")", "SELECT has_table_privilege('app.closed', 'select')",
		"SELECT has_table_privilege(" + oid + ", 'select')", "SELECT has_column_privilege('app.closed', 'secret', 'select')", "SELECT has_schema_privilege('app', 'usage')",
		"SELECT pg_table_is_visible(" + oid + ")", "SELECT classid FROM pg_get_object_address('table', '{app,closed}', '{}')",
		"SELECT pg_identify_object('pg_class'::regclass, " + oid + ", 0)", "SELECT pg_relation_size('app.closed')",
		"SELECT tableoid::regclass FROM (SELECT " + oid + " AS tableoid) s",
	} {
		r, err := query(open, sql)
		require.NoError(t, err, sql)
		require.NotEmpty(t, r.Rows, sql)
		_, err = query(hiding, sql)
		require.Error(t, err, sql)
		require.True(t, refusal.Is(err, refusal.FunctionNotAllowed) || refusal.Is(err, refusal.TableNotAllowlisted), "%s: %v", sql, err)
	}
	for _, sql := range []string{
		"SELECT tableoid::regclass, id FROM open", "SELECT 'open'::regclass, 'open'::regtype, '1'::text::int, pg_relation_size('open')", "SELECT format_type(23, NULL), 'int[]'::regtype",
		"SELECT has_table_privilege('public.open', 'select'), has_schema_privilege('public', 'usage')", "SELECT row_to_json(NULL::open), o.id, (o).id FROM open o",
		"SELECT count(*) FROM pg_partition_tree('open')", "SELECT pg_blocking_pids(pg_backend_pid())",
	} {
		_, err := query(hiding, sql)
		require.NoError(t, err, sql)
	}
}
