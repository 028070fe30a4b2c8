package demo_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/demo"
	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// hashSQL is one number per table that every value of every row is part of.
const hashSQL = `
select 'customers', sum(hashtextextended(t::text, 0)) from customers t
union all select 'products', sum(hashtextextended(t::text, 0)) from products t
union all select 'orders', sum(hashtextextended(t::text, 0)) from orders t
union all select 'order_items', sum(hashtextextended(t::text, 0)) from order_items t order by 1`

func TestSeedNumbers(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	started := time.Now()
	counts, err := demo.SeedWith(t.Context(), connect(t, db.Writer), demo.SeedOptions{Seed: demo.DefaultSeed})
	require.NoError(t, err)
	t.Logf("seeded in %v", time.Since(started))
	require.EqualValues(t, 50_000, counts.Customers)
	require.EqualValues(t, 2_000, counts.Products)
	require.EqualValues(t, 60_000, counts.Orders)
	require.InDelta(t, 96_000, counts.OrderItems, 1_000)

	for _, c := range []struct{ want, sql string }{
		{"50000", "select count(*) from customers"},
		{"40000", "select count(*) from customers where last_login < '2025-01-01'"},
		{"2000", "select count(*) from products"},
		{"60000", "select count(*) from orders"},
		{"13200", "select count(*) from orders where status = 'cancelled'"},
		{strconv.FormatInt(counts.OrderItems, 10), "select count(*) from order_items"},
		{"8", "select count(*) from customers where tenant = 'load-test'"},
		{"0", "select count(*) from customers where tenant = 'load-test' and last_login >= '2025-01-01'"},
		{"320", "select count(*) from orders o join customers c on c.id = customer_id where tenant = 'load-test'"},
		{"0", "select count(*) from orders o where total <> (select sum(quantity * unit_price) from order_items i where i.order_id = o.id)"},
		{"0", "select count(*) from orders o join customers c on c.id = customer_id where o.created_at not between c.created_at and c.last_login"},
		{"0", "select count(*) from customers where email !~ '@example\\.(com|org|net)$'"},
		{"cancelled,delivered,paid,pending,shipped", "select string_agg(distinct status, ',' order by status) from orders"},
		{"2000", "select min(reltuples)::int from pg_class where oid in ('products'::regclass)"},
		{"1migrator", "select count(distinct tableowner) || max(tableowner) from pg_tables where schemaname = 'public'"},
	} {
		require.Equal(t, [][]string{{c.want}}, db.Query(t, c.sql), c.sql)
	}
	// The next row gets the next id.
	require.Equal(t, [][]string{{"50001"}}, db.Query(t, "insert into customers (tenant, name, email, country) values ('t', 'n', 'e', 'DE') returning id"))

	// Deleting the test tenant takes its orders and their items along, and nothing else.
	items := db.Query(t, "select count(*) from order_items i join orders o on o.id = order_id join customers c on c.id = customer_id where tenant = 'load-test'")[0][0]
	require.InDelta(t, 512, atoi(t, items), 60)
	db.Exec(t, "delete from customers where tenant = 'load-test'")
	require.Equal(t, [][]string{{"49993", "59680", strconv.Itoa(int(counts.OrderItems) - atoi(t, items))}},
		db.Query(t, "select (select count(*) from customers), (select count(*) from orders), (select count(*) from order_items)"))
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// The same seed gives the same rows, another one gives others. See TestGenerateIsPinned.
func TestSeedIsDeterministic(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	conn := connect(t, db.Writer)
	seed := func(n uint64) [][]string {
		_, err := demo.SeedWith(t.Context(), conn, demo.SeedOptions{Seed: n})
		require.NoError(t, err)
		return db.Query(t, hashSQL)
	}
	first := seed(demo.DefaultSeed)
	require.NotEqual(t, first, seed(2))
	require.Equal(t, first, seed(demo.DefaultSeed), "and it can be run again")
}

func TestSeedLeavesOthersTablesAlone(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "create table customers (id int, precious text); insert into customers values (1, 'x'); create table orders (id int)")
	conn := connect(t, db.Super)
	_, err := demo.SeedWith(t.Context(), conn, demo.SeedOptions{})
	var strange *demo.NotDemoError
	require.ErrorAs(t, err, &strange)
	require.Equal(t, []string{"public.customers", "public.orders"}, strange.Tables)

	_, err = demo.SeedWith(t.Context(), conn, demo.SeedOptions{Yes: true})
	require.ErrorContains(t, err, "public.customers has no column tenant", "a yes does not make them fit")
	require.Equal(t, [][]string{{"1", "x"}}, db.Query(t, "select * from customers"))
	require.Equal(t, [][]string{{"2"}}, db.Query(t, "select count(*) from pg_tables where schemaname = 'public'"), "nothing was made")
}

// A view of the same name is somebody's too.
func TestSeedLeavesOthersViewsAlone(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "create view products as select 1 as id")
	_, err := demo.SeedWith(t.Context(), connect(t, db.Super), demo.SeedOptions{})
	var strange *demo.NotDemoError
	require.ErrorAs(t, err, &strange)
	require.Equal(t, []string{"public.products"}, strange.Tables)
}

func TestSeedWithYesFillsTablesThatFit(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	db.Exec(t, "comment on table customers is null; reset role; insert into customers (tenant, name, email, country) values ('real', 'n', 'e', 'DE')")
	conn := connect(t, db.Super)
	_, err := demo.SeedWith(t.Context(), conn, demo.SeedOptions{})
	require.Error(t, err)
	require.Equal(t, [][]string{{"1"}}, db.Query(t, "select count(*) from customers"))
	_, err = demo.SeedWith(t.Context(), conn, demo.SeedOptions{Yes: true})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"50000"}}, db.Query(t, "select count(*) from customers"))
}

func TestSeedDoesNotCascadeIntoOthers(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	db.Exec(t, `insert into customers (tenant, name, email, country) values ('t', 'n', 'e', 'DE');
		create table notes (customer_id bigint references customers on delete cascade); insert into notes values (1)`)
	_, err := demo.SeedWith(t.Context(), connect(t, db.Super), demo.SeedOptions{Yes: true})
	require.ErrorContains(t, err, "foreign key")
	require.Equal(t, [][]string{{"1", "1"}}, db.Query(t, "select (select count(*) from notes), (select count(*) from customers)"))
}

// All or nothing: whoever reads meanwhile sees the old rows, and a failure keeps them.
func TestSeedIsOneTransaction(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	db.Exec(t, `insert into customers (tenant, name, email, country) values ('t', 'n', 'e', 'DE');
		alter table order_items add check (quantity < 4) not valid`)
	conn := connect(t, db.Writer)
	_, err := demo.SeedWith(t.Context(), conn, demo.SeedOptions{})
	require.ErrorContains(t, err, "filling public.order_items")
	require.Equal(t, [][]string{{"1"}}, db.Query(t, "select count(*) from customers"))
	require.EqualValues(t, 'I', conn.PgConn().TxStatus())
}

func TestSeedWithoutRights(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	conn := connect(t, db.Readonly)
	_, err := demo.SeedWith(t.Context(), conn, demo.SeedOptions{})
	require.ErrorContains(t, err, "applying the demo's schema")
	require.EqualValues(t, 'I', conn.PgConn().TxStatus())
}

// A database without the roles of docker/init: the tables belong to whoever seeds.
func TestSeedWithoutMigrator(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	owner, url := db.Role(t, "")
	db.Exec(t, "grant create on schema public to "+owner)
	_, err := demo.SeedWith(t.Context(), connect(t, url), demo.SeedOptions{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{owner}}, db.Query(t, "select distinct tableowner from pg_tables where schemaname = 'public'"))
}
