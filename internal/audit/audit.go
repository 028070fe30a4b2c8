// Package audit turns one event into one row of mcp_audit.log.
//
// It guarantees: an [Event] becomes exactly one INSERT; no parameter value is ever in it, only
// shapes ({type, length}); whatever text an agent or a person supplied is made storable first, so
// that nobody can switch the record off with U+0000, with a character that the server's encoding
// lacks, or with a megabyte of reason (TestS15 in tests/).
//
// It must never decide whether something commits: the caller places [Event.Step] inside its
// transaction, or records the event alone through [Log].
package audit

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// Status is the value of mcp_audit.log.status; the table has a CHECK on the same set.
type Status string

// The statuses, as in docker/init/02_audit.sql.
const (
	Previewed        Status = "previewed"
	AwaitingApproval Status = "awaiting_approval"
	Approved         Status = "approved"
	Executed         Status = "executed"
	Rejected         Status = "rejected"
	HardCapRefused   Status = "hard_cap_refused"
	Failed           Status = "failed"
)

// Cancelled is the error_code of a call whose caller left before anything was sent to be committed.
// The agent never sees it.
const Cancelled = "CANCELLED"

// Lengths of stored text, in bytes of UTF-8. Longer text is cut and says how long it was.
const (
	maxStatement = 1 << 20 // the guard accepts no more
	maxReason    = 16 << 10
	maxName      = 512
)

// Event is one row. Zero values become SQL NULL, except Statement and Reason.
type Event struct {
	Tool        string
	Reason      string
	Statement   string
	Params      []json.RawMessage // only their shapes are stored
	PreviewRows *int64
	ActualRows  *int64
	PlanToken   string
	ApprovedBy  string
	Status      Status
	Duration    time.Duration
	CallerID    string
	BlastRadius json.RawMessage
	ErrorCode   string
}

//go:embed insert.sql
var insertSQL string

// Step is the INSERT. serverEncoding is the server_encoding parameter that Postgres reports; text
// that a server other than UTF8 might lack is escaped.
func (e Event) Step(serverEncoding string) wire.Step {
	text := func(s string, limit int) []byte { return []byte(Storable(s, limit, serverEncoding)) }
	opt := func(s string, limit int) []byte {
		if s == "" {
			return nil
		}
		return text(s, limit)
	}
	num := func(n *int64) []byte {
		if n == nil {
			return nil
		}
		return strconv.AppendInt(nil, *n, 10)
	}
	var radius []byte
	if len(e.BlastRadius) > 0 {
		radius = text(string(e.BlastRadius), maxStatement)
	}
	return wire.Step{SQL: insertSQL, Params: [][]byte{
		text(e.Tool, maxName),
		opt(e.Reason, maxReason),
		text(e.Statement, maxStatement),
		Redact(e.Params),
		num(e.PreviewRows),
		num(e.ActualRows),
		opt(e.PlanToken, maxName),
		opt(e.ApprovedBy, maxName),
		text(string(e.Status), maxName),
		strconv.AppendInt(nil, e.Duration.Milliseconds(), 10),
		text(e.CallerID, maxName),
		radius,
		opt(e.ErrorCode, maxName),
	}}
}

// shape is what is kept of one parameter.
type shape struct {
	Type   string `json:"type"`
	Length *int   `json:"length,omitempty"`
}

// Redact renders params as a JSON array of {type, length?}: type is the JSON type; length counts
// characters of a string, elements of an array and keys of an object. Never a value.
func Redact(params []json.RawMessage) []byte {
	out := make([]shape, 0, len(params))
	for _, p := range params {
		out = append(out, shapeOf(p))
	}
	b, err := json.Marshal(out)
	if err != nil { // cannot happen: strings and ints only
		return []byte("[]")
	}
	return b
}

func shapeOf(p json.RawMessage) shape {
	p = bytes.TrimSpace(p)
	if len(p) == 0 {
		return shape{Type: "null"}
	}
	count := func(n int) *int { return &n }
	switch p[0] {
	case 'n':
		return shape{Type: "null"}
	case 't', 'f':
		return shape{Type: "boolean"}
	case '"':
		var s string
		if json.Unmarshal(p, &s) != nil {
			return shape{Type: "string"}
		}
		return shape{Type: "string", Length: count(utf8.RuneCountInString(s))}
	case '[':
		var a []json.RawMessage
		if json.Unmarshal(p, &a) != nil {
			return shape{Type: "array"}
		}
		return shape{Type: "array", Length: count(len(a))}
	case '{':
		var o map[string]json.RawMessage
		if json.Unmarshal(p, &o) != nil {
			return shape{Type: "object"}
		}
		return shape{Type: "object", Length: count(len(o))}
	}
	return shape{Type: "number"}
}

// Storable makes s something that every text column of a server with that encoding can hold, at
// most limit bytes long. U+0000 and (unless the server is UTF8) everything outside ASCII is
// written as \u{…}; invalid UTF-8 becomes U+FFFD; what is cut off is counted.
func Storable(s string, limit int, serverEncoding string) string {
	utf8Server := strings.EqualFold(serverEncoding, "UTF8")
	var b strings.Builder
	for i, r := range s {
		piece := string(r)
		if r == 0 || (!utf8Server && r >= utf8.RuneSelf) {
			piece = fmt.Sprintf(`\u{%X}`, r)
		}
		if b.Len()+len(piece) > limit {
			fmt.Fprintf(&b, "... (%d bytes in all, %d kept)", len(s), i)
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

// OutcomeStep asks whether token was executed: one row (when, as RFC 3339 UTC; actual_rows) if it was, none if not.
// Only meaningful on the primary, through the writer, under the token's advisory lock.
func OutcomeStep(token string) wire.Step {
	return wire.Step{
		SQL:    `SELECT pg_catalog.to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), actual_rows FROM mcp_audit.outcome($1::text)`,
		Params: [][]byte{[]byte(Storable(token, maxName, "UTF8"))},
	}
}

// OnceConstraint is the unique partial index that makes Postgres refuse a second executed row of one token.
const OnceConstraint = "log_executed_once"

// Session is what the log needs of one writer connection.
type Session interface {
	Flush(ctx context.Context, segments ...wire.Segment) ([]wire.Reply, error)
	ServerEncoding() string
	Release()
}

// Log records events outside of a change's own transaction.
type Log struct {
	acquire  func(context.Context) (Session, error)
	logger   *slog.Logger
	failures atomic.Int64
}

// NewLog returns a log that takes a writer connection from acquire for each event.
func NewLog(acquire func(context.Context) (Session, error), logger *slog.Logger) *Log {
	return &Log{acquire: acquire, logger: logger}
}

// Failures counts the events that could not be recorded, for the page.
func (l *Log) Failures() int64 { return l.failures.Load() }

// Record writes the event in its own transaction. A failure is loud on stderr, counted, and
// returned; the caller decides what it means.
func (l *Log) Record(ctx context.Context, e Event) error {
	err := l.record(ctx, e)
	if err != nil {
		l.failures.Add(1)
		l.logger.Error("AUDIT ROW NOT WRITTEN", "tool", e.Tool, "status", e.Status, "error_code", e.ErrorCode, "cause", err)
	}
	return err
}

// recordTimeout bounds one audit INSERT, so that a locked audit table cannot hang a tool call.
const recordTimeout = 5 * time.Second

func (l *Log) record(ctx context.Context, e Event) error {
	// The event happened, whether or not the caller is still there.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	s, err := l.acquire(ctx)
	if err != nil {
		return fmt.Errorf("acquiring a connection for the audit row: %w", err)
	}
	defer s.Release()
	replies, err := s.Flush(ctx, wire.Segment{e.Step(s.ServerEncoding())}, wire.Segment{flushCounters})
	if err != nil {
		return fmt.Errorf("writing the audit row: %w", err)
	}
	if replies[0].Err != nil {
		return fmt.Errorf("writing the audit row: %w", replies[0].Err)
	}
	return nil
}

// flushCounters keeps the connection's pending table counters from being taken for a later
// preview's blast radius (PostgreSQL 15+; on 14 the step fails alone in its segment, harmlessly,
// and previews read a baseline instead).
var flushCounters = wire.Step{SQL: "SELECT pg_catalog.pg_stat_force_next_flush()"}
