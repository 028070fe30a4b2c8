package pgtemp_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestNewGivesRolesAndAudit(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	for user, url := range map[string]string{"readonly": db.Readonly, "writer": db.Writer} {
		var who, super string
		require.NoError(t, connect(t, url).QueryRow(t.Context(), "select current_user, current_setting('is_superuser')").Scan(&who, &super))
		require.Equal(t, user, who)
		require.Equal(t, "off", super)
	}
	require.Equal(t, [][]string{{"0", "<null>"}}, db.Query(t, "select count(*), max(id) from mcp_audit.log"))
	require.Empty(t, db.Query(t, "select 1 from pg_class where relname = 'customers'"), "no demo tables unless asked for")
}

func TestNewWithDemo(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.WithDemo())
	require.Equal(t,
		[][]string{{"customers", "migrator"}, {"order_items", "migrator"}, {"orders", "migrator"}, {"products", "migrator"}},
		db.Query(t, "select tablename, tableowner from pg_tables where schemaname = 'public' order by 1"))
}

// Databases are separate, and cloning works while other tests clone and use theirs.
func TestNewInParallel(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := pgtemp.New(t)
			db.Exec(t, fmt.Sprintf("create table public.t as select %d as n", i))
			require.Equal(t, [][]string{{fmt.Sprint(i)}}, db.Query(t, "select n from public.t"))
		})
	}
}

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	t.Parallel()
	watch := pgtemp.New(t)
	var name, role string
	t.Run("inner", func(t *testing.T) {
		db := pgtemp.New(t)
		name = db.Name
		role, _ = db.Role(t, "")
		db.Exec(t, "create table t (a int); grant select on t to "+role)
	})
	require.Empty(t, watch.Query(t, "select 1 from pg_database where datname = $1", name))
	require.Empty(t, watch.Query(t, "select 1 from pg_roles where rolname = $1", role))
}

func TestRole(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	name, url := db.Role(t, "BYPASSRLS IN ROLE pg_write_all_data")
	other, _ := db.Role(t, "")
	require.NotEqual(t, name, other)
	var who string
	var bypass, member bool
	require.NoError(t, connect(t, url).QueryRow(t.Context(),
		"select rolname, rolbypassrls, pg_has_role('pg_write_all_data', 'member') from pg_roles where rolname = current_user").Scan(&who, &bypass, &member))
	require.Equal(t, name, who)
	require.True(t, bypass)
	require.True(t, member)
}

func TestExecAndQueryKeepNoState(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t)
	db.Exec(t, "set search_path = mcp_audit; create temp table gone (a int); select pg_advisory_lock(1)")
	require.Equal(t, [][]string{{"\"$user\", public", "<null>", "0"}},
		db.Query(t, "select current_setting('search_path'), to_regclass('gone'), (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())"))
	db.Exec(t, "begin; create table never (a int)")
	require.Equal(t, [][]string{{"<null>"}}, db.Query(t, "select to_regclass('public.never')"))
}

// recorder stands in for *testing.T where a test is expected to fail.
type recorder struct {
	mu       sync.Mutex
	cleanups []func()
	failed   string
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Name() string        { return "recorder" }
func (r *recorder) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.mu.Lock()
	r.failed += fmt.Sprintf(format, args...)
	r.mu.Unlock()
	runtime.Goexit()
}

// run calls f as a test would be, then its clean-ups, and returns what it failed with.
func (r *recorder) run(f func()) string {
	step := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done
	}
	step(f)
	for _, f := range slices.Backward(r.cleanups) {
		step(f)
	}
	return r.failed
}

// The check that every test of the project runs at its end finds what it shall find, and nothing else.
func TestS18LeakCheck(t *testing.T) {
	t.Parallel()
	leave := func(sql string, opts ...pgtemp.Option) string {
		r := &recorder{}
		return r.run(func() {
			db := pgtemp.New(r, opts...)
			conn, err := pgx.Connect(t.Context(), db.Writer)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			_, err = conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
		})
	}
	for name, c := range map[string]struct{ sql, want string }{
		"transaction":        {"begin; select 1", "idle in transaction, last statement: begin; select 1"},
		"failed transaction": {"begin; savepoint a; select 1", "idle in transaction"},
		"advisory lock":      {"select pg_advisory_lock(42)", "holds advisory lock (0, 42, 1)"},
		"temporary table":    {"create temp table t (a int)", "temporary table pg_temp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, leave(c.sql), c.want)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, leave("begin; select 1; commit"), "an idle connection in a pool is no leak")
	})
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, leave("begin; select 1", pgtemp.AllowLeftovers("this test is about it")))
	})
	t.Run("statement still running", func(t *testing.T) {
		t.Parallel()
		r := &recorder{}
		failed := r.run(func() {
			db := pgtemp.New(r)
			conn := connect(t, db.Writer)
			go func() { _, _ = conn.Exec(context.Background(), "select pg_sleep(60)") }()
			require.Eventually(t, func() bool {
				return len(db.Query(t, "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep(60)' and pid <> pg_backend_pid()")) == 1
			}, 10*time.Second, 10*time.Millisecond)
		})
		require.Contains(t, failed, "is active, last statement: select pg_sleep(60)")
	})
}

func TestOwnClusterSurvivesKill(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(true))
	require.Equal(t, [][]string{{"on", "on", "on"}},
		db.Query(t, "select current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')"))
	db.Exec(t, "create table kept (a int); insert into kept values (1)")
	open := connect(t, db.Super)
	_, err := open.Exec(t.Context(), "begin; insert into kept values (2)")
	require.NoError(t, err)

	port := db.Cluster.Port()
	require.NoError(t, db.Cluster.Kill())
	require.False(t, db.Cluster.Running())
	_, err = open.Exec(t.Context(), "commit")
	require.Error(t, err)
	require.NoError(t, db.Cluster.Kill(), "a second kill finds nothing to do")

	require.NoError(t, db.Cluster.Restart(t.Context()))
	require.True(t, db.Cluster.Running())
	require.Equal(t, port, db.Cluster.Port())
	require.Equal(t, [][]string{{"1"}}, db.Query(t, "select a from kept"))
	require.Error(t, db.Cluster.Restart(t.Context()), "it runs")
}

func TestStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(true))
	db.Exec(t, "create table followed (a int); insert into followed values (1)")
	standby := db.Standby(t)
	require.NotEqual(t, db.Cluster.Port(), standby.Cluster.Port())
	require.Equal(t, [][]string{{"on"}}, db.Query(t, "select current_setting('fsync')"), "it is as durable as it was")
	db.Exec(t, "insert into followed values (2)")
	standby.CaughtUp(t, db)
	require.Equal(t, [][]string{{"1"}, {"2"}}, standby.Query(t, "select a from followed order by a"))
	require.Equal(t, [][]string{{"t"}}, standby.Query(t, "select pg_is_in_recovery()"))

	standby.Detach(t)
	db.Exec(t, "insert into followed values (3)")
	require.NoError(t, db.Cluster.Kill())
	standby.Promote(t)
	require.Equal(t, [][]string{{"f"}}, standby.Query(t, "select pg_is_in_recovery()"))
	standby.Exec(t, "insert into followed values (4)")
	require.Equal(t, [][]string{{"1"}, {"2"}, {"4"}}, standby.Query(t, "select a from followed order by a"), "the third came after it was detached")
	require.Equal(t, [][]string{{"00000002"}}, standby.Query(t, "select left(pg_walfile_name(pg_current_wal_lsn()), 8)"))
}

func TestOwnClusterMayStayDead(t *testing.T) {
	t.Parallel()
	db := pgtemp.New(t, pgtemp.OwnCluster(false))
	_, _ = db.Role(t, "")
	require.NoError(t, db.Cluster.Kill())
}

func TestClusterStop(t *testing.T) {
	t.Parallel()
	c, err := pgtemp.Start(t.Context(), pgtemp.Options{Logf: t.Logf})
	require.NoError(t, err)
	urls, err := c.CreateDatabase(t.Context(), "Odd name")
	require.NoError(t, err)
	conn := connect(t, urls.Super)
	var dir, name string
	require.NoError(t, conn.QueryRow(t.Context(), "select current_setting('data_directory'), current_database()").Scan(&dir, &name))
	require.Equal(t, "Odd name", name)
	for _, url := range []string{urls.Readonly, urls.Writer} {
		require.NoError(t, connect(t, url).Ping(t.Context()))
	}
	_, err = c.CreateDatabase(t.Context(), "Odd name")
	require.ErrorContains(t, err, "already exists")
	require.NotContains(t, c.String(), strings.Split(strings.Split(urls.Super, "@")[0], ":")[2], "no password in what people read")

	require.NoError(t, c.Stop())
	require.NoError(t, c.Stop())
	require.NoDirExists(t, dir)
	_, err = pgx.Connect(t.Context(), urls.Super)
	require.Error(t, err)
}
