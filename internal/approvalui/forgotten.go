package approvalui

import (
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// forgotten says that only the end of a plan is remembered: it ended long ago, and its statement and
// numbers are gone from this process. See TestPlansThatEndedLongAgo.
func forgotten(p plan.Plan) bool { return p.CreatedAt.IsZero() }

// sayForgotten stands where a sentence about the change would: it claims nothing about it.
func sayForgotten() Sentence {
	t := Text{words("A change of which this server remembers only the end.")}
	return Sentence{Kind: "Change", Sign: "upd", Main: t, Index: t, Done: trimDot(t).lower(), Deed: "run it"}
}

// resultOfForgotten says how such a plan ended, and where the rest is.
func resultOfForgotten(p plan.Plan, say Sentence) *Result {
	r := &Result{Mark: "plain", Icon: "clock", At: ms(p.ExpiresAt), Body: Text{strong("Nothing changed.")}}
	var lead string
	switch p.State {
	case plan.Executed:
		r.Mark, r.Icon, r.At, lead = "ok", "check", ms(p.ExecutedAt), "Done: "
		r.Body = Text{strong("Committed"), words(", "), count(p.ExecutedRows), words(" " + rows(p.ExecutedRows) + " of the target.")}
	case plan.Rejected:
		r.Mark, r.Icon, lead = "no", "x", "Rejected: "
		if p.Decision != nil {
			r.At = ms(p.Decision.At)
		}
	case plan.Stopped:
		r.Mark, r.Icon, lead = "care", "back", "Stopped: "
		r.Fine = Text{code(p.StopCode)}
	case plan.Superseded:
		r.Icon, lead = "back", "Replaced: "
	default:
		lead = "Expired: "
	}
	r.Head = append(Text{words(lead)}, trimDot(say.Main).lower()...)
	r.Body = append(r.Body, words(" It ended long ago; the audit log in the database has the rest."))
	return r
}

// ms is a time as the page gets it, 0 when it is not known.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
