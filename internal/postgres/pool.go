package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// maxMessage bounds one message of the server, and so one row. A larger one ends the connection
// before it is in memory.
const maxMessage = 64 << 20

// Pool is one role's connections. It is safe for concurrent use.
type Pool struct {
	db      *DB
	role    Role
	opts    Options
	pool    *pgxpool.Pool
	target  target
	dial    singleflight.Group
	types   typeCache
	catalog *catalog
	greeted atomic.Bool // the warnings of warn.sql were given
	quiet   time.Duration
}

// target is where a pool connects to, for messages.
type target struct {
	host, database, user string
	port                 uint16
	tls                  bool
}

func (db *DB) newPool(ctx context.Context, role Role, url string, o Options) (*Pool, error) {
	cfg, err := parseConfig(role, url)
	if err != nil {
		return nil, err
	}
	cc := cfg.ConnConfig
	if cc.Password != "" {
		db.secrets = append(db.secrets, cc.Password)
	}
	p := &Pool{db: db, role: role, opts: o, quiet: quietAfter, target: target{
		host: cc.Host, port: cc.Port, database: cc.Database, user: cc.User, tls: cc.TLSConfig != nil,
	}}
	p.catalog = newCatalog(p)

	cfg.MaxConns = o.MaxConnections
	cfg.MinConns, cfg.MinIdleConns = 0, 0
	// The driver's ping is a statement, and costs a round trip each time; see usable.
	cfg.ShouldPing = func(_ context.Context, a pgxpool.ShouldPingParams) bool {
		a.Conn.PgConn().CustomData()[idleKey] = a.IdleDuration
		return false
	}
	cfg.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) { return p.usable(c.PgConn()), nil }
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return p.greet(ctx, c.PgConn()) }

	// Nothing is cached on the server: a transaction pooler may hand us another one each time.
	cc.DefaultQueryExecMode = pgx.QueryExecModeExec
	cc.StatementCacheCapacity, cc.DescriptionCacheCapacity = 0, 0
	// The driver's own handler loses the connection on every cancel; this one asks the server to
	// stop, so that a ROLLBACK behind still runs.
	cc.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		h := &cancelHandler{pc: pc}
		pc.CustomData()[cancelKey] = h
		return h
	}
	cc.OnNotice = onNotice
	cc.MaxProtocolMessageBodyLen = maxMessage
	if cc.ConnectTimeout <= 0 || cc.ConnectTimeout > o.AcquireTimeout {
		cc.ConnectTimeout = o.AcquireTimeout
	}
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3,
	}}
	cc.DialFunc = dialer.DialContext
	// Parameters that poolers track and accept at start-up; anything else would be FATAL there.
	cc.RuntimeParams["client_encoding"] = "UTF8"
	cc.RuntimeParams["standard_conforming_strings"] = "on"
	if cc.RuntimeParams["application_name"] == "" {
		cc.RuntimeParams["application_name"] = "sw-postgres-mcp"
	}
	p.pool, err = pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("making the pool of %s: %w", role, err)
	}
	return p, nil
}

// Acquire takes a connection, dialing if none is idle. TOO_BUSY when all are in use for
// [Options.AcquireTimeout]; DATABASE_UNAVAILABLE, with the kind of cause, when the server cannot be
// reached or the checks of a new connection refused it (then the error is a *RoleError too).
func (p *Pool) Acquire(ctx context.Context) (*Session, error) {
	bounded, cancel := context.WithTimeout(ctx, p.opts.AcquireTimeout)
	defer cancel()
	if err := p.firstDial(bounded); err != nil {
		return nil, p.acquireError(ctx, err)
	}
	conn, err := p.pool.Acquire(bounded)
	if err != nil {
		return nil, p.acquireError(ctx, err)
	}
	pc := conn.Conn().PgConn()
	g, ok := pc.CustomData()[greetedKey].(serverFacts)
	c, ok2 := pc.CustomData()[collectorKey].(*collector)
	if !ok || !ok2 {
		conn.Release()
		return nil, errors.New("taking a connection that was never checked")
	}
	return &Session{pool: p, conn: conn, pc: pc, collector: c, facts: g}, nil
}

// firstDial lets calls that run in parallel share one attempt while there is no connection at all,
// so that a database that is down is asked once and not once per call.
func (p *Pool) firstDial(ctx context.Context) error {
	st := p.pool.Stat()
	if st.AcquiredConns()+st.IdleConns() > 0 {
		return nil
	}
	done := p.dial.DoChan("dial", func() (any, error) {
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.opts.AcquireTimeout)
		defer cancel()
		c, err := p.pool.Acquire(shared)
		if err == nil {
			c.Release()
		}
		return nil, err
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pool) acquireError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for a connection: %w", ctx.Err())
	}
	if st := p.pool.Stat(); errors.Is(err, context.DeadlineExceeded) && st.AcquiredConns() >= st.MaxConns() {
		return refusal.New(refusal.TooBusy,
			fmt.Sprintf("all %d connections are in use, and none became free within %s", st.MaxConns(), p.opts.AcquireTimeout),
			"try again in a moment, with fewer calls at once; the operator can raise database.maxConnections")
	}
	if role, ok := errors.AsType[*RoleError](err); ok {
		return role
	}
	if r, ok := refusal.As(err); ok { // of the checks of a new connection
		return r
	}
	return p.unavailable(err)
}

// Catalog answers the guard about the database as this pool's sessions see it, from a cache.
func (p *Pool) Catalog() sqlguard.Catalog { return p.catalog }
