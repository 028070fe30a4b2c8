package tools

import (
	"context"
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// write is one decoded call of a tool that previews.
type write struct {
	tool, reason string
	// asked is the statement in the agent's own words, for the audit of a refusal: it is never run.
	asked  string
	params []json.RawMessage
	guard  func(sqlguard.Catalog) (*sqlguard.Statement, error)
}

// previewWrite guards, previews and renders. What the guard refuses never reaches Postgres and is
// recorded here; what happens from there on is recorded by the core.
func (d Deps) previewWrite(ctx context.Context, call Call, w write) (json.RawMessage, error) {
	st, err := checked(d.WriterCatalog, w.guard)
	if err != nil {
		return nil, d.refused(ctx, w, err)
	}
	request := writecore.Request{Tool: w.tool, Reason: w.reason, Statement: st}
	asks := func(plan.Plan) bool { return false }
	if d.Desk != nil {
		turn := d.Desk.Turn(call.Client)
		request.Reaches, asks = turn.Reaches, turn.Asks
	}
	reply, err := d.Writes.Preview(ctx, request)
	if err != nil && stale(err) {
		if request.Statement, err = w.guard(&watched{Catalog: d.WriterCatalog, fresh: true}); err != nil {
			return nil, d.refused(ctx, w, err)
		}
		request.Last = true
		reply, err = d.Writes.Preview(ctx, request)
	}
	if err != nil {
		return nil, d.nearer(ctx, d.WriterCatalog, request.Statement, err)
	}
	return d.renderPreview(reply, asks(reply.Plan))
}

// refused records a write that was refused before it reached Postgres, and returns err.
func (d Deps) refused(ctx context.Context, w write, err error) error {
	d.Writes.Refused(ctx, w.tool, w.reason, w.asked, w.params, err)
	return err
}

// undecoded records a write whose arguments were not accepted, and returns err.
func (d Deps) undecoded(ctx context.Context, tool string, arguments json.RawMessage, err error) error {
	return d.refused(ctx, write{tool: tool, reason: givenReason(arguments)}, err)
}

// asked joins the parts of a statement that the agent named, for the record of a refusal.
func asked(verb, table, where string) string {
	text := verb + " " + table
	if where != "" {
		text += " WHERE " + where
	}
	return text
}
