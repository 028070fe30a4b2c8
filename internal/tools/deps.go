package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/ask"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// TextGuard checks whole texts and names. *sqlguard.Guard implements it.
type TextGuard interface {
	Read(ctx context.Context, cat sqlguard.Catalog, text string, params []json.RawMessage) (*sqlguard.Statement, error)
	Migration(ctx context.Context, cat sqlguard.Catalog, text string) (*sqlguard.Statement, error)
	ResolveTable(ctx context.Context, cat sqlguard.Catalog, text string) (sqlguard.Relation, error)
}

// RowGuard builds statements from checked parts. *sqlguard.Guard implements it.
type RowGuard interface {
	Delete(ctx context.Context, cat sqlguard.Catalog, spec sqlguard.DeleteSpec) (*sqlguard.Statement, error)
	Insert(ctx context.Context, cat sqlguard.Catalog, spec sqlguard.InsertSpec) (*sqlguard.Statement, error)
	Update(ctx context.Context, cat sqlguard.Catalog, spec sqlguard.UpdateSpec) (*sqlguard.Statement, error)
}

// Reads is the readonly side of the database. Each method returns a *refusal.Error or a fault.
type Reads interface {
	// Query runs a statement of class Read in a READ ONLY transaction that is rolled back.
	Query(ctx context.Context, st *sqlguard.Statement, limits QueryLimits) (*QueryResult, error)
	// Explain plans the statement, without running it.
	Explain(ctx context.Context, st *sqlguard.Statement, timeout time.Duration) (*Explained, error)
	// Describe lists what the read allowlist shows, ordered by schema and name.
	Describe(ctx context.Context, req DescribeRequest) ([]Described, error)
}

// QueryLimits bound one query.
type QueryLimits struct {
	Rows    int
	Bytes   int64
	Timeout time.Duration
}

// QueryResult holds rows by columns, every value as JSON.
type QueryResult struct {
	Columns, Types []string
	Rows           [][]json.RawMessage
	// Truncated: there were more rows. Shortened names columns of which a cell was cut.
	Truncated bool
	Shortened []string
	Hint      string
	// Masked names columns whose values are masked, with how: "email (hash)".
	Masked []string
}

// Explained is Postgres' own plan as JSON, and the tables that it may name.
type Explained struct {
	Plan    json.RawMessage
	Scanned []Scanned
}

// Scanned is one table of a plan: its size, and its rows where it was ever analysed. Root is the
// partitioned table that it is a partition of, else empty. A hidden one is not named to the agent.
type Scanned struct {
	Schema, Name     string
	Bytes            int64
	Rows             *int64
	RootSchema, Root string
	Hidden           bool
}

// DescribeRequest names what to describe, as Postgres spells it; empty means everything. Full asks
// for columns, keys and indexes, else only names, kinds and estimates come.
type DescribeRequest struct {
	Schema, Table string
	OID           uint32 // of Schema.Table, where it is known
	Like          string // a LIKE pattern for the lower-cased names of tables
	Full          bool
	Children      bool // of Table, the partitions one by one
	Budget        int  // bytes of full entries; if they cannot be as few, none are made; 0 = no bound
}

// Described is one relation: its names, and its entry in the reply. Entry is nil where no full entries
// were made.
type Described struct {
	Schema, Table  string
	Entry, Summary json.RawMessage
}

// Writes is the core. *writecore.TwoPhaseWrite implements it.
type Writes interface {
	Preview(ctx context.Context, req writecore.Request) (writecore.Reply, error)
	Execute(ctx context.Context, req writecore.ExecuteRequest) (writecore.Outcome, error)
	// Refused records a write that was refused before it reached Postgres.
	Refused(ctx context.Context, tool, reason, statement string, params []json.RawMessage, err error)
}

// Limits are the numbers that replies and refusals speak of.
type Limits struct {
	QueryRows     int   // query.maxRows
	QueryBytes    int64 // query.maxBytes
	QueryTimeout  time.Duration
	ApprovalAbove int64         // write.approvalRequiredAboveRows
	ExecuteWait   time.Duration // write.executeWaitMs
}

// ReadEvent is one read, for the audit.
type ReadEvent struct {
	Tool, Reason, Statement string
	Params                  []json.RawMessage
	Rows                    int64 // rows that went out
	Duration                time.Duration
	Err                     error
}

// Deps is what the tools stand on. All fields are required unless said otherwise.
type Deps struct {
	Text            TextGuard
	Rows            RowGuard
	ReadonlyCatalog sqlguard.Catalog
	WriterCatalog   sqlguard.Catalog
	Reads           Reads
	Writes          Writes
	Limits          Limits
	// RecordRead records reads; nil = they are not recorded.
	RecordRead func(ctx context.Context, e ReadEvent)
	// Policy says which tools are shown; the zero value shows all. PolicyFrom is where it stands.
	Policy     toolpolicy.Policy
	PolicyFrom string
	// NothingWritable says that the write allowlist is empty: the tools that write say so.
	NothingWritable bool
	// Desk asks a person through the client; nil = only the approval page decides.
	Desk *ask.Desk
}

// All returns the eight tools, in the order in which they are met. There is no ninth, and only the
// last one commits. Those that the policy hides are among them, and answer TOOL_DISABLED.
func All(d Deps) []Tool {
	all := []Tool{
		describeSchema(d), query(d), explainPlan(d),
		deleteRows(d), insertRows(d), updateRows(d), runMigration(d),
		executePlan(d),
	}
	for i := range all {
		d.place(&all[i])
	}
	return all
}

// place gives a tool its row of the policy.
func (d Deps) place(t *Tool) {
	row := toolpolicy.Of(t.Name)
	t.Group, t.Tier = string(row.Group), string(row.Tier)
	if d.NothingWritable && row.Tier != toolpolicy.Read {
		t.Description += "\n\n" + nothingWritable
	}
	shown, why := d.Policy.Shows(t.Name)
	if shown {
		return
	}
	t.Hidden = why
	refused := Disabled(d.Policy, d.PolicyFrom, t.Name)
	t.Handle = func(context.Context, Call) (json.RawMessage, error) { return nil, refused }
}

// Disabled is the refusal (TOOL_DISABLED) of a tool that the policy hides; nil for one that it shows. from is
// where the policy stands, "" where that is not known.
func Disabled(p toolpolicy.Policy, from, tool string) error {
	shown, why := p.Shows(tool)
	if shown {
		return nil
	}
	if from == "" {
		from = "the tool policy"
	}
	return refusal.New(refusal.ToolDisabled,
		fmt.Sprintf("The tool %s is turned off (%s: %s).", tool, from, why),
		fmt.Sprintf("Work without it, or ask the person who runs this server to turn it on: add %s to SW_TOOLS, --tools or the setting tools.", tool))
}

// watched is a catalog that notes whether it was asked, and may insist on fresh facts.
type watched struct {
	sqlguard.Catalog
	fresh bool
	asked bool // and was answered
}

// Lookup implements sqlguard.Catalog.
func (w *watched) Lookup(ctx context.Context, q sqlguard.Lookup, fresh bool) (*sqlguard.Facts, error) {
	facts, err := w.Catalog.Lookup(ctx, q, fresh || w.fresh)
	w.asked = err == nil // who waited for a connection in vain must not wait for one again
	return facts, err
}

// checked guards with cached facts and, if these led to a refusal, once more with fresh ones: the
// table may have been created, or the function changed, a moment ago.
func checked(cat sqlguard.Catalog, guard func(sqlguard.Catalog) (*sqlguard.Statement, error)) (*sqlguard.Statement, error) {
	w := &watched{Catalog: cat}
	st, err := guard(w)
	if _, refused := refusal.As(err); refused && w.asked {
		st, err = guard(&watched{Catalog: cat, fresh: true})
	}
	return st, err
}

// stale reports whether a second try with fresh facts may succeed: Postgres resolved a name, or
// found a function, otherwise than the facts said.
func stale(err error) bool {
	return errors.Is(err, wire.ErrStaleCatalog) || refusal.Is(err, refusal.TableNotAllowlisted)
}
