package approvalui

import (
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// unknownActor is recorded when nobody gave a name.
const unknownActor = "unknown"

// Result is what became of a plan. "Done" is said only of an acknowledged commit.
type Result struct {
	Mark string `json:"mark"` // ok, no, care, wait, plain
	Icon string `json:"icon"`
	Head Text   `json:"head"`
	Body Text   `json:"body"`
	Fine Text   `json:"fine"`
	At   int64  `json:"at"` // epoch ms
}

// resultOf is nil for a plan that still waits or that nobody has to decide.
func resultOf(p plan.Plan, say Sentence) *Result {
	if forgotten(p) {
		return resultOfForgotten(p, say)
	}
	act := trimDot(say.Main).lower()
	head := func(lead string) Text { return append(Text{words(lead)}, act...) }
	nothing := strong("Nothing changed.")
	r := &Result{At: p.CreatedAt.UnixMilli()}
	if p.Decision != nil {
		r.At = p.Decision.At.UnixMilli()
	}
	switch p.State {
	case plan.Approved:
		r.Mark, r.Icon, r.Head = "wait", "clock", head("Approved, not run yet: ")
		r.Body = Text{words("If the agent does not run it in time, nothing changes.")}
	case plan.Executing:
		r.Mark, r.Icon, r.Head = "wait", "clock", head("Running now: ")
		r.Body = Text{words("Not saved yet.")}
	case plan.Executed:
		executedResult(r, p, say)
	case plan.Rejected:
		r.Mark, r.Icon, r.Head = "no", "x", head("Rejected: ")
		r.Body = Text{nothing, words(" The agent was told that it was rejected, without a reason.")}
		if p.Decision != nil && p.Decision.Reason != "" {
			r.Body = Text{nothing, words(" The agent was told: “"), quoted(p.Decision.Reason), words("”")}
		}
		r.Fine = Text{words("Final for this plan. If the agent asks for the same again, the card will say so.")}
	case plan.Stopped:
		r.Mark, r.Icon, r.Head = "care", "back", head(decided(p, "Approved, then stopped: ", "Stopped: "))
		r.Body = Text{nothing, words(" It was undone before it was saved. The agent has to ask again.")}
		if p.StopCode == string(refusal.RowsetChanged) {
			r.Body = Text{nothing, words(" The rows, or what makes their values, were no longer as they were previewed, so it was undone before it was saved. The agent has to ask again.")}
		}
		r.Fine = Text{code(p.StopCode)}
	case plan.Expired:
		r.Mark, r.Icon, r.Head = "plain", "clock", head("Expired: ")
		r.At = p.ExpiresAt.UnixMilli()
		r.Body = Text{nothing, words(" Nobody decided in time. The agent can ask again.")}
		if p.Decision != nil {
			r.Body = Text{nothing, words(" It was approved, and the agent did not run it in time. The agent can ask again.")}
		} else if p.Why == "" {
			r.Body = Text{nothing, words(" The agent looked and did not run it.")}
		}
	case plan.Superseded:
		r.Mark, r.Icon, r.Head = "plain", "back", head("Replaced: ")
		r.Body = Text{nothing, words(" The agent asked again; the rows differ.")}
	case plan.Unknown:
		r.Mark, r.Icon, r.Head = "care", "tri", head("Not known yet whether it was saved: ")
		r.Body = Text{strong("Not known yet."), words(" The database did not answer the commit. Looking in the audit log.")}
		if p.Restored {
			r.Body = Text{strong("Not known yet."), words(" The server ended while it ran this. Looking in the audit log.")}
		}
		r.Fine = Text{code(string(refusal.OutcomeUnknown))}
	default:
		return nil
	}
	return r
}

func decided(p plan.Plan, yes, no string) string {
	if p.Decision != nil {
		return yes
	}
	return no
}

func executedResult(r *Result, p plan.Plan, say Sentence) {
	r.Mark, r.Icon = "ok", "check"
	r.Head = append(Text{words("Done: ")}, say.Done...)
	if more := p.BlastRadius.TotalRows - p.AffectedRows; p.Tool != toolMigration && more > 0 {
		tail := " that changed along the way"
		if p.Tool == toolDelete {
			tail = " that went with " + plural(p.AffectedRows, "it", "them")
		}
		r.Head = append(r.Head, words(", and "), count(more), words(tail))
	}
	switch {
	case !p.ExecutedAt.IsZero():
		r.At = p.ExecutedAt.UnixMilli()
	}
	if p.Decision == nil {
		r.Body = Text{strong("Committed"), words(". Under the limit, nobody was asked.")}
		return
	}
	r.Body = Text{strong("Approved"), words(" by "), quoted(actorOr(p.Decision.Actor)), words(", "), strong("committed")}
	if d := p.ExecutedAt.Sub(p.Decision.At); d > 0 {
		r.Body = append(r.Body, words(" "+duration(float64(d)/float64(time.Millisecond))+" later"))
	}
	if p.Tool == toolMigration {
		r.Body = append(r.Body, words("."))
	} else {
		r.Body = append(r.Body, words(". The counts are the ones you approved."))
	}
}

// historyOf is everything this process knows that happened to a plan, in order.
func historyOf(p plan.Plan) []Step {
	n := total(p.Preview)
	what := Text{strong("Previewed"), words(", "), count(n), words(" " + rows(n))}
	if p.Tool == toolMigration {
		what = Text{strong("Previewed"), words(", run and undone")}
	}
	if p.Why != "" {
		what = append(what, words(", waits for a person"))
	} else {
		what = append(what, words(", nobody has to be asked"))
	}
	out := []Step{{At: p.CreatedAt.UnixMilli(), Text: what, kind: stepAsked}}
	if forgotten(p) {
		out = []Step{}
	}
	if p.PreviewCount > 1 {
		out = append(out, Step{Text: Text{strong("Asked"), words(" "), count(int64(p.PreviewCount)), words(" times in all, always with the same rows")}, kind: stepAgain})
	}
	if d := p.Decision; d != nil {
		t, kind := Text{strong("Approved"), words(" by "), quoted(actorOr(d.Actor)), words(" on this page")}, stepApproved
		if p.State == plan.Rejected {
			t, kind = Text{strong("Rejected"), words(" by "), quoted(actorOr(d.Actor))}, stepRejected
			if d.Reason != "" {
				t = append(t, words(": “"), quoted(d.Reason), words("”"))
			}
		}
		out = append(out, Step{At: d.At.UnixMilli(), Text: t, kind: kind})
	}
	switch p.State {
	case plan.Executing:
		out = append(out, Step{Text: Text{strong("Running"), words(" now")}, kind: "running"})
	case plan.Executed:
		s := Step{kind: stepExecuted, Text: Text{strong("Executed"), words(", "), count(p.ExecutedRows), words(" " + rows(p.ExecutedRows) + " of the target, committed together with its audit entry")}}
		if !p.ExecutedAt.IsZero() {
			s.At = p.ExecutedAt.UnixMilli()
		}
		out = append(out, s)
	case plan.Stopped:
		out = append(out, Step{Text: Text{strong("Stopped"), words(" before it was saved: "), code(p.StopCode)}, kind: p.StopCode})
	case plan.Expired:
		out = append(out, Step{At: p.ExpiresAt.UnixMilli(), Text: Text{strong("Expired"), words(", nothing changed")}, kind: string(refusal.ExpiredToken)})
	case plan.Superseded:
		out = append(out, Step{Text: Text{strong("Replaced"), words(" by plan "), code(string(p.SupersededBy))}, kind: string(refusal.SupersededPlan)})
	case plan.Unknown:
		out = append(out, Step{Text: Text{strong("Not known"), words(" whether it was saved")}, kind: string(refusal.OutcomeUnknown)})
	default: // open, or rejected: said above
	}
	return out
}
