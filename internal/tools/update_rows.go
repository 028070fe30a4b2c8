package tools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

const updateRowsUsage = "update_rows takes table (string), set (object: column to value), set_expressions (object: column to SQL expression), where (string), params (array), confirm_full_table (boolean) and reason (string); table, set and reason are required; set may be {} when set_expressions is not."

func updateRows(d Deps) Tool {
	return Tool{
		Name: "update_rows", Title: "Preview an UPDATE",
		Description: `Preview a change of rows of one table. The UPDATE really runs and is rolled back: nothing is changed by this call. The answer counts every row that would change, also in other tables through triggers and cascades (blast_radius), shows before and after of up to 10 rows (changes) and holds a plan_token.

Next: compare affected_rows and changes with what you meant, then call execute_plan with plan_token, statement and params exactly as given. Status "awaiting_approval" means that a person must decide first: give your user approval_url, then call execute_plan, which waits. HARD_MAX_ROWS_EXCEEDED means too many rows for any approval: narrow the condition.

set holds plain values, never SQL: {"status": "closed", "note": null}. set_expressions holds SQL over the row: {"price": "price * 1.05", "note": "DEFAULT"}. Placeholders in where count from $1 through params; the values of set are numbered behind them by the server. Without a condition confirm_full_table must be true.`,
		Schema: object(`"table","set","reason"`, tableProperty+
			`,"set":{"type":"object","description":"Column to plain value. {} when only set_expressions are given.","additionalProperties":`+anyValue+`}`+
			`,"set_expressions":{"type":"object","description":"Column to one scalar SQL expression over the row, or DEFAULT.","additionalProperties":{"type":"string"}}`+
			`,`+whereProperty+`,`+paramsProperty+`,`+fullProperty+`,`+reasonProperty),
		Hints: Hints{ReadOnly: false, Destructive: false, Idempotent: false, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a updateArguments
			if err := decode(updateRowsUsage, call.Arguments, &a); err != nil {
				return nil, d.undecoded(ctx, "update_rows", call.Arguments, err)
			}
			w := write{tool: "update_rows", params: a.Params, asked: a.asked()}
			var err error
			if w.reason, err = reasonOf(a.Reason); err != nil {
				return nil, d.refused(ctx, w, err)
			}
			spec, err := a.spec()
			if err != nil {
				return nil, d.refused(ctx, w, err)
			}
			w.guard = func(cat sqlguard.Catalog) (*sqlguard.Statement, error) { return d.Rows.Update(ctx, cat, spec) }
			return d.previewWrite(ctx, call, w)
		},
	}
}

type updateArguments struct {
	Table            *string           `json:"table"`
	Set              strictjson.Object `json:"set" lenient:"json"`
	SetExpressions   strictjson.Object `json:"set_expressions"`
	Where            string            `json:"where"`
	Params           []json.RawMessage `json:"params" lenient:"json"`
	ConfirmFullTable bool              `json:"confirm_full_table"`
	Reason           *string           `json:"reason"`
}

// spec is the arguments as the guard takes them, columns in the agent's order.
func (a updateArguments) spec() (sqlguard.UpdateSpec, error) {
	if a.Table == nil {
		return sqlguard.UpdateSpec{}, missing(updateRowsUsage, "table")
	}
	if a.Set == nil {
		return sqlguard.UpdateSpec{}, missing(updateRowsUsage, "set")
	}
	spec := sqlguard.UpdateSpec{Table: *a.Table, Where: a.Where, Params: a.Params, ConfirmFullTable: a.ConfirmFullTable}
	for _, m := range a.Set {
		spec.Set = append(spec.Set, sqlguard.SetValue{Column: m.Name, Value: m.Value})
	}
	expressions, err := texts(updateRowsUsage, "set_expressions", a.SetExpressions)
	if err != nil {
		return sqlguard.UpdateSpec{}, err
	}
	for _, m := range a.SetExpressions {
		spec.SetExpressions = append(spec.SetExpressions, sqlguard.SetExpr{Column: m.Name, Expr: expressions[m.Name]})
	}
	return spec, nil
}

// asked is the statement in the agent's words without any value.
func (a updateArguments) asked() string {
	if a.Table == nil {
		return ""
	}
	var set []string
	for _, m := range a.Set {
		set = append(set, m.Name+" = …")
	}
	expressions, _ := texts(updateRowsUsage, "set_expressions", a.SetExpressions)
	for _, m := range a.SetExpressions {
		set = append(set, m.Name+" = "+expressions[m.Name])
	}
	return asked("UPDATE", *a.Table+" SET "+strings.Join(set, ", "), a.Where)
}
