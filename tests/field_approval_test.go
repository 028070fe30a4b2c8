package tests

// What people reported of approvals (field cases G), as tests. Cases that another test holds whole:
//
//	G85 a client answers its own elicitation: TestS07OnlyAPersonCanApprove
//	G92 approvals are missed:                 TestFieldG92ANewPlanIsNoticed (the page's own tests)
//	G94 rules absent on another path:         the safety matrix (matrix_test.go) runs every tool and every
//	                                          kind of plan through execute_plan; TestS03 binds them

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// G86: where nobody can be asked, what needs asking is refused; "cannot ask" is never "need not ask". The
// page that could not be bound, or that failed later: TestFieldG86ThePageFailed in cmd/sw-postgres-mcp.
func TestFieldG86NobodyToAsk(t *testing.T) {
	t.Parallel()
	db := world(t)
	o := everyPlanWaits()
	o.config["approvalServer"] = map[string]any{"enabled": false}
	s := start(t, db, o)
	for _, w := range writers() {
		r := s.call(w.tool, w.write.args(1))
		r.refused(t, refusal.ApprovalUnavailable)
		require.NotContains(t, r.message+r.hint, "plan_token", w.tool)
	}
	require.Equal(t, 0, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE plan_token IS NOT NULL"))
	require.Equal(t, len(writers()), number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status = 'failed' AND error_code = 'APPROVAL_UNAVAILABLE'"))
	// What needs nobody still runs.
	free := start(t, db, options{config: map[string]any{"approvalServer": map[string]any{"enabled": false}}})
	p := free.preview("delete_rows", args{"table": "app.item", "where": "id = $1", "params": []any{1}, "reason": "t"})
	require.Equal(t, "previewed", p.Status)
	free.execute(p)
}

// G88: the answer of a plan that waits says where, why and until when, and nothing secret.
func TestFieldG88WhereToApprove(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{config: map[string]any{"write": map[string]any{"approvalRequiredAboveRows": 2}}})
	r := s.call("delete_rows", args{"table": "app.item", "where": "id <= $1", "params": []any{3}, "reason": "t"})
	var p struct {
		Status  string `json:"status"`
		URL     string `json:"approval_url"`
		Message string `json:"message"`
		Expires string `json:"expires_at"`
		Radius  struct {
			Total int64 `json:"total_rows"`
		} `json:"blast_radius"`
	}
	r.ok(t, &p)
	require.Equal(t, "awaiting_approval", p.Status)
	require.Equal(t, "http://"+s.pageURL().Host+"/", p.URL)
	require.NotContains(t, string(r.text), s.secret())
	require.Contains(t, p.Message, p.URL, "clients that show only the message lead there too")
	require.Contains(t, p.Message, fmt.Sprintf("%d rows is more than 2", p.Radius.Total))
	at, err := time.Parse(time.RFC3339, p.Expires)
	require.NoError(t, err)
	require.Greater(t, time.Until(at), 5*time.Minute, "a person needs time")
	require.Contains(t, p.Message, p.Expires)
	require.Equal(t, []string{"app.item"}, targets(s))
}

// targets are the tables of the cards that wait.
func targets(s *server) (out []string) {
	for _, c := range s.cards() {
		out = append(out, c.Target)
	}
	return out
}

// waitingCard is what these tests look at of a card.
type waitingCard struct {
	Token   string `json:"plan_token"`
	Target  string `json:"target"`
	Count   int    `json:"preview_count"`
	Earlier *struct {
		Actor  string `json:"actor"`
		Reason string `json:"reason"`
	} `json:"earlier_rejection"`
	Confirm struct {
		Kind   string `json:"kind"`
		Expect string `json:"expect"`
	} `json:"confirm"`
}

func (s *server) cards() []waitingCard {
	s.t.Helper()
	var list struct {
		Plans []waitingCard `json:"plans"`
	}
	a := s.get("/api/plans")
	require.Equal(s.t, http.StatusOK, a.status, "%s", a.body)
	require.NoError(s.t, json.Unmarshal(a.body, &list))
	return list.Plans
}

// G89: asking again and again is one plan and one card; before the decision the token is not "invalid";
// a preview over other rows makes the older one stale with a code of its own.
func TestFieldG89AskedFourTimes(t *testing.T) {
	t.Parallel()
	db := world(t)
	o := everyPlanWaits()
	o.config["write"].(map[string]any)["executeWaitMs"] = 100
	s := start(t, db, o)
	ask := args{"table": "app.item", "where": "id <= $1", "params": []any{3}, "reason": "t"}
	first := s.preview("delete_rows", ask)
	for range 3 {
		require.Equal(t, first.Token, s.preview("delete_rows", ask).Token)
		s.call("execute_plan", first.echo()).refused(t, refusal.AwaitingApproval)
	}
	cards := s.cards()
	require.Len(t, cards, 1)
	require.Equal(t, 4, cards[0].Count)
	// Somebody else deletes one of the rows: the same statement is another plan now.
	db.Exec(t, "DELETE FROM app.item WHERE id = 1")
	second := s.preview("delete_rows", ask)
	require.NotEqual(t, first.Token, second.Token)
	s.call("execute_plan", first.echo()).refused(t, refusal.SupersededPlan)
	require.Equal(t, http.StatusConflict, s.post("/api/plans/"+first.Token+"/approve", map[string]any{}).status)
	require.Equal(t, []string{second.Token}, s.waiting(), "one card, the newer")
	s.approve(second.Token)
	s.execute(second)
	s.call("execute_plan", second.echo()).refused(t, refusal.UsedToken)
}

// G90: what a person has just rejected says so when it comes again, on the card and to the agent.
func TestFieldG90RejectedAndAskedAgain(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), everyPlanWaits())
	ask := args{"table": "app.item", "where": "id <= $1", "params": []any{3}, "reason": "t"}
	p := s.preview("delete_rows", ask)
	require.Equal(t, http.StatusOK, s.reject(p.Token, "Too broad.").status)
	again := s.preview("delete_rows", ask)
	require.NotEqual(t, p.Token, again.Token)
	require.True(t, again.warned("REJECTED_BEFORE"), "%v", again.Warnings)
	cards := s.cards()
	require.Len(t, cards, 1)
	require.NotNil(t, cards[0].Earlier)
	require.Equal(t, "Too broad.", cards[0].Earlier.Reason)
	require.Equal(t, "Ada", cards[0].Earlier.Actor)
	require.True(t, s.preview("delete_rows", args{"table": "app.item", "where": "id  <= $1", "params": []any{3}, "reason": "t"}).warned("REJECTED_BEFORE"), "a space more is the same statement")
	// The rejection itself is final.
	require.Equal(t, "PLAN_REJECTED", s.post("/api/plans/"+p.Token+"/approve", map[string]any{}).code())
	s.call("execute_plan", p.echo()).refused(t, refusal.PlanRejected)
}

// G90, after a restart: with a journal the rejection is known by the statement's fingerprint, though not who
// spoke it and why: nobody's words are written there, and the audit log has them. Without a journal
// nothing is known of it; the new plan waits for a person like any other.
func TestFieldG90RejectedBeforeARestart(t *testing.T) {
	t.Parallel()
	db := world(t)
	o := everyPlanWaits()
	ask := args{"table": "app.item", "where": "id <= $1", "params": []any{3}, "reason": "t"}
	for _, journal := range []bool{true, false} {
		if journal {
			o.config["journal"] = map[string]any{"path": filepath.Join(t.TempDir(), "plans.jsonl")}
		} else {
			delete(o.config, "journal")
		}
		first := start(t, db, o)
		p := first.preview("delete_rows", ask)
		require.Equal(t, http.StatusOK, first.reject(p.Token, "Too broad.").status)
		first.kill()
		s := start(t, db, o)
		again := s.preview("delete_rows", ask)
		require.Equal(t, "awaiting_approval", again.Status)
		require.NotEqual(t, p.Token, again.Token)
		require.Equal(t, journal, again.warned("REJECTED_BEFORE"), "%v", again.Warnings)
		cards := s.cards()
		require.Len(t, cards, 1)
		require.Equal(t, journal, cards[0].Earlier != nil)
		if journal {
			require.Contains(t, string(s.get("/api/plans").body), "This same statement was rejected at ")
			require.False(t, s.preview("delete_rows", args{"table": "app.item", "where": "id <= $1", "params": []any{2}, "reason": "t"}).warned("REJECTED_BEFORE"), "another value is another change")
		}
		require.Contains(t, string(s.get("/api/plans/"+p.Token).body), "Too broad.", "the log has who and why")
		s.kill()
	}
}

// G95: thirty plans in a minute: so many wait and no more, each is decided by itself, and the big ones
// ask to type. What did not fit is on the page among the refusals, where a person sees the rush.
func TestFieldG95ThirtyPlansInAMinute(t *testing.T) {
	t.Parallel()
	o := everyPlanWaits()
	o.config["approvalServer"] = map[string]any{"port": 0, "openBrowser": "never", "confirmAboveRows": 4}
	s := start(t, world(t), o)
	made := []preview{}
	for i := range 30 {
		r := s.call("update_rows", args{"table": "app.item", "set": map[string]any{"name": fmt.Sprintf("n%d", i)}, "where": "id = $1", "params": []any{i%5 + 1}, "reason": "t"})
		if len(made) == 20 {
			r.refused(t, refusal.TooManyPlans)
			require.Contains(t, r.message, "write.maxOpenPlans")
			continue
		}
		var p preview
		r.ok(t, &p)
		made = append(made, p)
	}
	require.Len(t, s.waiting(), 20)
	// No address, no body and no list decides about more than one plan.
	both := made[0].Token + "," + made[1].Token
	for path, body := range map[string]any{
		"/api/plans/approve":                          map[string]any{},
		"/api/plans/all/approve":                      map[string]any{},
		"/api/plans/*/approve":                        map[string]any{},
		"/api/approve":                                map[string]any{},
		"/api/plans/" + both + "/approve":             map[string]any{},
		"/api/plans/" + made[0].Token + "/approve":    map[string]any{"plans": []string{made[0].Token, made[1].Token}},
		"/api/plans/" + made[0].Token + "/approveAll": map[string]any{},
	} {
		require.NotEqual(t, http.StatusOK, s.post(path, body).status, path)
	}
	require.Len(t, s.waiting(), 20, "nothing was decided")
	s.approve(made[7].Token)
	require.Len(t, s.waiting(), 19, "one decision, one plan")
	s.execute(made[7])
	// A place is free again; what is large has to be typed.
	big := s.preview("update_rows", args{"table": "app.item", "set": map[string]any{"name": "all"}, "confirm_full_table": true, "reason": "t"})
	card := waitingCard{}
	for _, c := range s.cards() {
		if c.Token == big.Token {
			card = c
		}
	}
	require.Equal(t, "rows", card.Confirm.Kind)
	require.Equal(t, "CONFIRMATION_REQUIRED", s.post("/api/plans/"+big.Token+"/approve", map[string]any{}).code())
	s.approve(big.Token, card.Confirm.Expect)

	var told struct {
		Refusals []struct {
			Kind, Code, Asked string
			Times             int
		} `json:"refusals"`
	}
	require.NoError(t, json.Unmarshal(s.get("/api/refusals").body, &told))
	n := 0
	for _, r := range told.Refusals {
		if r.Code == "TOO_MANY_PLANS" {
			require.Equal(t, "limit", r.Kind)
			n += r.Times
		}
	}
	require.Equal(t, 10, n)
}

// The audit view over the real server: what happened is found by what a person knows of it, plans by
// their last event, and no parameter's value is in any answer.
func TestFieldGWhatHappenedIsFound(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, everyPlanWaits())
	done := s.preview("update_rows", args{"table": "app.item", "set": map[string]any{"name": "S3cr3t-value"}, "where": "id = $1", "params": []any{1}, "reason": "rename the first"})
	s.approve(done.Token)
	s.execute(done)
	no := s.preview("delete_rows", args{"table": "app.item", "where": "id <= $1", "params": []any{3}, "reason": "tidy up"})
	s.reject(no.Token, "Ask me first.")
	s.call("query", args{"statement": "DELETE FROM app.item", "reason": "t"}).refused(t, refusal.NotSelect)
	s.call("delete_rows", args{"table": "private.secret", "where": "true", "reason": "t"})

	type entry struct {
		Status string `json:"status"`
		Token  string `json:"plan_token"`
		Reason string `json:"reason"`
		Rows   string `json:"rows"`
	}
	search := func(q string) (out []entry) {
		a := s.get("/api/audit?" + q)
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		require.NotContains(t, string(a.body), "S3cr3t-value")
		var list struct {
			Entries []entry `json:"entries"`
		}
		require.NoError(t, json.Unmarshal(a.body, &list))
		return list.Entries
	}
	require.Equal(t, []entry{{"executed", done.Token, "rename the first", "1 → 1"}}, search("plans=1&q=rename+the"))
	require.Len(t, search("q=rename+the"), 3, "asked, approved, executed")
	require.Equal(t, []entry{{"rejected", no.Token, "tidy up", "3"}}, search("plans=1&tool=delete_rows&status=rejected&table=app.item"))
	require.Empty(t, search("status=executed&to=1000"))
	var life struct {
		Plan    map[string]any `json:"plan"`
		History []struct {
			From string
			Text []struct{ V string }
		} `json:"history"`
	}
	require.NoError(t, json.Unmarshal(s.get("/api/plans/"+no.Token).body, &life))
	require.Len(t, life.History, 2)
	require.Equal(t, "audit", life.History[1].From)
	// Refused reads are seen too, though they leave no row.
	a := s.get("/api/refusals")
	require.Contains(t, string(a.body), "NOT_SELECT")
	require.Contains(t, string(a.body), "private.secret")

	// Another server on the same database has the record, not the plan.
	other := start(t, db, everyPlanWaits())
	b := other.get("/api/plans/" + done.Token)
	require.Equal(t, http.StatusOK, b.status)
	require.Contains(t, string(b.body), `"plan":null`)
	require.Contains(t, string(b.body), "committed together with this entry")

	// A readonly role without the grant: said in words, and the rest of the page works.
	db.Exec(t, "REVOKE SELECT ON mcp_audit.log FROM readonly")
	c := s.get("/api/audit")
	require.Equal(t, http.StatusServiceUnavailable, c.status)
	require.Equal(t, "AUDIT_UNAVAILABLE", c.code())
	require.Contains(t, string(c.body), "GRANT SELECT ON mcp_audit.log")
	require.False(t, strings.Contains(string(c.body), "SQLSTATE"))
	require.Equal(t, http.StatusOK, s.get("/api/plans/"+done.Token).status)
}

// The agent's call that waits is answered as soon as the person has pressed the button: nothing polls.
// The figure is printed; the bound is wide, since the machine may be busy and the program is built with the race detector.
func TestFieldGApprovalIsQuick(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), everyPlanWaits())
	var took []time.Duration
	for i := range 15 {
		p := s.preview("update_rows", args{"table": "app.item", "set": map[string]any{"qty": i + 100}, "where": "id = $1", "params": []any{1}, "reason": "t"})
		waits := s.begin("execute_plan", p.echo())
		eventually(t, "the call waits", func() bool { return strings.Contains(string(s.get("/api/plans").body), p.Token) && !waits.answered() })
		began := time.Now()
		s.approve(p.Token)
		waits.reply().ok(t, &executed{})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("approve to execute_plan answering: median %s, fastest %s, slowest %s of %d", took[len(took)/2], took[0], took[len(took)-1], len(took))
	require.Less(t, took[0], time.Second)
}
