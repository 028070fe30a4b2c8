package sqlguard

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// With a read allowlist, names must not be talked around it (S12; the second witness is tried on a
// real server where the statement runs).
func TestReadAllowlist(t *testing.T) {
	t.Parallel()
	cat := newFake()
	for _, sql := range []string{
		"select * from orders", "select * from public.orders", "table active_customers",
		"select 'public.orders'::regclass", "select pg_total_relation_size('orders')", "select to_regclass('nothing')",
		"select name from pg_timezone_names", "select * from information_schema.sql_features",
	} {
		_, err := tightGuard().Read(context.Background(), cat, sql, nil)
		require.NoError(t, err, sql)
	}
	for sql, code := range map[string]refusal.Code{
		"select * from secret.salaries":                               refusal.TableNotAllowlisted,
		`select * from "secret"."salaries"`:                           refusal.TableNotAllowlisted,
		`select * from U&"secr\0065t".salaries`:                       refusal.TableNotAllowlisted,
		"select * from only secret.salaries":                          refusal.TableNotAllowlisted,
		"table secret.salaries":                                       refusal.TableNotAllowlisted,
		"select (select max(amount) from secret.salaries)":            refusal.TableNotAllowlisted,
		"with salaries as (select 1) select * from secret.salaries":   refusal.TableNotAllowlisted,
		"select * from app.t":                                         refusal.TableNotAllowlisted,
		"select * from pg_class":                                      refusal.TableNotAllowlisted,
		"select * from pg_attribute":                                  refusal.TableNotAllowlisted,
		"select * from pg_stats":                                      refusal.TableNotAllowlisted,
		"select * from information_schema.tables":                     refusal.TableNotAllowlisted,
		"select * from mcp_audit.log":                                 refusal.TableNotAllowlisted,
		"select 'secret.salaries'::regclass":                          refusal.TableNotAllowlisted,
		"select regclass 'secret.salaries'":                           refusal.TableNotAllowlisted,
		"select cast('secret.salaries' as regclass)":                  refusal.TableNotAllowlisted,
		"select regclass('secret.salaries')":                          refusal.TableNotAllowlisted,
		"select pg_relation_size('secret.salaries')":                  refusal.TableNotAllowlisted,
		"select pg_relation_size('secret.salaries'::regclass)":        refusal.TableNotAllowlisted,
		"select to_regclass('secret.salaries')":                       refusal.TableNotAllowlisted,
		"select pg_relation_size(16390)":                              refusal.FunctionNotAllowed,
		"select pg_relation_size('16390')":                            refusal.FunctionNotAllowed,
		"select g::regclass from generate_series(16384, 17000) g":     refusal.FunctionNotAllowed,
		"select '16390'::regclass":                                    refusal.FunctionNotAllowed,
		"select ('secret.' || 'salaries')::regclass":                  refusal.FunctionNotAllowed,
		"select '{secret.salaries}'::regclass[]":                      refusal.FunctionNotAllowed,
		"select obj_description(16390, 'pg_class')":                   refusal.FunctionNotAllowed,
		"select table_to_xml('secret.salaries', true, true, '')":      refusal.FunctionNotAllowed,
		"select pg_get_viewdef('salaries_view')":                      "",
		"select pg_get_viewdef((select 1))":                           refusal.FunctionNotAllowed,
		"select null::secret.salaries":                                refusal.TableNotAllowlisted,
		"select * from json_to_recordset('[]') as x(a regclass)":      refusal.FunctionNotAllowed,
		"select id from orders where exists (table secret.salaries)":  refusal.TableNotAllowlisted,
		"select * from (values (1)) v, lateral (table app.t) x":       refusal.TableNotAllowlisted,
		"select id from customers union all select id from app.t":     refusal.TableNotAllowlisted,
		"select * from customrs":                                      refusal.InvalidTableName,
		"select * from secret.salarie":                                refusal.InvalidTableName,
		"select count(*) filter (where 1 in (table app.t)) from idx":  refusal.TableNotAllowlisted,
		"with recursive t as (select 1 union table app.t) table t":    refusal.TableNotAllowlisted,
		"with orders as (table app.t) select * from orders":           refusal.TableNotAllowlisted,
		"select * from orders where id = any (select id from app.t)":  refusal.TableNotAllowlisted,
		"select * from orders o where (select true from app.t)":       refusal.TableNotAllowlisted,
		"select * from orders order by (select 1 from app.t limit 1)": refusal.TableNotAllowlisted,
	} {
		_, err := tightGuard().Read(context.Background(), cat, sql, nil)
		if code == "" {
			require.NoError(t, err, sql)
			continue
		}
		require.Error(t, err, sql)
		t.Run(sql, func(t *testing.T) { requireCode(t, code, err) })
	}
}

func TestNearMatchesShowOnlyWhatIsVisible(t *testing.T) {
	t.Parallel()
	_, err := openGuard().Read(context.Background(), newFake(), "select * from custmers", nil)
	r, _ := refusal.As(err)
	require.Contains(t, r.Hint, "public.customers")
	_, err = tightGuard().Read(context.Background(), newFake(), "select * from secret.salarie", nil)
	r, _ = refusal.As(err)
	require.NotContains(t, r.Hint, "secret")
	_, err = openGuard().Read(context.Background(), newFake(), "select * from product", nil)
	r, _ = refusal.As(err)
	require.Contains(t, r.Hint, `app."Product"`)
}

func TestAllowedFunctions(t *testing.T) {
	t.Parallel()
	g := New(Policy{AllowFunctions: []string{"app.boom", "touch", "pg_reload_conf", "dblink"}})
	for _, sql := range []string{"select app.boom()", "select touch(1)", "select * from boom_view"} {
		_, err := g.Read(context.Background(), newFake(), sql, nil)
		require.NoError(t, err, sql)
	}
	for _, sql := range []string{"select pg_reload_conf()", "select dblink('x')", "select lower_it('x')"} {
		_, err := g.Read(context.Background(), newFake(), sql, nil)
		requireCode(t, refusal.FunctionNotAllowed, err)
	}
}

// A view hidden by the allowlist's rules for tables is read by its own name; what it reads is its
// owner's matter, and its locks are in the closure.
func TestViewByItsOwnName(t *testing.T) {
	t.Parallel()
	cat := newFake()
	s, err := tightGuard().Read(context.Background(), cat, "select * from salaries_view", nil)
	require.NoError(t, err)
	require.Len(t, s.Relations(), 1)
	require.Contains(t, s.LockClosure(), cat.relations[Name{"secret", "salaries"}].OID)
}

func TestNumbersOfNewerServers(t *testing.T) {
	t.Parallel()
	cat := newFake()
	cat.version = 160004
	_, err := openGuard().Read(context.Background(), cat, "select 0xFF, 1_000", nil)
	require.NoError(t, err)
}

func TestStaleCacheIsAskedAgain(t *testing.T) {
	t.Parallel()
	cat := &staleCatalog{fakeCatalog: newFake()}
	_, err := openGuard().Read(context.Background(), cat, "select * from customers", nil)
	require.NoError(t, err)
	require.Equal(t, 1, cat.fresh)
}

// staleCatalog knows nothing until it is asked afresh.
type staleCatalog struct {
	*fakeCatalog
	fresh int
}

func (c *staleCatalog) Lookup(ctx context.Context, q Lookup, fresh bool) (*Facts, error) {
	if !fresh {
		return &Facts{ServerVersion: c.version}, nil
	}
	c.fresh++
	return c.fakeCatalog.Lookup(ctx, q, true)
}

// Qualified columns must not cost a question each time; a name that is no column may.
func TestRoundTripsToTheCatalog(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]int{
		"select 1": 1,
		"select o.id, c.name from orders o join customers c on c.id = o.customer_id": 1,
		"select s.n from (select count(*) as n from orders) s":                       2,
	} {
		cat := newFake()
		_, err := openGuard().Read(context.Background(), cat, sql, nil)
		require.NoError(t, err)
		require.Equal(t, want, cat.asked, sql)
	}
}

// Forms in which no operator is written, and Postgres looks one up by the name "=".
func TestImpliedEqualsIsJudged(t *testing.T) {
	t.Parallel()
	cat := newFake()
	cat.operators["="] = []Routine{{OID: 9006, Schema: "public", Name: "same", Volatility: 'v', Kind: 'f', OnPath: true}}
	for _, text := range []string{
		"SELECT 1 FROM orders WHERE id IN (SELECT id FROM customers)",
		"SELECT 1 FROM orders WHERE id IN (1, 2)",
		"SELECT CASE id WHEN 1 THEN 2 END FROM orders",
		"SELECT 1 FROM orders JOIN customers USING (id)",
		"SELECT 1 FROM orders NATURAL JOIN customers",
		"SELECT nullif(id, 1) FROM orders",
		"SELECT 1 FROM orders WHERE id IS DISTINCT FROM 1",
	} {
		_, err := openGuard().Read(context.Background(), cat, text, nil)
		requireCode(t, refusal.FunctionNotAllowed, err)
	}
	_, err := openGuard().Read(context.Background(), cat, "SELECT CASE WHEN id > 1 THEN 2 END FROM orders WHERE EXISTS (SELECT FROM customers)", nil)
	require.NoError(t, err)
}

// Whether the second witness must have spoken depends on it.
func TestCallsOutside(t *testing.T) {
	t.Parallel()
	cat := newFake()
	cat.relations[Name{"public", "titles"}] = Relation{OID: 30000, Schema: "public", Name: "titles", Kind: 'v', ViewDef: " SELECT title_of(id) FROM orders;"}
	for text, want := range map[string]bool{
		"SELECT lower(name) FROM customers WHERE id IN (SELECT id FROM orders)": false,
		"SELECT title_of(id) FROM orders":                                       true,
		"SELECT * FROM titles":                                                  true,
	} {
		s, err := openGuard().Read(context.Background(), cat, text, nil)
		require.NoError(t, err, text)
		require.Equal(t, want, s.CallsOutside(), text)
	}
}
