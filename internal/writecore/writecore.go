// Package writecore owns the transaction of a write: [TwoPhaseWrite] previews a checked statement
// by really running it and rolling it back, and later executes exactly that statement, once.
//
// It guarantees:
//   - a preview always ends in ROLLBACK, whatever happens (TestS01 in tests/);
//   - nothing commits except in commit.go, for a plan whose gates all passed (TestS02);
//   - what commits is the stored statement, for the rows and the blast radius that were previewed
//     (TestS03, TestS04); the count that decides is that of every changed row (TestS05);
//   - the executed row of the audit table is part of the same transaction (TestS14);
//   - a token commits at most once (TestS09).
//
// It must never take SQL text from a caller (only *sqlguard.Statement), never decide the need for a
// person from a caller's flag, and never guess an outcome it cannot look up.
package writecore

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Flusher is one pinned writer connection.
type Flusher interface {
	// Flush is wire.Flush.
	Flush(ctx context.Context, segments ...wire.Segment) ([]wire.Reply, error)
	// Discard makes Release destroy the connection.
	Discard()
	// Release gives the connection back; one that is not idle is destroyed.
	Release()
}

// Codec turns values between Postgres' text and JSON, as the contract's section Values has it.
type Codec interface {
	// Values renders every value of r, rows by columns.
	Values(ctx context.Context, r wire.Result) ([][]json.RawMessage, error)
	// EncodeParams renders params for sql; it may describe sql to do so.
	EncodeParams(ctx context.Context, sql string, params []json.RawMessage) ([][]byte, error)
}

// Session is a writer connection with what must be known of its server.
type Session interface {
	Flusher
	Codec
	Server
	Backend
}

// Backend tells which process serves the connection, as far as that is known.
type Backend interface {
	PID() uint32 // 0 = not known
}

// Server tells what the other end is.
type Server interface {
	ServerVersion() int     // server_version_num
	ServerEncoding() string // server_encoding
	Role() string           // the role that was checked when the connection was made
}

// Recorder writes audit rows outside of a change's transaction. *audit.Log implements it.
type Recorder interface {
	Record(ctx context.Context, e audit.Event) error
}

// Options configure a TwoPhaseWrite. All fields without a stated default are required.
type Options struct {
	Acquire func(context.Context) (Session, error) // the writer pool
	// Connections is how many that pool has, at least 2; 0 = 10. See slot.
	Connections int
	Store       *plan.Store
	Audit       Recorder
	// CanWrite is the write allowlist's verdict on a table that a statement changed indirectly.
	CanWrite func(schema, name string) bool
	// CanRead is that of the read allowlist; nil hides nothing.
	CanRead func(schema, name string) bool
	Limits  Limits
	// Recheck puts a statement that a preview of an earlier process made, and its params, through the
	// guard again; nil = plans of an earlier process are not executed.
	Recheck func(ctx context.Context, sql string, params []json.RawMessage) (*sqlguard.Statement, error)
	// Disabled refuses a tool that today's tool policy hides, so that a plan which that tool made under an
	// earlier one is not executed; nil = none is hidden.
	Disabled func(tool string) error

	StatementTimeout time.Duration
	LockTimeout      time.Duration
	ExecuteWait      time.Duration // how long execute_plan waits for a person
	MaxWaiting       int           // calls that may wait at once; 0 = 8
	PreviewLock      time.Duration // statement_timeout of a migration's preview
	// MaxPreviewBytes bounds the tables that a migration's preview may rewrite or scan; negative = no limit.
	MaxPreviewBytes int64
	// RehearsalsPerMinute bounds the previews of migrations; 0 = 6.
	RehearsalsPerMinute int

	// MigrationRole is taken by SET LOCAL ROLE for a migration; empty = the writer itself.
	MigrationRole string
	// ReadonlyRole names the role of the readonly pool, to tell which tables become unreadable for it; empty = not told.
	ReadonlyRole string
	// AuditRequired: nothing commits without its row.
	AuditRequired bool
	// ApprovalURL is the page's address without its secret; empty = there is no page to decide on.
	ApprovalURL func() string
	CallerID    string
	Logger      *slog.Logger
	// Progress is how often a waiting execute reports that it still waits; 0 = 5 s.
	Progress time.Duration
}

// TwoPhaseWrite is the core. It is safe for concurrent use and holds no connection while it waits.
type TwoPhaseWrite struct {
	o       Options
	waiting chan struct{}
	ddl     chan struct{} // one rehearsal of a migration at a time
	looking chan struct{} // one look for who blocks at a time
	// slots are the connections of the pool, pairs is for who takes two of them, pooled for who takes two behind a
	// pooler; queued is how many wait for one.
	slots, pairs, pooled chan struct{}
	queued               atomic.Int64
	// rehearsed belongs to whoever holds ddl.
	rehearsed rehearsals
	deciding  deciding
}

// New returns a core over o.
func New(o Options) *TwoPhaseWrite {
	if o.Connections == 0 {
		o.Connections = 10
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 8
	}
	if o.RehearsalsPerMinute == 0 {
		o.RehearsalsPerMinute = rehearsalsPerMinute
	}
	if o.Progress == 0 {
		o.Progress = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ApprovalURL == nil {
		o.ApprovalURL = func() string { return "" }
	}
	return &TwoPhaseWrite{
		o:       o,
		waiting: make(chan struct{}, o.MaxWaiting),
		ddl:     make(chan struct{}, 1),
		looking: make(chan struct{}, 1),

		slots:  make(chan struct{}, max(2, o.Connections)),
		pairs:  make(chan struct{}, 1),
		pooled: make(chan struct{}, 1),
	}
}

// Request asks for a preview of one checked statement of class Insert, Update, Delete or DDL.
type Request struct {
	Tool      string
	Reason    string
	Statement *sqlguard.Statement
	// Last says that the caller will not try again when the catalog turns out to be stale: only then is
	// such a refusal an event of its own.
	Last bool
	// Reaches says that a person could decide about the plan without the approval page; nil = nobody could.
	Reaches func(p plan.Preview) bool
}

// Reply is a preview that became a plan, or joined an open one.
type Reply struct {
	Plan   plan.Plan
	Joined bool
	// ApprovalURL is set when a person must decide.
	ApprovalURL string
}

// ExecuteRequest asks to commit the plan that token names.
type ExecuteRequest struct {
	Token  plan.Token
	Echo   plan.Echo
	Reason string
	// Progress is called every few seconds while the call waits for a person; nil = not at all.
	Progress func(message string)
	// Consult asks a person beside the page while the call waits; nil = only the page decides.
	Consult Consult
}

// Outcome is an acknowledged commit.
type Outcome struct {
	Plan         plan.Plan
	AffectedRows int64
	BlastRadius  plan.BlastRadius
	Duration     time.Duration
	// Returned holds, for an INSERT, primary key and generated columns of up to 10 rows as committed.
	Returned []plan.Row
}
