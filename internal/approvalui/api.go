package approvalui

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// maxActor and maxReason bound what a person can write, in characters.
const (
	maxActor  = 200
	maxReason = 4000
)

// decisionTime bounds a decision with its audit entry. A browser that leaves meanwhile does not
// undo it: the person pressed the button.
const decisionTime = 15 * time.Second

// plans lists what waits, soonest to expire first; with ?all=1 also what is decided and not ended. With
// ?full=n only the n oldest that wait are whole cards, the others are [Brief]. seq is the number of events
// told before the list was made: a stream that begins with the same number has missed none since.
func (s *Server) plans(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	all, full := q.Get("all") == "1", -1
	if q.Has("full") {
		n, err := strconv.Atoi(q.Get("full"))
		if err != nil || n < 0 {
			badRequest("full must be a number of plans.").send(w)
			return
		}
		full = n
	}
	seq := s.hub.told()
	now := time.Now()
	list := slices.DeleteFunc(s.opts.Reviewer.Plans(all), func(p plan.Plan) bool { return !listed(p, all, now) })
	slices.SortStableFunc(list, soonest)
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "plans": s.cardsOf(list, full), "seq": seq, "server": s.about()})
}

// about is what the page shows of this server.
func (s *Server) about() map[string]any {
	return map[string]any{
		"database": s.opts.Database, "host": s.opts.Host, "role": s.opts.Role, "caller": s.opts.Caller,
		"version": s.opts.Version, "person": s.person(), "can_remember": s.opts.Names != nil, "pin_required": s.opts.PIN != nil, "confirm_above_rows": s.opts.ConfirmAboveRows,
		"approval_required_above_rows": s.opts.ApprovalRequiredAboveRows, "hard_max_rows": s.opts.HardMaxRows,
		"can_open": s.opts.OpenBrowser != nil, "can_recheck": s.opts.Prober != nil,
		"now": time.Now().UnixMilli(), "port": s.port, "key": s.key, "audit_failures": s.auditFailures(),
		"privileged_roles": s.opts.PrivilegedRoles, "can_audit": s.opts.Trail != nil, "refusals": len(s.opts.Refusals.List()),
	}
}

// auditFailures is how many audit rows could not be written so far.
func (s *Server) auditFailures() int64 {
	if s.opts.AuditFailures == nil {
		return 0
	}
	return s.opts.AuditFailures()
}

// history lists what ended lately.
func (s *Server) history(w http.ResponseWriter, _ *http.Request) {
	list := []Card{}
	if s.opts.Ledger != nil {
		for _, p := range s.opts.Ledger.Recent(50) {
			list = append(list, s.card(p))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "plans": list})
}

// lookup finds a plan among the open and the ended ones.
func (s *Server) lookup(t plan.Token) (plan.Plan, bool) {
	for _, p := range s.opts.Reviewer.Plans(true) {
		if p.Token == t {
			return p, true
		}
	}
	if s.opts.Ledger != nil {
		return s.opts.Ledger.Get(t)
	}
	return plan.Plan{}, false
}

// approve is the only way to a yes. It fails closed: a plan that cannot be found cannot be
// approved, since what has to be typed for it is not known. See TestApproveNeedsTheTypedText and
// TestPINIsNeededToApprove.
func (s *Server) approve(w http.ResponseWriter, r *http.Request, t plan.Token) {
	body, bad := readBody(r, "approvedBy", "pin", "confirm")
	if bad != nil {
		bad.send(w)
		return
	}
	actor, bad := actorOf(body, "approvedBy")
	if bad != nil {
		bad.send(w)
		return
	}
	p, ok := s.lookup(t)
	if !ok {
		errUnknownPlan.send(w)
		return
	}
	if p.State == plan.AwaitingApproval && p.ExpiresAt.After(time.Now()) {
		if c := ConfirmFor(p.Preview, s.opts.ConfirmAboveRows); !c.Accepts(body["confirm"]) {
			what := "the number of rows that change"
			if c.Kind == "name" {
				what = "the name of what is dropped"
			}
			problem{
				http.StatusBadRequest, "CONFIRMATION_REQUIRED", "Approving this plan needs " + what + " to be typed.",
				"Nothing was decided. What is expected is `expect` in the plan's `confirm`: send it as `confirm`.",
			}.send(w)
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
	defer cancel()
	if bad := s.pinRight(ctx, body["pin"], p, actor); bad != nil {
		bad.send(w)
		return
	}
	p, already, err := s.opts.Reviewer.Approve(ctx, t, actor)
	if err != nil {
		s.refuse(w, "approving", err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"ok": true, "plan_token": t, "status": "approved", "approved_by": decider(p, actor), "already_approved": already, "plan": s.card(p),
	})
}

// reject ends a plan for good. The first reason wins.
func (s *Server) reject(w http.ResponseWriter, r *http.Request, t plan.Token) {
	body, bad := readBody(r, "rejectedBy", "reason")
	if bad != nil {
		bad.send(w)
		return
	}
	actor, bad := actorOf(body, "rejectedBy")
	if bad != nil {
		bad.send(w)
		return
	}
	reason := strings.TrimSpace(body["reason"])
	if utf8.RuneCountInString(reason) > maxReason {
		badRequest("The reason is longer than 4,000 characters.").send(w)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
	defer cancel()
	p, already, err := s.opts.Reviewer.Reject(ctx, t, actor, reason)
	if err != nil {
		s.refuse(w, "rejecting", err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"ok": true, "plan_token": t, "status": "rejected", "rejected_by": decider(p, actor), "already_rejected": already, "plan": s.card(p),
	})
}

// recheck runs the bounded probe again.
func (s *Server) recheck(w http.ResponseWriter, r *http.Request, t plan.Token) {
	if _, bad := readBody(r); bad != nil {
		bad.send(w)
		return
	}
	if err := s.opts.Prober.Recheck(r.Context(), t); err != nil {
		s.refuse(w, "rechecking", err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "plan_token": t, "status": "unchanged"})
}

// actorOf is who decides, as it is recorded.
func actorOf(body map[string]string, key string) (string, *problem) {
	actor := strings.TrimSpace(body[key])
	if utf8.RuneCountInString(actor) > maxActor {
		p := badRequest("The name is longer than 200 characters.")
		return "", &p
	}
	return actorOr(actor), nil
}

// decider is who took the decision that stands: not the one who asked a second time.
func decider(p plan.Plan, actor string) string {
	if p.Decision != nil {
		return actorOr(p.Decision.Actor)
	}
	return actor
}

// refuse answers with a refusal; a fault goes to the log and stays inside.
func (s *Server) refuse(w http.ResponseWriter, doing string, err error) {
	p, ok := refused(err)
	if !ok {
		s.log.Error(doing+" a plan failed", "cause", err)
	}
	p.send(w)
}

// session gives a page the secret for a one-time code, or proves to a page that lost its stream
// that this is the process it came from. The page sends its secret only after that proof, so a
// program that took over the port learns nothing.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	body, bad := readBody(r, "code", "challenge")
	if bad != nil {
		bad.send(w)
		return
	}
	code, hasCode := body["code"]
	challenge, hasChallenge := body["challenge"]
	switch {
	case hasCode == hasChallenge:
		badRequest("The body must hold either a code or a challenge.").send(w)
	case hasChallenge && (len(challenge) < 16 || len(challenge) > 128):
		badRequest("The challenge must be 16 to 128 characters.").send(w)
	case hasChallenge:
		writeJSON(w, http.StatusOK, map[string]any{"ok": true, "proof": s.prove(challenge)})
	default:
		ok, again := s.codes.redeem(code)
		if !ok && !again {
			errTooManyTries.send(w)
			return
		}
		if !ok {
			errBadCode.send(w)
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"ok": true, "token": s.secret})
	}
}
