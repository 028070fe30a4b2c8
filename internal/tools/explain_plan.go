package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const explainPlanUsage = "explain_plan takes statement (string), params (array) and reason (string); statement and reason are required."

// seqScanCost is the planner's cost from which a sequential scan is worth a warning: about 8 MB of
// table with the default costs (seq_page_cost 1 for 8 kB).
const seqScanCost = 1000

func explainPlan(d Deps) Tool {
	return Tool{
		Name: "explain_plan", Group: "query", Tier: "read", Title: "Explain a query",
		Description: `Show how Postgres would run one SELECT, without running it: estimated cost and rows, Postgres' plan as JSON, and warnings such as a sequential scan of a large table. The statement is not executed, so there are no measured times; ANALYZE is not offered.

Give the plain statement, without the word EXPLAIN. It covers reads only: for an UPDATE, DELETE or INSERT use the preview of update_rows, delete_rows or insert_rows, which really runs and is rolled back.`,
		Schema: object(`"statement","reason"`,
			`"statement":{"type":"string","description":"One SELECT statement, without EXPLAIN."},`+paramsProperty+`,`+reasonProperty),
		Hints: Hints{ReadOnly: true, Destructive: false, Idempotent: true, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a struct {
				Statement *string           `json:"statement"`
				Params    []json.RawMessage `json:"params" lenient:"json"`
				Reason    *string           `json:"reason"`
			}
			if err := decode(explainPlanUsage, call.Arguments, &a); err != nil {
				return nil, err
			}
			reason, err := reasonOf(a.Reason)
			if err != nil {
				return nil, err
			}
			if a.Statement == nil {
				return nil, missing(explainPlanUsage, "statement")
			}
			var explained json.RawMessage
			err = d.read(ctx, ReadEvent{Tool: "explain_plan", Reason: reason, Statement: *a.Statement, Params: a.Params},
				func(st *sqlguard.Statement) (_ int64, err error) {
					explained, err = d.Reads.Explain(ctx, st, d.Limits.QueryTimeout)
					return 0, err
				})
			if err != nil {
				return nil, err
			}
			return renderPlan(explained)
		},
	}
}

// node is what is read of one node of Postgres' plan (manual, "EXPLAIN", FORMAT JSON).
type node struct {
	Type      string      `json:"Node Type"`
	Relation  string      `json:"Relation Name"`
	Schema    string      `json:"Schema"` // only with VERBOSE
	TotalCost json.Number `json:"Total Cost"`
	Rows      json.Number `json:"Plan Rows"`
	Plans     []node      `json:"Plans"`
}

func renderPlan(explained json.RawMessage) (json.RawMessage, error) {
	var top []struct {
		Plan *node `json:"Plan"`
	}
	if err := json.Unmarshal(explained, &top); err != nil || len(top) != 1 || top[0].Plan == nil {
		return nil, fmt.Errorf("reading Postgres' plan: it has another shape than one object with a Plan (%w)", err)
	}
	root := top[0].Plan
	reply := struct {
		Cost     json.Number     `json:"cost"`
		Rows     json.Number     `json:"rows"`
		Plan     json.RawMessage `json:"plan"`
		Warnings []plan.Warning  `json:"warnings"`
	}{number(root.TotalCost), number(root.Rows), explained, []plan.Warning{}}
	walk(*root, func(n node) {
		cost, err := n.TotalCost.Float64()
		if n.Type != "Seq Scan" || err != nil || cost < seqScanCost {
			return
		}
		name := n.Relation
		if n.Schema != "" {
			name = sqlguard.QuoteName(n.Schema, n.Relation)
		}
		w := plan.Warning{Code: plan.WarnSeqScan, Message: fmt.Sprintf("All of %s is read (estimated cost %s). If that is often, an index on the filtered columns would help.", name, n.TotalCost)}
		if !slices.Contains(reply.Warnings, w) {
			reply.Warnings = append(reply.Warnings, w)
		}
	})
	out, err := plainJSON(reply)
	if err != nil {
		return nil, fmt.Errorf("rendering the plan: %w", err)
	}
	return out, nil
}

func walk(n node, visit func(node)) {
	visit(n)
	for _, child := range n.Plans {
		walk(child, visit)
	}
}

// number is a number of the plan, 0 where there is none.
func number(n json.Number) json.Number {
	if n == "" {
		return "0"
	}
	return n
}
