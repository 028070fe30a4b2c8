package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// Options configure [Open].
type Options struct {
	ReadonlyURL, WriterURL string // URLs or keyword strings, as libpq takes them
	MaxConnections         int32  // per pool; 0 = 10
	// AllowPrivileged turns role refusals into warnings.
	AllowPrivileged bool
	// MigrationRole is database.migrationRole; empty = none.
	MigrationRole string
	// Masks are the columns whose values an agent never sees; the guard must have the same.
	Masks  []sqlguard.Mask
	Logger *slog.Logger // nil = silent
	// Warn receives each start-up warning once, as one sentence; nil = to Logger.
	Warn func(string)
	// AcquireTimeout bounds the wait for a connection, dialing included; 0 = 5 s.
	AcquireTimeout time.Duration
	// DescribeTimeout and DescribeLockTimeout are statement_timeout and lock_timeout while the server is
	// asked for the types of a statement's parameters; 0 = 10 s and 3 s.
	DescribeTimeout, DescribeLockTimeout time.Duration
}

// DB holds the two pools.
type DB struct {
	readonly, writer *Pool
	secrets          []string
	warned           sync.Map
	warn             func(string)
	log              *slog.Logger
	masks            string // see wire.FactMask; empty without any
	maskList         []sqlguard.Mask

	mu    sync.Mutex
	roles map[Role]string // current_user per pool, once known
}

// Role says which of the two pools is meant.
type Role int

// The two roles.
const (
	Readonly Role = iota
	Writer
)

// String is the configuration key of the role's connection string.
func (r Role) String() string {
	if r == Writer {
		return "database.writerConnectionString"
	}
	return "database.readonlyConnectionString"
}

// Open parses the connection strings and makes the pools. It does not connect: a database that is
// down does not stop the start. The error never holds a password.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.MaxConnections <= 0 {
		o.MaxConnections = 10
	}
	if o.AcquireTimeout <= 0 {
		o.AcquireTimeout = 5 * time.Second
	}
	if o.DescribeTimeout <= 0 {
		o.DescribeTimeout = 10 * time.Second
	}
	if o.DescribeLockTimeout <= 0 {
		o.DescribeLockTimeout = 3 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{warn: o.Warn, log: o.Logger, masks: sqlguard.MaskQuestion(o.Masks), maskList: o.Masks, roles: map[Role]string{}}
	if db.warn == nil {
		db.warn = func(s string) { o.Logger.Warn(s) }
	}
	var err error
	if db.readonly, err = db.newPool(ctx, Readonly, o.ReadonlyURL, o); err != nil {
		return nil, err
	}
	if db.writer, err = db.newPool(ctx, Writer, o.WriterURL, o); err != nil {
		db.readonly.pool.Close()
		return nil, err
	}
	return db, nil
}

// Readonly is the pool that query, explain and describe use.
func (db *DB) Readonly() *Pool { return db.readonly }

// Writer is the pool that previews and commits use.
func (db *DB) Writer() *Pool { return db.writer }

// Check connects both pools and runs their checks. The error is a *RoleError (which is also a
// refusal) when role or server must not be used, else a *refusal.Error.
func (db *DB) Check(ctx context.Context) error {
	for _, p := range []*Pool{db.readonly, db.writer} {
		s, err := p.Acquire(ctx)
		if err != nil {
			return err
		}
		s.Release()
	}
	return nil
}

// Close ends both pools. It waits for sessions in use, but not longer than a second: the process
// that calls it is about to end.
func (db *DB) Close() {
	var wg sync.WaitGroup
	for _, p := range []*Pool{db.readonly, db.writer} {
		wg.Go(p.pool.Close)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// warnOnce passes a warning on unless it was already given.
func (db *DB) warnOnce(format string, args ...any) {
	msg := db.Redact(fmt.Sprintf(format, args...))
	if _, seen := db.warned.LoadOrStore(msg, true); !seen {
		db.warn(msg)
	}
}

// Redact masks connection strings and the passwords of this database's roles in s.
func (db *DB) Redact(s string) string {
	for _, secret := range db.secrets {
		s = strings.ReplaceAll(s, secret, mask)
	}
	return Redact(s)
}
