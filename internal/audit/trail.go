package audit

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

//go:embed search.sql
var searchSQL string

//go:embed bytoken.sql
var byTokenSQL string

// Bounds of a reading. A page of the log is at most MaxPage rows; one plan has at most maxEvents.
const (
	MaxPage   = 100
	maxEvents = 500
)

// trailTime bounds one reading in the server, trailPatience the whole of it with the connection.
const (
	trailTime     = 5 * time.Second
	trailPatience = 8 * time.Second
)

// Filter says which rows to find. Zero values leave a condition out.
type Filter struct {
	Before int64  // rows with a smaller id: where the page before ended
	Plans  bool   // of each plan only the last event; what belongs to no plan is shown as it is
	Tool   string // of the event, or of the preview it belongs to
	Status string
	Table  string    // part of a table's name, in the statement or among the changed tables
	From   time.Time // inclusive
	To     time.Time // exclusive
	Text   string    // part of reason, statement, plan token, error code, decider or caller; case does not matter
	Limit  int       // 1 to MaxPage
}

// Row is one row of the log as a person reads it. Texts are cut to 4,000 characters.
type Row struct {
	ID    int64
	At    time.Time
	Tool  string // of the plan; the event's own where there is none
	Event string // the tool as it is recorded: approve_plan and reject_plan for decisions
	// Reason is the agent's; Answer is a rejecting person's.
	Reason, Answer  string
	Statement       string
	StatementLength int // of the whole, in characters
	PreviewRows     *int64
	ActualRows      *int64
	PlanToken       string
	ApprovedBy      string
	Status          string
	DurationMS      *int64
	CallerID        string
	BlastRadius     json.RawMessage // {total_rows, tables}; nil without one, or above 64 kB
	ErrorCode       string
}

// Trail reads the log, through the readonly role. It changes nothing: each reading is a READ ONLY
// transaction that is rolled back. See TestTrailReadsOnly.
type Trail struct {
	acquire func(context.Context) (Session, error)
	role    string
}

// NewTrail returns a trail that takes a readonly connection from acquire for each reading. role is
// the name of that role, for the message that it lacks a grant.
func NewTrail(acquire func(context.Context) (Session, error), role string) *Trail {
	return &Trail{acquire: acquire, role: role}
}

// Search returns the rows that match f, newest first, and whether there are older ones.
//
// Refusals: AUDIT_UNAVAILABLE when the role may not read the log or there is none,
// STATEMENT_TIMEOUT when it took longer than five seconds, DATABASE_UNAVAILABLE without a connection.
func (t *Trail) Search(ctx context.Context, f Filter) ([]Row, bool, error) {
	limit := min(max(f.Limit, 1), MaxPage)
	epoch := func(at time.Time) []byte {
		if at.IsZero() {
			return nil
		}
		return strconv.AppendInt(nil, at.UnixMilli(), 10)
	}
	rows, err := t.read(ctx, func(encoding string) wire.Step {
		opt := func(s string) []byte {
			if s == "" {
				return nil
			}
			return []byte(Storable(s, maxReason, encoding))
		}
		before := []byte(nil)
		if f.Before > 0 {
			before = strconv.AppendInt(nil, f.Before, 10)
		}
		return wire.Step{SQL: searchSQL, Params: [][]byte{
			before, strconv.AppendBool(nil, f.Plans), opt(f.Tool), opt(f.Status), opt(f.Table),
			epoch(f.From), epoch(f.To), opt(f.Text), strconv.AppendInt(nil, int64(limit)+1, 10),
		}}
	})
	if err != nil {
		return nil, false, err
	}
	if len(rows) > limit {
		return rows[:limit], true, nil
	}
	return rows, false, nil
}

// ByToken returns everything the log has of one plan, oldest first. Refusals as [Trail.Search].
func (t *Trail) ByToken(ctx context.Context, token string) ([]Row, error) {
	return t.read(ctx, func(encoding string) wire.Step {
		return wire.Step{SQL: byTokenSQL, Params: [][]byte{
			[]byte(Storable(token, maxName, encoding)), strconv.AppendInt(nil, maxEvents, 10),
		}}
	})
}

// trailSettings bound a reading and make the operators those of Postgres.
const trailSettings = "SELECT pg_catalog.set_config('statement_timeout', $1::text, true), pg_catalog.set_config('lock_timeout', '1000', true), pg_catalog.set_config('search_path', 'pg_catalog', true)"

func (t *Trail) read(ctx context.Context, step func(encoding string) wire.Step) ([]Row, error) {
	bounded, cancel := context.WithTimeout(ctx, trailPatience)
	defer cancel()
	s, err := t.acquire(bounded)
	if err != nil {
		return nil, t.fault(ctx, fmt.Errorf("acquiring a connection for the audit log: %w", err))
	}
	defer s.Release()
	replies, err := s.Flush(bounded, wire.Segment{
		{SQL: "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY"},
		{SQL: trailSettings, Params: [][]byte{strconv.AppendInt(nil, trailTime.Milliseconds(), 10)}},
		step(s.ServerEncoding()),
	}, wire.Segment{{SQL: "ROLLBACK"}})
	if err != nil {
		return nil, t.fault(ctx, fmt.Errorf("reading the audit log: %w", err))
	}
	if replies[0].Err != nil {
		return nil, t.refuse(replies[0].Err)
	}
	raw := replies[0].Results[2].Rows
	out := make([]Row, len(raw))
	for i, r := range raw {
		if out[i], err = rowOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fault turns a connection that is not there into a refusal. What the caller ended itself stays as it is.
func (t *Trail) fault(ctx context.Context, err error) error {
	if _, ok := refusal.As(err); ok || ctx.Err() != nil {
		return err
	}
	return errors.Join(refusal.New(refusal.DatabaseUnavailable, "The database did not answer.", "Try again."), err)
}

// refuse says in a person's words why the log cannot be read.
func (t *Trail) refuse(e *wire.ServerError) error {
	switch e.SQLState {
	case "42501": // insufficient_privilege
		return refusal.New(refusal.AuditUnavailable,
			fmt.Sprintf("The role %s may not read mcp_audit.log.", quoteIdent(t.role)),
			fmt.Sprintf("To see it here, its owner grants: GRANT USAGE ON SCHEMA mcp_audit TO %[1]s; GRANT SELECT ON mcp_audit.log TO %[1]s;", quoteIdent(t.role)))
	case "42P01", "3F000", "42703": // undefined_table, invalid_schema_name, undefined_column
		return refusal.New(refusal.AuditUnavailable, "There is no audit table of this version in the database.",
			"The database owner runs docker/init/02_audit.sql.")
	case "57014": // query_canceled
		return refusal.New(refusal.StatementTimeout,
			fmt.Sprintf("The search took longer than %d seconds and was given up.", int(trailTime.Seconds())),
			"Ask for a shorter time, or for one status or tool.")
	case "55P03": // lock_not_available
		return refusal.New(refusal.LockTimeout, "The audit table is locked by somebody.", "Try again.")
	}
	return fmt.Errorf("reading the audit log: %w", e)
}

// quoteIdent writes a name as Postgres reads it (manual, 4.1.1): only the quote itself is doubled.
func quoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// columns is how many columns both statements have.
const columns = 17

func rowOf(v [][]byte) (Row, error) {
	if len(v) != columns {
		return Row{}, fmt.Errorf("reading the audit log: %d columns instead of %d", len(v), columns)
	}
	var bad error
	number := func(b []byte) *int64 {
		if b == nil {
			return nil
		}
		n, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			bad = fmt.Errorf("reading the audit log: %w", err)
		}
		return &n
	}
	must := func(b []byte) int64 {
		if n := number(b); n != nil {
			return *n
		}
		return 0
	}
	r := Row{
		ID: must(v[0]), At: time.UnixMilli(must(v[1])), Tool: string(v[2]), Event: string(v[3]), Reason: string(v[4]), Answer: string(v[5]),
		Statement: string(v[6]), StatementLength: int(must(v[7])), PreviewRows: number(v[8]), ActualRows: number(v[9]),
		PlanToken: string(v[10]), ApprovedBy: string(v[11]), Status: string(v[12]), DurationMS: number(v[13]), CallerID: string(v[14]),
		BlastRadius: v[15], ErrorCode: string(v[16]),
	}
	return r, bad
}
