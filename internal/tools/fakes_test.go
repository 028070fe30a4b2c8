package tools_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
)

// The guard is the real one; what it asks and what stands behind it are recorded. Nothing here
// claims anything about Postgres.

// catalog knows app.items and, once it is told to look again, app.fresh.
type catalog struct {
	mu     sync.Mutex
	asked  int
	fresh  int
	broken error
}

func (c *catalog) Lookup(_ context.Context, q sqlguard.Lookup, fresh bool) (*sqlguard.Facts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if fresh {
		c.fresh++
	}
	if c.broken != nil {
		return nil, c.broken
	}
	items := sqlguard.Relation{
		OID: 20000, Schema: "app", Name: "items", Kind: 'r', Persistence: 'p', PrimaryKey: []string{"id"},
		Columns: []sqlguard.Column{
			{Name: "id", Number: 1, TypeOID: 20, Type: "bigint", NotNull: true},
			{Name: "name", Number: 2, TypeOID: 25, Type: "text"},
			{Name: "data", Number: 3, TypeOID: 3802, Type: "jsonb"},
		},
		Can: sqlguard.Privileges{Select: true, Insert: true, Update: true, Delete: true}, Closure: []uint32{20000},
	}
	if fresh { // a column that came after the cache was filled
		items.Columns = append(items.Columns, sqlguard.Column{Name: "late", Number: 4, TypeOID: 25, Type: "text"})
	}
	f := &sqlguard.Facts{
		ServerVersion: 150000, SearchPath: []string{"pg_catalog", "app"}, Relations: map[sqlguard.Name]sqlguard.Relation{},
		Functions: map[sqlguard.Name][]sqlguard.Routine{}, Operators: map[sqlguard.Name][]sqlguard.Routine{}, Types: map[sqlguard.Name][]sqlguard.Routine{},
		Candidates: []sqlguard.Name{{Schema: "app", Name: "items"}},
	}
	for _, n := range q.Relations {
		if n.Name == "items" && (n.Schema == "app" || n.Schema == "") {
			f.Relations[n] = items
		}
	}
	return f, nil
}

type reads struct {
	queries  []*sqlguard.Statement
	limits   tools.QueryLimits
	result   *tools.QueryResult
	plan     json.RawMessage
	scanned  []tools.Scanned
	describe func(tools.DescribeRequest) []tools.Described
	asked    []tools.DescribeRequest
	errs     []error // given out one per call
}

func (r *reads) next() error {
	if len(r.errs) == 0 {
		return nil
	}
	err := r.errs[0]
	r.errs = r.errs[1:]
	return err
}

func (r *reads) Query(_ context.Context, st *sqlguard.Statement, l tools.QueryLimits) (*tools.QueryResult, error) {
	r.queries, r.limits = append(r.queries, st), l
	if err := r.next(); err != nil {
		return nil, err
	}
	return r.result, nil
}

func (r *reads) Explain(_ context.Context, st *sqlguard.Statement, _ time.Duration) (*tools.Explained, error) {
	r.queries = append(r.queries, st)
	return &tools.Explained{Plan: r.plan, Scanned: r.scanned}, r.next()
}

func (r *reads) Describe(_ context.Context, req tools.DescribeRequest) ([]tools.Described, error) {
	r.asked = append(r.asked, req)
	if err := r.next(); err != nil {
		return nil, err
	}
	return r.describe(req), nil
}

type refused struct {
	tool, reason, statement string
	params                  []json.RawMessage
	code                    refusal.Code
}

type writes struct {
	previews []writecore.Request
	executes []writecore.ExecuteRequest
	refusals []refused
	reply    writecore.Reply
	outcome  writecore.Outcome
	errs     []error
}

func (w *writes) next() error {
	if len(w.errs) == 0 {
		return nil
	}
	err := w.errs[0]
	w.errs = w.errs[1:]
	return err
}

func (w *writes) Preview(_ context.Context, r writecore.Request) (writecore.Reply, error) {
	w.previews = append(w.previews, r)
	return w.reply, w.next()
}

func (w *writes) Execute(_ context.Context, r writecore.ExecuteRequest) (writecore.Outcome, error) {
	w.executes = append(w.executes, r)
	return w.outcome, w.next()
}

func (w *writes) Refused(_ context.Context, tool, reason, statement string, params []json.RawMessage, err error) {
	r := refused{tool: tool, reason: reason, statement: statement, params: params}
	if e, ok := refusal.As(err); ok {
		r.code = e.Code
	}
	w.refusals = append(w.refusals, r)
}

// bundle is one set of tools over fakes.
type bundle struct {
	tools  map[string]tools.Tool
	cat    *catalog
	reads  *reads
	writes *writes
	events []tools.ReadEvent
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{tools: map[string]tools.Tool{}, cat: &catalog{}, reads: &reads{}, writes: &writes{}}
	list, err := sqlguard.ParseAllowlist([]string{"app"}, nil)
	require.NoError(t, err)
	guard := sqlguard.New(sqlguard.Policy{Write: list})
	for _, tool := range tools.All(tools.Deps{
		Text: guard, Rows: guard, ReadonlyCatalog: b.cat, WriterCatalog: b.cat, Reads: b.reads, Writes: b.writes,
		Limits:     limits,
		RecordRead: func(_ context.Context, e tools.ReadEvent) { b.events = append(b.events, e) },
	}) {
		b.tools[tool.Name] = tool
	}
	b.reads.result = &tools.QueryResult{Columns: []string{"a"}, Types: []string{"integer"}, Rows: [][]json.RawMessage{{json.RawMessage("1")}}}
	b.reads.plan = json.RawMessage(`[{"Plan":{"Node Type":"Result","Total Cost":0.01,"Plan Rows":1}}]`)
	b.reads.describe = func(tools.DescribeRequest) []tools.Described {
		return []tools.Described{{Schema: "app", Table: "items", Entry: json.RawMessage(`{"schema":"app","table":"items"}`)}}
	}
	return b
}

var limits = tools.Limits{QueryRows: 1000, QueryBytes: 1 << 20, QueryTimeout: 10 * time.Second, ApprovalAbove: 100, ExecuteWait: 50 * time.Second}

func (b *bundle) call(t *testing.T, tool, arguments string) (json.RawMessage, error) {
	t.Helper()
	tl, ok := b.tools[tool]
	require.True(t, ok, tool)
	return tl.Handle(t.Context(), tools.Call{Arguments: json.RawMessage(arguments)})
}

// succeed returns the result, which must be one JSON object.
func (b *bundle) succeed(t *testing.T, tool, arguments string) string {
	t.Helper()
	out, err := b.call(t, tool, arguments)
	require.NoError(t, err)
	var o map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(out, &o))
	return string(out)
}
