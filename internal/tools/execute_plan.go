package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

const executePlanUsage = "execute_plan takes plan_token (string), statement (string), params (array), fingerprint (string, may stand in for params) and reason (string); plan_token and statement are required. Give them back exactly as the preview gave them."

func executePlan(d Deps) Tool {
	return Tool{
		Name: "execute_plan", Title: "Commit a previewed plan",
		Description: `Commit a plan that delete_rows, insert_rows, update_rows or run_migration previewed. This is the only tool that changes anything, and each plan_token commits at most once.

Give back plan_token, statement and params exactly as the preview gave them (or fingerprint in place of long params). The server runs what it stored; what you give back is only compared, and a difference is STATEMENT_MISMATCH.

If a person must decide, this call waits for them. AWAITING_APPROVAL means that they have not decided yet: tell your user, then call again with the same arguments. PLAN_REJECTED carries their reason: do not try the same again. ROWSET_CHANGED, EXPIRED_TOKEN and SUPERSEDED_PLAN: preview again and look at the new numbers. After OUTCOME_UNKNOWN or a lost connection call again with the same token: USED_TOKEN says when it was committed and how many rows.`,
		Schema: object(`"plan_token","statement"`,
			`"plan_token":{"type":"string","description":"The plan_token of the preview."}`+
				`,"statement":{"type":"string","description":"The statement of the preview, unchanged."}`+
				`,"params":{"type":"array","description":"The params of the preview, unchanged. May be left out when fingerprint is given.","items":`+anyValue+`}`+
				`,"fingerprint":{"type":"string","description":"The fingerprint of the preview, instead of long params."}`+
				`,"reason":{"type":"string","description":"Optional: why now. Kept in the audit log."}`),
		Hints: Hints{ReadOnly: false, Destructive: true, Idempotent: true, OpenWorld: false},
		Handle: func(ctx context.Context, call Call) (json.RawMessage, error) {
			var a struct {
				PlanToken   *string           `json:"plan_token"`
				Statement   *string           `json:"statement"`
				Params      []json.RawMessage `json:"params" lenient:"json"`
				Fingerprint string            `json:"fingerprint"`
				Reason      string            `json:"reason"`
			}
			if err := decode(executePlanUsage, call.Arguments, &a); err != nil {
				return nil, d.undecoded(ctx, "execute_plan", call.Arguments, err)
			}
			w := write{tool: "execute_plan", reason: a.Reason, params: a.Params}
			if a.Statement != nil {
				w.asked = *a.Statement
			}
			if a.PlanToken == nil {
				return nil, d.refused(ctx, w, missing(executePlanUsage, "plan_token"))
			}
			if a.Statement == nil {
				return nil, d.refused(ctx, w, missing(executePlanUsage, "statement"))
			}
			if a.Params == nil && a.Fingerprint == "" {
				a.Params = []json.RawMessage{} // no params given means: there are none
			}
			req := writecore.ExecuteRequest{
				Token: plan.Token(*a.PlanToken),
				Echo: plan.Echo{
					Payload:     &plan.Payload{Statement: *a.Statement, Params: a.Params},
					Fingerprint: plan.Fingerprint(a.Fingerprint),
				},
				Reason:   a.Reason,
				Progress: call.Progress,
			}
			if d.Desk != nil {
				req.Consult = d.Desk.Turn(call.Client)
			}
			out, err := d.Writes.Execute(ctx, req)
			if err != nil {
				return nil, err
			}
			return renderOutcome(out)
		},
	}
}

// renderOutcome is what the agent gets for a commit.
func renderOutcome(o writecore.Outcome) (json.RawMessage, error) {
	reply := struct {
		Status       string      `json:"status"`
		PlanToken    plan.Token  `json:"plan_token"`
		AffectedRows int64       `json:"affected_rows"`
		BlastRadius  radiusReply `json:"blast_radius"`
		DurationMS   float64     `json:"duration_ms"`
		Rows         *[]plan.Row `json:"rows,omitempty"`
		Masked       []string    `json:"masked,omitempty"`
	}{
		Status:       string(plan.Executed),
		PlanToken:    o.Plan.Token,
		AffectedRows: o.AffectedRows,
		BlastRadius:  renderRadius(o.BlastRadius),
		DurationMS:   math.Round(float64(o.Duration)/float64(time.Millisecond)*100) / 100,
	}
	if o.Plan.Tool == "insert_rows" {
		returned := some(o.Returned)
		reply.Rows, reply.Masked = &returned, maskedIn(returned)
	}
	out, err := plainJSON(reply)
	if err != nil {
		return nil, fmt.Errorf("rendering the outcome: %w", err)
	}
	return out, nil
}
