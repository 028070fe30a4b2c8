package tools

import (
	"context"
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const deleteRowsUsage = "delete_rows takes table (string), where (string), params (array), confirm_full_table (boolean) and reason (string); table and reason are required."

func deleteRows(d Deps) Tool {
	return Tool{
		Name: "delete_rows", Title: "Preview a DELETE",
		Description: `Preview the deletion of rows of one table. The DELETE really runs and is rolled back: nothing is deleted by this call. The answer counts every row that would go, also in other tables through ON DELETE CASCADE and triggers (blast_radius), shows a sample and holds a plan_token.

Next: compare affected_rows and blast_radius with what you meant, then call execute_plan with plan_token, statement and params exactly as given. Status "awaiting_approval" means that a person must decide first: give your user approval_url, then call execute_plan, which waits. HARD_MAX_ROWS_EXCEEDED means too many rows for any approval: narrow the condition.

The condition goes into where with values in params: where "tenant_id = $1", params [42]. Without a condition confirm_full_table must be true.`,
		Schema: object(`"table","reason"`, tableProperty+`,`+whereProperty+`,`+paramsProperty+`,`+fullProperty+`,`+reasonProperty),
		Hints:  Hints{ReadOnly: false, Destructive: false, Idempotent: false, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a struct {
				Table            *string           `json:"table"`
				Where            string            `json:"where"`
				Params           []json.RawMessage `json:"params" lenient:"json"`
				ConfirmFullTable bool              `json:"confirm_full_table"`
				Reason           *string           `json:"reason"`
			}
			err := decode(deleteRowsUsage, call.Arguments, &a)
			if err != nil {
				return nil, d.undecoded(ctx, "delete_rows", call.Arguments, err)
			}
			w := write{tool: "delete_rows", params: a.Params}
			if a.Table != nil {
				w.asked = asked("DELETE FROM", *a.Table, a.Where)
			}
			if w.reason, err = reasonOf(a.Reason); err != nil {
				return nil, d.refused(ctx, w, err)
			}
			if a.Table == nil {
				return nil, d.refused(ctx, w, missing(deleteRowsUsage, "table"))
			}
			w.guard = func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
				return d.Rows.Delete(ctx, cat, sqlguard.DeleteSpec{
					Table: *a.Table, Where: a.Where, Params: a.Params, ConfirmFullTable: a.ConfirmFullTable,
				})
			}
			return d.previewWrite(ctx, call, w)
		},
	}
}
