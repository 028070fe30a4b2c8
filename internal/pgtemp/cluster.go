package pgtemp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Options says how to start a cluster. The zero value is a fast one that survives no crash.
type Options struct {
	// Dir is the directory to make the cluster's own directory in; empty means the system's
	// temporary directory. When this process is root, an unprivileged user must be able to pass it.
	Dir string
	// Durable leaves fsync, full_page_writes and synchronous_commit on, as a server has them. Tests
	// of crashes, durability and unknown outcomes need it.
	Durable bool
	// Logf is told, in a line, what is being started. May be nil.
	Logf func(format string, args ...any)

	nativeOnly bool     // crash tests: the postmaster must be ours to kill
	inTest     bool     // the testcontainers rung may be used
	settings   []string // name=value, for a native server only
}

func (o Options) logf(format string, args ...any) {
	if o.Logf != nil {
		o.Logf(format, args...)
	}
}

// server is one way to have a Postgres. Its methods are called with the cluster's lock held.
type server interface {
	stop() error
	describe() string
}

// Cluster is a running throw-away Postgres with the three roles.
type Cluster struct {
	host      string
	port      int
	superuser string
	passwords map[string]string // by role, the superuser's among them
	maintain  string            // the database to connect to for CREATE DATABASE
	sslmode   string
	external  bool
	session   string // marks this process's databases; see external.go

	mu        sync.Mutex // serializes CREATE DATABASE, start and stop
	srv       server
	admin     *pgx.Conn
	templates map[string]string // template database by option set
	stopped   bool
}

// URLs are the connection strings of one database, one per role. They hold passwords.
type URLs struct {
	Readonly, Writer, Super string
}

// The roles of docker/init that can log in.
const (
	roleReadonly = "readonly"
	roleWriter   = "writer"
)

// Start starts a cluster: native binaries if there are any, else the `docker` command. It takes
// about a second. The caller calls Stop; if the process dies before that, the supervisor does it.
// The error says what to install when neither is there.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	c := &Cluster{
		host:      "127.0.0.1",
		superuser: "postgres",
		maintain:  "postgres",
		sslmode:   "disable",
		passwords: map[string]string{
			"postgres": randomHex(16), roleReadonly: randomHex(16), roleWriter: randomHex(16),
		},
		templates: map[string]string{},
		session:   randomHex(4),
	}
	if err := c.startServer(ctx, opts); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) startServer(ctx context.Context, opts Options) error {
	var found error // why there is no native server
	if !dockerOnly() {
		bin, err := findBinaries()
		switch {
		case err == nil:
			opts.logf("starting a throw-away Postgres from %s", bin)
			n, err := startNative(ctx, bin, c.passwords["postgres"], opts)
			if err != nil {
				return err
			}
			c.srv, c.port = n, n.port
			return nil
		case !errors.Is(err, errNoBinaries):
			return err // something is wrong with what was asked for: say so, do not go on
		}
		found = err
	}
	if opts.nativeOnly {
		return fmt.Errorf("this needs a Postgres whose processes can be killed, and %w", errors.Join(found, installHint()))
	}
	d, err := startDocker(ctx, c.passwords["postgres"], opts)
	if err != nil {
		return noPostgres(found, err)
	}
	c.srv, c.host, c.port = d, d.host, d.port
	if d.superURL != "" {
		return c.adopt(d.superURL)
	}
	return nil
}

// adopt takes host, port, user, password and database of a superuser's URL.
func (c *Cluster) adopt(superURL string) error {
	cfg, err := pgconn.ParseConfig(superURL)
	if err != nil {
		return errors.New("reading the superuser's connection string: it is not a valid Postgres URL")
	}
	c.host, c.port = cfg.Host, int(cfg.Port)
	c.superuser, c.maintain = cfg.User, cfg.Database
	c.passwords[cfg.User] = cfg.Password
	if cfg.TLSConfig != nil {
		c.sslmode = "require"
	}
	return nil
}

// URL is the connection string for a user of this cluster. An empty password is left out.
func (c *Cluster) URL(database, user, password string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(user),
		Host:     net.JoinHostPort(c.host, strconv.Itoa(c.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=" + c.sslmode,
	}
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

func (c *Cluster) urls(database string) URLs {
	at := func(user string) string { return c.URL(database, user, c.passwords[user]) }
	return URLs{Readonly: at(roleReadonly), Writer: at(roleWriter), Super: at(c.superuser)}
}

// Port is where the server listens on 127.0.0.1. It stays the same over Kill and Restart.
func (c *Cluster) Port() int { return c.port }

// String says what the server is, for people. No password.
func (c *Cluster) String() string {
	return fmt.Sprintf("%s at %s", c.srv.describe(), net.JoinHostPort(c.host, strconv.Itoa(c.port)))
}

// Stop ends the server and removes everything of it. It may be called twice.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	c.closeAdmin()
	return c.srv.stop()
}

// Running tells whether the server has been started and neither stopped nor killed since.
func (c *Cluster) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.srv.(*native); ok && n.pid == 0 {
		return false
	}
	return !c.stopped
}

// Kill ends the server the hard way, as a crash does: every process of it gets SIGKILL, nothing is
// written any more. Only for a cluster of its own (see OwnCluster); the error says if it is not.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.srv.(*native)
	if !ok {
		return errors.New("killing the server: it runs " + c.srv.describe() + ", not from native binaries")
	}
	c.closeAdmin()
	return n.kill()
}

// Restart starts the server again after Kill, at the same port, and returns when it answers.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.srv.(*native)
	if !ok {
		return errors.New("restarting the server: it runs " + c.srv.describe() + ", not from native binaries")
	}
	return n.restart(ctx, c.URL(c.maintain, c.superuser, c.passwords[c.superuser]))
}

func (c *Cluster) closeAdmin() {
	if c.admin != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.admin.Close(ctx) // it is gone either way
		c.admin = nil
	}
}

// adminConn is the one superuser connection for CREATE and DROP DATABASE.
func (c *Cluster) adminConn(ctx context.Context) (*pgx.Conn, error) {
	if c.admin != nil {
		if c.admin.Ping(ctx) == nil {
			return c.admin, nil
		}
		c.closeAdmin()
	}
	conn, err := connect(ctx, c.URL(c.maintain, c.superuser, c.passwords[c.superuser]))
	if err != nil {
		return nil, fmt.Errorf("connecting as superuser: %w", err)
	}
	c.admin = conn
	if c.external {
		if err := c.markAlive(ctx, conn); err != nil {
			return nil, err
		}
	}
	return conn, nil
}

// connect opens a connection that shows as "pgtemp" in pg_stat_activity.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("parsing a connection string of the throw-away Postgres")
	}
	cfg.RuntimeParams["application_name"] = appName
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // the superuser's own texts, many statements at once
	cfg.ConnectTimeout = 10 * time.Second
	return pgx.ConnectConfig(ctx, cfg)
}

const appName = "pgtemp"

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}
