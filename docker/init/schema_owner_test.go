package initsql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// The owner of a schema may drop what others own in it. So migrator owns none: it creates in public, changes
// and drops what is its own, and cannot touch what belongs to somebody else there.
func TestMigratorReachesNobodyElses(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, `create table public.orders (id int primary key, total int); create index orders_total on public.orders (total);
		create view public.seen as select id from public.orders; create materialized view public.kept as select id from public.orders;
		create sequence public.numbers; create type public.mood as enum ('good'); create domain public.amount as int;
		create statistics public.orders_stats on id, total from public.orders; create function public.f() returns int language sql as 'select 1'`)
	w := connect(t, db.Writer)
	for _, what := range []string{
		"table orders", "table orders cascade", "index orders_total", "view seen", "materialized view kept", "sequence numbers", "type mood",
		"domain amount", "statistics orders_stats", "function f()", "schema public cascade",
	} {
		refused(t, w, denied, "begin; set local role migrator; drop "+what)
	}
	refused(t, w, denied, "begin; set local role migrator; grant create on schema public to writer; reset role; create table public.t (a int)")
	require.NoError(t, do(t, w, `begin; set local role migrator; create table public.made (a int); create index on public.made (a);
		alter table public.made rename to renamed; drop table public.renamed; commit`))
	require.Empty(t, db.Query(t, "select nspname from pg_namespace where nspowner in ('migrator'::regrole, 'writer'::regrole, 'readonly'::regrole)"))
}

// A database where an earlier 01_roles.sql made migrator the owner of public is as a new one after the file ran
// again, and another owner of public is left alone.
func TestPublicGoesBackFromMigrator(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(false))
	const public = "select nspowner::regrole, array(select a::text from unnest(nspacl) a order by 1) from pg_namespace where nspname = 'public'"
	before := db.Query(t, public)
	db.Exec(t, "alter schema public owner to migrator")
	require.NotEqual(t, before, db.Query(t, public))
	db.Exec(t, file(t, "01_roles.sql"))
	require.Equal(t, before, db.Query(t, public))

	db.Exec(t, "create role somebody; alter schema public owner to somebody")
	db.Exec(t, file(t, "01_roles.sql"))
	require.Equal(t, [][]string{{"somebody"}}, db.Query(t, "select nspowner::regrole from pg_namespace where nspname = 'public'"))
}
