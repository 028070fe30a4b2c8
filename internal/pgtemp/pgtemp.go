package pgtemp

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// TB is what New needs of *testing.T. The package does not import testing: the demo links it too.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Cleanup(f func())
	Name() string
}

// Option changes what New gives.
type Option func(*settings)

type settings struct {
	kind      string
	own       bool
	server    []string
	durable   bool
	leftovers string
}

// WithDemo adds the demo's tables (docker/init/03_demo.sql), empty.
func WithDemo() Option { return func(s *settings) { s.kind = "demo" } }

// OwnCluster gives the test a cluster of its own, which it may Kill and Restart. durable leaves
// fsync and the like on: a crash test without it proves nothing.
func OwnCluster(durable bool) Option {
	return func(s *settings) { s.own, s.durable = true, durable }
}

// WithSettings gives the test a cluster of its own (see [OwnCluster]) that is started with these settings,
// each as name=value. They win over those that every throw-away server has.
func WithSettings(lines ...string) Option {
	return func(s *settings) { s.own, s.server = true, append(s.server, lines...) }
}

// AllowLeftovers switches the leak check off for a test that leaves something open on purpose.
func AllowLeftovers(why string) Option { return func(s *settings) { s.leftovers = why } }

// DB is one database with the roles and the audit table, for one test.
type DB struct {
	Name string
	URLs
	Cluster *Cluster

	mu   sync.Mutex
	idle []*pgx.Conn // superuser connections not in use
}

// shared is the one cluster of this process. It is never stopped from here: the process ends when
// the tests end, and then the supervisor stops it.
var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// New returns a fresh database. Tests may call it in parallel.
//
// When the test ends it first checks that nothing of the test is still open in the database: a
// transaction, a running statement, an advisory lock, a prepared transaction, a temporary table
// (S18 in every test). Then the database is dropped. See TestS18LeakCheck.
//
// Without a Postgres the test fails; it is never skipped.
func New(t TB, opts ...Option) *DB {
	t.Helper()
	s := settings{kind: "plain"}
	for _, o := range opts {
		o(&s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()

	c, err := clusterFor(ctx, t, s)
	if err != nil {
		t.Fatalf("pgtemp: %v", err)
	}
	name, urls, err := c.create(ctx, "", s.kind)
	if err != nil {
		t.Fatalf("pgtemp: %v", err)
	}
	db := &DB{Name: name, URLs: urls, Cluster: c}
	t.Cleanup(func() { db.close(t, s) })
	return db
}

func clusterFor(ctx context.Context, t TB, s settings) (*Cluster, error) {
	t.Helper()
	if s.own {
		c, err := Start(ctx, Options{Durable: s.durable, Logf: t.Logf, nativeOnly: true, settings: s.server})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Fatalf("pgtemp: stopping the test's own cluster: %v", err)
			}
		})
		return c, nil
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		if url := os.Getenv(envURL); url != "" {
			shared.cluster, shared.err = newExternal(ctx, url)
		} else {
			shared.cluster, shared.err = Start(ctx, Options{Logf: t.Logf, inTest: true})
		}
	}
	return shared.cluster, shared.err
}

func (db *DB) close(t TB, s settings) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	db.mu.Lock()
	for _, conn := range db.idle {
		_ = conn.Close(ctx) // it is about to be ended anyway
	}
	db.idle = nil
	db.mu.Unlock()

	if s.own && !db.Cluster.Running() {
		return // killed and left so; the cluster's directory goes as a whole
	}
	var left string
	var err error
	if s.leftovers == "" {
		left, err = db.leftovers(ctx)
	}
	if dropErr := db.Cluster.drop(ctx, db.Name); err == nil {
		err = dropErr
	}
	if err != nil {
		t.Fatalf("pgtemp: cleaning up %s: %v", db.Name, err)
	}
	if left != "" {
		t.Fatalf("pgtemp: the test left something open in its database (S18):\n%s", left)
	}
}

// Exec runs SQL as superuser, many statements if need be. Each call is a session of its own.
func (db *DB) Exec(t TB, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn := db.take(ctx, t)
	defer db.give(ctx, conn)
	if err := run(ctx, conn, sql); err != nil {
		t.Fatalf("pgtemp: %v\nin: %s", err, sql)
	}
}

// Query runs one query as superuser and returns Postgres' own text of every value; SQL NULL is
// "<null>". Each call is a session of its own.
func (db *DB) Query(t TB, sql string, args ...any) [][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn := db.take(ctx, t)
	defer db.give(ctx, conn)
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		t.Fatalf("pgtemp: %v\nin: %s", err, sql)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]string, error) {
		values := make([]string, 0, len(row.RawValues()))
		for _, v := range row.RawValues() {
			if v == nil {
				values = append(values, "<null>")
			} else {
				values = append(values, string(v))
			}
		}
		return values, nil
	})
	if err != nil {
		t.Fatalf("pgtemp: %v\nin: %s", err, sql)
	}
	return all
}

// URLFor is this database's connection string for another user.
func (db *DB) URLFor(user, password string) string {
	return db.Cluster.URL(db.Name, user, password)
}

// Role makes a role that can log in, with a name and a password of its own, and returns the name
// and its URL. attributes are SQL, as in CREATE ROLE: "BYPASSRLS IN ROLE pg_write_all_data". It and
// what it owns or was granted in this database is dropped when the test ends.
func (db *DB) Role(t TB, attributes string) (name, url string) {
	t.Helper()
	name, password := "sw_test_role_"+randomHex(6), randomHex(16)
	db.Exec(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s' %s", name, password, attributes))
	t.Cleanup(func() {
		if db.Cluster.Running() {
			db.Exec(t, fmt.Sprintf("DROP OWNED BY %[1]s CASCADE; DROP ROLE %[1]s", name))
		}
	})
	return name, db.URLFor(name, password)
}

func (db *DB) take(ctx context.Context, t TB) *pgx.Conn {
	t.Helper()
	db.mu.Lock()
	for len(db.idle) > 0 {
		conn := db.idle[len(db.idle)-1]
		db.idle = db.idle[:len(db.idle)-1]
		if conn.Ping(ctx) == nil {
			db.mu.Unlock()
			return conn
		}
		_ = conn.Close(ctx) // dead already
	}
	db.mu.Unlock()
	conn, err := connect(ctx, db.Super)
	if err != nil {
		t.Fatalf("pgtemp: connecting as superuser: %v", err)
	}
	return conn
}

// give keeps the connection for the next call if nothing of this call is left in it.
func (db *DB) give(ctx context.Context, conn *pgx.Conn) {
	if conn.PgConn().TxStatus() != 'I' || run(ctx, conn, "DISCARD ALL") != nil {
		_ = conn.Close(ctx) // its state is unknown, and so it goes
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.idle = append(db.idle, conn)
}
