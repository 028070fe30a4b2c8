package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

const insertRowsUsage = "insert_rows takes table (string), columns (array of names), rows (array of arrays of values, one per row, in the order of columns) and reason (string); all are required."

func insertRows(d Deps) Tool {
	return Tool{
		Name: "insert_rows", Title: "Preview an INSERT",
		Description: `Preview the insertion of rows into one table. The INSERT really runs and is rolled back: nothing is inserted by this call, apart from sequences, which advance. The answer shows the rows as they would be stored, defaults and triggers included, every other table that would change (blast_radius), and holds a plan_token.

Next: check the sample, then call execute_plan with plan_token, statement and params exactly as given, or with fingerprint instead of long params. Status "awaiting_approval" means that a person must decide first: give your user approval_url, then call execute_plan, which waits.

Leave out identity, generated and defaulted columns; null is SQL NULL. There is no ON CONFLICT and no upsert: a duplicate key is an error, so query first and use update_rows for rows that exist. At most 65,535 values in one call.`,
		Schema: object(`"table","columns","rows","reason"`, tableProperty+
			`,"columns":{"type":"array","description":"Names of the columns that get a value.","items":{"type":"string"}}`+
			`,"rows":{"type":"array","description":"One array per row, its values in the order of columns. Give integers beyond 2^53 and exact decimals as strings.","items":{"type":"array","items":`+anyValue+`}}`+
			`,`+reasonProperty),
		Hints: Hints{ReadOnly: false, Destructive: false, Idempotent: false, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a struct {
				Table   *string             `json:"table"`
				Columns []string            `json:"columns" lenient:"json"`
				Rows    [][]json.RawMessage `json:"rows" lenient:"json"`
				Reason  *string             `json:"reason"`
			}
			err := decode(insertRowsUsage, call.Arguments, &a)
			if err != nil {
				return nil, d.undecoded(ctx, "insert_rows", call.Arguments, err)
			}
			w := write{tool: "insert_rows"}
			if a.Table != nil {
				w.asked = fmt.Sprintf("INSERT INTO %s (%s) VALUES … (%s)", *a.Table, strings.Join(a.Columns, ", "), rows(int64(len(a.Rows))))
			}
			if w.reason, err = reasonOf(a.Reason); err != nil {
				return nil, d.refused(ctx, w, err)
			}
			for _, field := range []struct {
				name   string
				absent bool
			}{{"table", a.Table == nil}, {"columns", a.Columns == nil}, {"rows", a.Rows == nil}} {
				if field.absent {
					return nil, d.refused(ctx, w, missing(insertRowsUsage, field.name))
				}
			}
			w.guard = func(cat sqlguard.Catalog) (*sqlguard.Statement, error) {
				return d.Rows.Insert(ctx, cat, sqlguard.InsertSpec{Table: *a.Table, Columns: a.Columns, Rows: a.Rows})
			}
			return d.previewWrite(ctx, call, w)
		},
	}
}
