package approvalui

import (
	"context"
	"net/http"
	"sort"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// onePlan is everything that happened to one plan, in order: what this process remembers and, unless
// ?audit=0 leaves that out, what the audit log has. A plan of an earlier process, or of another
// server, is known by its log alone; plan is null then.
func (s *Server) onePlan(w http.ResponseWriter, r *http.Request, t plan.Token) {
	p, known := s.lookup(t)
	var rows []TrailRow
	var gap *problem
	if s.opts.Trail != nil && r.URL.Query().Get("audit") != "0" {
		ctx, cancel := context.WithTimeout(r.Context(), trailTime)
		defer cancel()
		var err error
		if rows, err = s.opts.Trail.ByToken(ctx, string(t)); err != nil {
			p := s.trailRefused(err)
			gap = &p
		}
	}
	if !known && len(rows) == 0 {
		if gap != nil {
			gap.send(w)
			return
		}
		errUnknownPlan.send(w)
		return
	}
	body := map[string]any{"ok": true, "plan": nil, "entries": []Entry{}}
	var memory []Step
	if known {
		body["plan"], memory = s.card(p), historyOf(p)
	}
	entries := make([]Entry, len(rows))
	for i, row := range rows {
		entries[i] = entryOf(row)
	}
	body["entries"] = entries
	body["history"] = mergeSteps(stepsOf(rows), memory)
	if gap != nil {
		body["audit_note"] = gap.Message + " " + gap.Hint
	}
	writeJSON(w, http.StatusOK, body)
}

// Step is one line of a plan's life.
type Step struct {
	At   int64  `json:"at"` // epoch ms; 0 when the time is not known
	Text Text   `json:"text"`
	From string `json:"from"` // audit or memory
	kind string // what happened, to tell whether both sources say the same
}

// The kinds of steps that both sources have.
const (
	stepAsked    = "asked"
	stepAgain    = "again"
	stepApproved = "approved"
	stepRejected = "rejected"
	stepExecuted = "executed"
)

// stepsOf says what the log has of one plan, in its order.
func stepsOf(list []TrailRow) []Step {
	out := make([]Step, 0, len(list))
	asked := false
	for _, r := range list {
		s := Step{At: r.At.UnixMilli(), From: "audit", kind: r.Status}
		switch r.Status {
		case "previewed", "awaiting_approval":
			s.kind = stepAsked
			lead := "Previewed"
			if asked {
				s.kind, lead = stepAgain, "Asked again"
			}
			asked = true
			s.Text = Text{strong(lead)}
			if n, tables := radiusSize(r.BlastRadius); r.Tool == toolMigration {
				s.Text = append(s.Text, words(", run and undone"))
			} else if tables > 0 {
				s.Text = append(s.Text, words(", "), count(n), words(" "+rows(n)))
			}
			if r.Status == "awaiting_approval" {
				s.Text = append(s.Text, words(", waits for a person"))
			} else {
				s.Text = append(s.Text, words(", nobody has to be asked"))
			}
		case stepApproved:
			s.Text = Text{strong("Approved"), words(" by "), quoted(actorOr(r.ApprovedBy))}
		case stepRejected:
			s.Text = Text{strong("Rejected"), words(" by "), quoted(actorOr(r.ApprovedBy))}
			if r.Answer != "" {
				s.Text = append(s.Text, words(": “"), quoted(r.Answer), words("”"))
			}
		case stepExecuted:
			s.Text = Text{strong("Executed"), words(", ")}
			if r.ActualRows != nil && r.Tool != toolMigration {
				s.Text = append(s.Text, count(*r.ActualRows), words(" "+rows(*r.ActualRows)+" of the target, "))
			}
			if r.DurationMS != nil {
				s.Text = append(s.Text, words(duration(float64(*r.DurationMS))+", "))
			}
			s.Text = append(s.Text, words("committed together with this entry"))
		default:
			s.kind = r.ErrorCode
			s.Text = failedStep(r)
		}
		out = append(out, s)
	}
	return out
}

// failedStep says how a try or a plan ended.
func failedStep(r TrailRow) Text {
	switch refusal.Code(r.ErrorCode) {
	case refusal.ExpiredToken:
		return Text{strong("Expired"), words(", nothing changed")}
	case refusal.SupersededPlan:
		return Text{strong("Replaced"), words(" by a newer plan")}
	default: // the code says it
	}
	if r.ErrorCode == errPinWrong.Code {
		return Text{strong("Not approved"), words(": "), quoted(actorOr(r.ApprovedBy)), words(" gave a wrong PIN")}
	}
	if r.Tool == "execute_plan" || r.Event == "execute_plan" {
		return Text{strong("Not run"), words(": the agent tried, "), code(r.ErrorCode)}
	}
	return Text{strong("Stopped"), words(" before it was saved: "), code(r.ErrorCode)}
}

// mergeSteps puts what only this process knows into what the log has. The log wins where both say the
// same: its time is the database's, and it was written with the event. See TestPlanLife.
func mergeSteps(log, memory []Step) []Step {
	has := map[string]bool{}
	for _, s := range log {
		has[s.kind] = true
	}
	out := append([]Step{}, log...)
	for _, s := range memory {
		if !has[s.kind] {
			s.From = "memory"
			out = append(out, s)
		}
	}
	// A step without a time keeps its place behind those it came after.
	at := make([]int64, len(out))
	for i, s := range out {
		if at[i] = s.At; at[i] == 0 && i > 0 {
			at[i] = at[i-1]
		}
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return at[order[a]] < at[order[b]] })
	sorted := make([]Step, len(out))
	for i, j := range order {
		sorted[i] = out[j]
	}
	return sorted
}
