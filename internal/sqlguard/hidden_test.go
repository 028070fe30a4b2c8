package sqlguard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Functions of the database's own may read hidden tables and show them, also in the text of an error
// or from inside a subtransaction, which no witness of locks sees. Under a read allowlist (S12) they are
// refused however they are reached and whatever their volatility, unless the operator named them.
func TestOwnFunctionsUnderAReadAllowlist(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	write := mustList([]string{"public", "app"}, nil)
	hiding := Policy{Read: mustList([]string{"public"}, nil), Write: write}
	named := hiding
	named.AllowFunctions = []string{"title_of", "public.alike", "is_checked", "app.steady", "touch", "app.boom", "round"}
	for _, expr := range []string{
		"title_of(1)", "app.steady() is null", "1 === 2", "1 operator(public.===) 2", "'x'::checked", "checked('x')", "cast('x' as checked)",
		"c.title_of", "(c).title_of", "(select title_of(1))", "array(select title_of(1))", "coalesce(null, title_of(1))",
		"(select max(title_of(1)) from orders)", "row(title_of(1)) is null", "3 === any(array[1])", "round(1.5)",
	} {
		calls := map[string]func(*Guard) error{
			"read": func(g *Guard) error {
				_, err := g.Read(ctx, newFake(), "select "+expr+" from customers c", nil)
				return err
			},
			"read, lateral": func(g *Guard) error {
				_, err := g.Read(ctx, newFake(), "select 1 from customers c, lateral (select "+expr+") s", nil)
				return err
			},
		}
		if !strings.Contains(expr, "c.") && !strings.Contains(expr, "(c)") {
			calls["where"] = func(g *Guard) error {
				_, err := g.Delete(ctx, newFake(), DeleteSpec{Table: "customers", Where: "(" + expr + ") is null"})
				return err
			}
			calls["set"] = func(g *Guard) error {
				_, err := g.Update(ctx, newFake(), UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{"name", expr}}})
				return err
			}
			for i, ddl := range []string{
				"create view app.v as select %s", "create table app.x as select %s", "create table app.x (a text default (%s))",
				"create table app.x (a text check ((%s) is null))", "create index on customers ((%s))", "alter table customers add column a text default (%s)",
				"create table app.x (a int generated always as (%s) stored)",
			} {
				calls[fmt.Sprint("ddl ", i)] = func(g *Guard) error {
					_, err := g.Migration(ctx, newFake(), fmt.Sprintf(ddl, expr))
					return err
				}
			}
		}
		for name, call := range calls {
			err := call(New(hiding))
			require.Error(t, err, "%s in %s", expr, name)
			requireCode(t, refusal.FunctionNotAllowed, err)
			r, _ := refusal.As(err)
			require.Contains(t, r.Hint, "query.allowFunctions", "%s in %s: %s", expr, name, r.Message)
			require.NoError(t, call(New(named)), "%s in %s, named", expr, name)
			open := New(Policy{Write: write, AllowFunctions: []string{"round"}})
			require.NoError(t, call(open), "%s in %s, without an allowlist", expr, name)
		}
	}
	// Through a view too; functions of extensions and of the system are what they were.
	_, err := New(hiding).Read(ctx, newFake(), "select * from over_boom", nil)
	requireCode(t, refusal.FunctionNotAllowed, err)
	_, err = New(named).Read(ctx, newFake(), "select * from over_boom", nil)
	require.NoError(t, err)
	_, err = New(hiding).Read(ctx, newFake(), "select similarity(name, 'x'), lower(name), name::citext from customers", nil)
	require.NoError(t, err)
}

// What the system shows for a number or a name: functions, types and their spellings.
func TestMetadataIsHidden(t *testing.T) {
	t.Parallel()
	ctx, cat := context.Background(), newFake()
	for sql, code := range map[string]refusal.Code{
		"select format_type(16390, -1)": refusal.FunctionNotAllowed, "select format_type(g, -1) from generate_series(1, 9) g": refusal.FunctionNotAllowed,
		"select format_type('16390', -1)": refusal.FunctionNotAllowed, "select format_type(16390::oid, -1)": refusal.FunctionNotAllowed,
		"select format_type('secret.salaries'::regtype, -1)": refusal.TableNotAllowlisted, "select format_type($1::oid, -1)": refusal.FunctionNotAllowed,
		"select pg_stat_get_live_tuples(16390)": refusal.FunctionNotAllowed, "select pg_stat_get_live_tuples('public.orders'::regclass)": refusal.FunctionNotAllowed,
		"select pg_catalog.pg_stat_get_numscans(16390)": refusal.FunctionNotAllowed,
		"select pg_get_functiondef(16390)":              refusal.FunctionNotAllowed, "select pg_get_functiondef('public.touch'::regproc)": refusal.FunctionNotAllowed,
		"select pg_get_function_arguments(16390)": refusal.FunctionNotAllowed, "select pg_get_function_result(16390)": refusal.FunctionNotAllowed,
		"select pg_get_object_address('table', '{secret,salaries}', '{}')": refusal.FunctionNotAllowed,
		"select pg_describe_object('pg_am'::regclass, 16390, 0)":           refusal.FunctionNotAllowed,
		"select pg_get_publication_tables('p')":                            refusal.FunctionNotAllowed, "select pg_table_is_visible(16390)": refusal.FunctionNotAllowed,
		"select pg_get_constraintdef(16390)":                                       refusal.FunctionNotAllowed,
		"select has_table_privilege('secret.salaries', 'select')":                  refusal.TableNotAllowlisted,
		"select has_table_privilege(current_user, 'secret.salaries', 'select')":    refusal.TableNotAllowlisted,
		"select has_table_privilege('me', 'secret.salaries'::regclass, 'select')":  refusal.TableNotAllowlisted,
		"select has_table_privilege(16390, 'select')":                              refusal.FunctionNotAllowed,
		"select has_table_privilege(name, 'select') from customers":                refusal.FunctionNotAllowed,
		"select has_table_privilege('secret.' || 'salaries', 'select')":            refusal.FunctionNotAllowed,
		"select has_table_privilege('secret.salariesX'::varchar(15), 'select')":    refusal.FunctionNotAllowed,
		"select has_column_privilege('secret.salaries', 'amount', 'select')":       refusal.TableNotAllowlisted,
		"select has_column_privilege('me', 'secret.salaries', 'amount', 'select')": refusal.TableNotAllowlisted,
		"select has_any_column_privilege('secret.salaries', 'select')":             refusal.TableNotAllowlisted,
		"select has_sequence_privilege('16390', 'usage')":                          refusal.FunctionNotAllowed,
		"select has_schema_privilege('secret', 'usage')":                           refusal.FunctionNotAllowed,
		"select has_type_privilege('secret.salaries', 'usage')":                    refusal.FunctionNotAllowed,
		"select has_function_privilege('secret.f()', 'execute')":                   refusal.FunctionNotAllowed,
		"select 16390::regtype":                                                                refusal.FunctionNotAllowed,
		"select '16390'::regtype":                                                              refusal.FunctionNotAllowed,
		"select 16390::regproc":                                                                refusal.FunctionNotAllowed,
		"select '16390'::regprocedure":                                                         refusal.FunctionNotAllowed,
		"select 16390::pg_catalog.regprocedure":                                                refusal.FunctionNotAllowed,
		"select regproc(16390)":                                                                refusal.FunctionNotAllowed,
		"select cast(g as regnamespace) from generate_series(1, 9) g":                          refusal.FunctionNotAllowed,
		"select '{16390}'::regtype[]":                                                          refusal.FunctionNotAllowed,
		"select * from json_to_recordset('[]') as x(a regprocedure)":                           refusal.FunctionNotAllowed,
		"select 'secret.salaries'::regtype":                                                    refusal.TableNotAllowlisted,
		"select 'secret.salaries[]'::regtype":                                                  refusal.TableNotAllowlisted,
		"select regtype('secret.salaries')":                                                    refusal.TableNotAllowlisted,
		"select 'secret._salaries'::regtype":                                                   refusal.TableNotAllowlisted,
		"select null::secret._salaries":                                                        refusal.TableNotAllowlisted,
		"select null::secret.salaries[]":                                                       refusal.TableNotAllowlisted,
		"select (salaries('(1,2)')).amount":                                                    refusal.TableNotAllowlisted,
		"select to_regtype('secret.salaries')":                                                 refusal.TableNotAllowlisted,
		"select to_regtype(name) from customers":                                               refusal.FunctionNotAllowed,
		"select to_regproc(name) from customers":                                               refusal.FunctionNotAllowed,
		"select to_regnamespace('secret' || '')":                                               refusal.FunctionNotAllowed,
		"select pg_input_is_valid('x', 'secret.salaries')":                                     refusal.TableNotAllowlisted,
		"select pg_input_is_valid('secret.salaries', 'regclass')":                              refusal.FunctionNotAllowed,
		"select pg_input_is_valid('secret.salaries', name) from customers":                     refusal.FunctionNotAllowed,
		"select row_to_json(record_in('(,)', 16390, -1))":                                      refusal.FunctionNotAllowed,
		"select array_in('{16390}', 2205, -1)::text":                                           refusal.FunctionNotAllowed,
		"select domain_in('16390', 16500, -1)":                                                 refusal.FunctionNotAllowed,
		"select regtypeout(16390)":                                                             refusal.FunctionNotAllowed,
		"select 16390::anyref":                                                                 refusal.FunctionNotAllowed,
		"select anyref(16390)":                                                                 refusal.FunctionNotAllowed,
		"select '{16390}'::refs":                                                               refusal.FunctionNotAllowed,
		"select information_schema._pg_index_position(16390, 1::int2)":                         refusal.FunctionNotAllowed,
		"select tableoid::regclass from (select g as tableoid from generate_series(1, 9) g) s": refusal.FunctionNotAllowed,
		"select tableoid::regclass from (values (16390)) s(tableoid)":                          refusal.FunctionNotAllowed,
		"with s(tableoid) as (values (16390)) select tableoid::regclass from s":                refusal.FunctionNotAllowed,
		"select tableoid::regclass from orders o(tableoid)":                                    refusal.FunctionNotAllowed,
		"select tableoid::regclass from json_to_record('{}') as x(tableoid oid)":               refusal.FunctionNotAllowed,
		"select tableoid::regclass from active_customers":                                      refusal.FunctionNotAllowed,

		"select format_type(23, null), format_type('integer'::regtype, -1), format_type('public.orders'::regtype, -1)":         "",
		"select has_table_privilege('public.orders', 'select'), has_table_privilege('me', 'orders', 'select')":                 "",
		"select has_column_privilege('orders', 'id', 'select'), has_schema_privilege('public', 'usage')":                       "",
		"select has_database_privilege('d', 'connect'), pg_has_role('r', 'usage')":                                             "",
		"select 'timestamp with time zone'::regtype, 'numeric(10,2)'::regtype, 'public.orders'::regtype, 'integer[]'::regtype": "",
		"select 'lower'::regproc, to_regproc('lower'), to_regtype('integer'), null::orders, null::orders[]":                    "",
		"select 'not a type at all, (select 1)'::regtype":                                                                      "",
		"select tableoid::regclass, count(*) from orders group by 1":                                                           "",
		"select o.tableoid::regclass from orders o join (select 1 as x) s on true":                                             "",
		"select pg_input_is_valid('1', 'integer'), pg_partition_tree('public.orders'), pg_blocking_pids(1)":                    "",
		"select pg_partition_tree(16390)":                  refusal.FunctionNotAllowed,
		"select pg_partition_ancestors('secret.salaries')": refusal.TableNotAllowlisted,
	} {
		var params []json.RawMessage
		if strings.Contains(sql, "$1") {
			params = raws("16390")
		}
		_, err := tightGuard().Read(ctx, cat, sql, params)
		if code == "" {
			require.NoError(t, err, sql)
			continue
		}
		require.Error(t, err, sql)
		r, ok := refusal.As(err)
		require.True(t, ok, "%s: %v", sql, err)
		require.Equal(t, code, r.Code, "%s: %s", sql, r.Message)
		require.NotEmpty(t, r.Hint)
	}
	for _, sql := range []string{
		"select format_type(16390, -1), pg_stat_get_live_tuples(16390), 16390::regtype, pg_get_functiondef(16390), 16390::anyref",
		"select has_table_privilege(name, 'select'), to_regtype(name), tableoid::regclass from customers", "select null::secret._salaries",
		"select pg_partition_tree('public.orders'), pg_partition_ancestors('public.orders'), pg_blocking_pids(1)",
	} {
		_, err := openGuard().Read(ctx, cat, sql, nil)
		require.NoError(t, err, "without an allowlist: %s", sql)
	}
}
