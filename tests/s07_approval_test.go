package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// consent are argument names that look like a person's yes.
var consent = []string{
	"approved", "approve", "approvedBy", "approved_by", "auto_approve", "autoApprove", "confirm", "confirmed", "confirmation", "consent", "force",
	"yes", "ok", "allow", "allowed", "override", "bypass", "skip_approval", "skipApproval", "dangerously_skip_permissions", "sudo", "admin",
	"user_approved", "human", "token", "secret", "authToken", "pin", "status", "state", "requireApproval", "needsApproval", "dry_run", "execute", "commit", "_meta",
}

// S07: nothing that an agent can send approves a plan.
func TestS07OnlyAPersonCanApprove(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		db := world(t)
		o := everyPlanWaits()
		// A client that says yes to whatever it is asked.
		o.client = map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}, "sampling": map[string]any{}, "roots": map[string]any{"listChanged": true}}
		o.config["write"].(map[string]any)["executeWaitMs"] = 100
		s := start(t, db, o)
		s.mu.Lock()
		s.elicit = func(message) any {
			return map[string]any{"action": "accept", "content": map[string]any{"approve": true, "approved": true, "decision": "approve", "confirm": true}}
		}
		s.mu.Unlock()
		p := s.preview(r.tool, r.write.args(1))
		require.Equal(t, "awaiting_approval", p.Status)
		before := snapshot(t, db)

		for _, name := range consent {
			for _, yes := range []any{true, "true", "yes", p.Token} {
				echo := p.echo()
				echo[name] = yes
				s.call("execute_plan", echo).refused(t, refusal.InvalidArguments)
			}
			for _, m := range matrix {
				a := m.sound()
				a[name] = true
				s.call(m.tool, a).refused(t, refusal.InvalidArguments)
			}
		}
		s.call("execute_plan", p.echo()).refused(t, refusal.AwaitingApproval)
		for _, method := range []string{"tools/approve", "approve_plan", "plans/approve", "elicitation/create", "completion/complete", "notifications/approved", "logging/setLevel"} {
			m := s.request(method, map[string]any{"plan_token": p.Token, "approved": true}).wait()
			require.NotNil(t, m.Error, "%s", method)
		}
		for _, tool := range []string{"approve_plan", "reject_plan", "approve", "commit"} {
			require.NotNil(t, s.call(tool, map[string]any{"plan_token": p.Token, "reason": "t"}).rpc)
		}
		// The agent knows approval_url, and that is not enough.
		require.NotEmpty(t, p.ApprovalURL)
		require.NotContains(t, p.ApprovalURL, s.secret())
		base := strings.TrimSuffix(p.ApprovalURL, "/")
		for _, header := range []string{"", "Bearer ", "Bearer " + p.Token, "Bearer " + p.Fingerprint, "Basic YTpi"} {
			req, err := http.NewRequest(http.MethodPost, base+"/api/plans/"+p.Token+"/approve", strings.NewReader(`{"approvedBy":"Ada"}`))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			if header != "" {
				req.Header.Set("Authorization", header)
			}
			require.Equal(t, http.StatusUnauthorized, do(t, req).status)
		}
		require.Equal(t, []string{p.Token}, s.waiting(), "the plan no longer waits")
		require.Equal(t, before, snapshot(t, db))
		require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
		for _, asked := range s.requests {
			require.NotContains(t, []string{"elicitation/create", "sampling/createMessage"}, asked.Method, "the client is asked for a decision")
		}
		// And the person still can.
		s.approve(p.Token)
		s.execute(p)
		require.True(t, r.write.done(t, db, 1))
	})
}

var helpCommand = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +[A-Z]`)

// S07, on the command line: every command of the program, run as the agent that shares the user's
// account and the server's environment, prints nothing that would approve.
func TestS07NoCommandApproves(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, everyPlanWaits())
	p := s.preview("delete_rows", writers()[0].write.args(1))
	secret := s.secret()
	// Those that start a database or serve are tried with --help only; seed-demo has its own tests.
	helpOnly := []string{"demo", "serve", "seed-demo"}
	var tried []string
	out := runToEnd(t, db, options{args: []string{"--help"}})
	for _, m := range helpCommand.FindAllStringSubmatch(out.stdout+out.stderr, -1) {
		tried = append(tried, m[1])
		args := [][]string{{m[1], "--help"}, {m[1], "open", "--help"}}
		if !slices.Contains(helpOnly, m[1]) {
			args = append(args, []string{m[1]}, []string{m[1], p.Token}, []string{m[1], "open"}, []string{m[1], "approve", p.Token})
		}
		for _, a := range args {
			r := runToEnd(t, db, options{args: a})
			require.NotContains(t, r.stdout+r.stderr, secret, "%v", a)
			for _, pw := range s.secrets {
				require.NotContains(t, r.stdout+r.stderr, pw, "%v", a)
			}
		}
	}
	require.Subset(t, tried, []string{"approvals", "check-config", "demo", "pin", "serve", "seed-demo", "version"})
	require.Equal(t, []string{p.Token}, s.waiting())
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
}

// S08: a rejection is final, and the same change says that it was rejected, and why.
func TestS08ARejectionIsFinal(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		db := world(t)
		s := start(t, db, everyPlanWaits())
		p := s.preview(r.tool, r.write.args(1))
		blocked := s.begin("execute_plan", p.echo())
		before := snapshot(t, db)
		require.Equal(t, http.StatusOK, s.reject(p.Token, "not on a Friday").status)
		got := blocked.reply()
		got.refused(t, refusal.PlanRejected)
		require.Contains(t, got.message, "not on a Friday")

		var wg sync.WaitGroup
		answers := make([]answer, 10)
		for i := range answers {
			wg.Go(func() { answers[i] = s.post("/api/plans/"+p.Token+"/approve", args{"approvedBy": "Eve"}) })
		}
		wg.Wait()
		for _, a := range answers {
			require.Equal(t, http.StatusConflict, a.status)
			require.Equal(t, "PLAN_REJECTED", a.code())
		}
		again := s.reject(p.Token, "another reason")
		require.Equal(t, http.StatusOK, again.status)
		require.Contains(t, string(again.body), `"already_rejected":true`)
		got = s.call("execute_plan", p.echo())
		got.refused(t, refusal.PlanRejected)
		require.Contains(t, got.message, "not on a Friday", "the first reason wins")

		next := s.preview(r.tool, r.write.args(1))
		require.NotEqual(t, p.Token, next.Token)
		require.True(t, next.warned("REJECTED_BEFORE"), "%v", next.Warnings)
		require.Contains(t, fmt.Sprint(next.Warnings), "not on a Friday")
		require.Equal(t, before, snapshot(t, db))
		require.Equal(t, 1, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status = 'rejected' AND plan_token = $1", p.Token))
	})
}

// S09: of 50 calls at once exactly one commits, and the others are told so.
func TestS09ATokenWorksOnce(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		db := world(t)
		s := start(t, db, options{})
		p := s.preview(r.tool, r.write.args(1))
		if p.Status == "awaiting_approval" {
			s.approve(p.Token)
		}
		const calls = 50
		pending := make([]*pending, calls)
		for i := range pending {
			pending[i] = s.begin("execute_plan", p.echo())
		}
		won := 0
		for _, call := range pending {
			got := call.reply()
			if !got.isError {
				won++
				continue
			}
			got.refused(t, refusal.UsedToken, refusal.AlreadyExecuting)
		}
		require.Equal(t, 1, won)
		require.Equal(t, 1, executedRows(t, db, p.Token))
		require.True(t, r.write.done(t, db, 1))
		got := s.call("execute_plan", p.echo())
		got.refused(t, refusal.UsedToken)
		// Another process knows it from the ledger.
		other := start(t, db, options{})
		got = other.call("execute_plan", p.echo())
		got.refused(t, refusal.UsedToken)
		require.Equal(t, 1, executedRows(t, db, ""))
		if r.tool == "insert_rows" {
			require.Equal(t, 1, number(t, db, "SELECT count(*) FROM app.item WHERE name = 'new 1'"))
		}
	})
}

// S10: a plan ends with its time; who waits is told, and a late yes does nothing.
func TestS10ALateApprovalDoesNothing(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		db := world(t)
		o := everyPlanWaits()
		o.config["write"].(map[string]any)["planTtlMs"] = 1500
		o.config["write"].(map[string]any)["approvalTtlMs"] = 1500
		s := start(t, db, o)
		before := snapshot(t, db)
		p := s.preview(r.tool, r.write.args(1))
		expires, err := time.Parse(time.RFC3339, p.Expires)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(1500*time.Millisecond), expires, 1500*time.Millisecond)
		from := time.Now()
		got := s.begin("execute_plan", p.echo()).reply() // waits until its end
		got.refused(t, refusal.ExpiredToken)
		require.Less(t, time.Since(from), patience)
		late := s.post("/api/plans/"+p.Token+"/approve", args{"approvedBy": "Ada"})
		require.Equal(t, http.StatusGone, late.status)
		require.Equal(t, "PLAN_EXPIRED", late.code())
		s.call("execute_plan", p.echo()).refused(t, refusal.ExpiredToken)
		require.Equal(t, before, snapshot(t, db))
		require.Empty(t, s.waiting())
		eventually(t, "the end of the plan is recorded", func() bool {
			return number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE plan_token = $1 AND status = 'failed' AND error_code = 'EXPIRED_TOKEN'", p.Token) > 0
		})

		// Approved in time it lives on for its time, and then ends too.
		p = s.preview(r.tool, r.write.args(2))
		s.approve(p.Token)
		eventually(t, "an approved plan expires", func() bool {
			var list struct {
				Plans []json.RawMessage `json:"plans"`
			}
			require.NoError(t, json.Unmarshal(s.get("/api/plans?all=1").body, &list))
			return len(list.Plans) == 0
		})
		s.call("execute_plan", p.echo()).refused(t, refusal.ExpiredToken)
		require.Equal(t, before, snapshot(t, db))
	})
}
