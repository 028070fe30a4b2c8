package writecore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// radiusJSON is the blast radius as the contract and the audit table have it.
func radiusJSON(r plan.BlastRadius) json.RawMessage {
	type table struct {
		Table    string `json:"table"`
		Inserted int64  `json:"inserted"`
		Updated  int64  `json:"updated"`
		Deleted  int64  `json:"deleted"`
	}
	out := struct {
		TotalRows int64    `json:"total_rows"`
		Tables    []table  `json:"tables"`
		Unknown   []string `json:"unknown,omitempty"`
	}{TotalRows: r.TotalRows, Tables: make([]table, 0, len(r.Tables)), Unknown: r.Unknown}
	for _, t := range r.Tables {
		out.Tables = append(out.Tables, table{t.Name, t.Inserted, t.Updated, t.Deleted})
	}
	b, err := json.Marshal(out)
	if err != nil { // cannot happen: strings and integers
		return json.RawMessage(`{}`)
	}
	return b
}

// recordRefusal writes the row of a write that was refused or failed in its preview.
func (w *TwoPhaseWrite) recordRefusal(ctx context.Context, req Request, err error, took time.Duration) {
	e := audit.Event{
		Tool: req.Tool, Reason: req.Reason, Status: audit.Failed, Duration: took,
		CallerID: w.o.CallerID, ErrorCode: codeOf(err),
	}
	if req.Statement != nil {
		e.Statement, e.Params = req.Statement.SQL(), req.Statement.Params()
	}
	if refusal.Is(err, refusal.HardMaxRowsExceeded) {
		e.Status = audit.HardCapRefused
	}
	_ = w.o.Audit.Record(ctx, e) // loud and counted there
}

// Refused records a write that was refused before it became a statement.
func (w *TwoPhaseWrite) Refused(ctx context.Context, tool, reason, statement string, params []json.RawMessage, err error) {
	_ = w.o.Audit.Record(ctx, audit.Event{
		Tool: tool, Reason: reason, Statement: statement, Params: params,
		Status: audit.Failed, CallerID: w.o.CallerID, ErrorCode: codeOf(err),
	}) // loud and counted there
}

// codeOf is the error_code of the audit row: the refusal's, else that the caller left or a fault.
func codeOf(err error) string {
	if e, ok := refusal.As(err); ok {
		return string(e.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return audit.Cancelled
	}
	return string(refusal.InternalError)
}
