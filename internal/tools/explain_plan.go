package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const explainPlanUsage = "explain_plan takes statement (string), params (array) and reason (string); statement and reason are required."

// noAnalyze is why there are no measured plans.
const noAnalyze = "explain_plan has no ANALYZE: it is what one asks before a statement is run, so it never runs one. To measure a SELECT run it with query; a write is measured by its preview, which runs it and rolls it back."

func explainPlan(d Deps) Tool {
	return Tool{
		Name: "explain_plan", Title: "Explain a query",
		Description: `Show how Postgres would run one SELECT, without running it: estimated cost and rows, Postgres' plan as JSON, and warnings of sequential scans that read much (8 MB or 100,000 rows). The statement is not executed, so there are no measured times; ANALYZE is not offered.

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
				return nil, explainWish(call.Arguments, "", err)
			}
			reason, err := reasonOf(a.Reason)
			if err != nil {
				return nil, err
			}
			if a.Statement == nil {
				return nil, missing(explainPlanUsage, "statement")
			}
			var explained *Explained
			err = d.read(ctx, ReadEvent{Tool: "explain_plan", Reason: reason, Statement: *a.Statement, Params: a.Params},
				func(st *sqlguard.Statement) (_ int64, err error) {
					explained, err = d.Reads.Explain(ctx, st, d.Limits.QueryTimeout)
					return 0, err
				})
			if err != nil {
				return nil, explainWish(nil, *a.Statement, err)
			}
			return renderPlan(explained)
		},
	}
}

// wishText is how a text begins that asks for a measured plan.
var wishText = regexp.MustCompile(`(?i)^[\s(]*(explain\b[\s(]*)?([a-z_]+(\s+[a-z0-9_]+)?\s*,\s*)*(verbose\s+)?analy[sz]e\b`)

// explainWish says why there is no ANALYZE to who asked for it, in an argument or in the text.
func explainWish(arguments json.RawMessage, text string, err error) error {
	e, ok := refusal.As(err)
	if !ok {
		return err
	}
	wish := wishText.MatchString(text)
	var given map[string]json.RawMessage
	if arguments != nil && json.Unmarshal(arguments, &given) == nil {
		for name := range given {
			switch strings.ToLower(name) {
			case "analyze", "analyse", "buffers", "timing", "wal":
				wish = true
			}
		}
	}
	if !wish {
		return err
	}
	return refusal.New(e.Code, e.Message, noAnalyze)
}

func renderPlan(explained *Explained) (json.RawMessage, error) {
	root, err := readNodes(explained.Plan)
	if err != nil {
		return nil, err
	}
	reply := struct {
		Cost     json.Number     `json:"cost"`
		Rows     json.Number     `json:"rows"`
		Plan     json.RawMessage `json:"plan"`
		Warnings []plan.Warning  `json:"warnings"`
	}{number(root.TotalCost), number(root.Rows), explained.Plan, seqScans(root, explained.Scanned)}
	out, err := plainJSON(reply)
	if err != nil {
		return nil, fmt.Errorf("rendering the plan: %w", err)
	}
	return out, nil
}

// number is a number of the plan, 0 where there is none.
func number(n json.Number) json.Number {
	if n == "" {
		return "0"
	}
	return n
}
