package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// previewReply is a preview, in the order of the contract. Lists are never null.
type previewReply struct {
	Status       string            `json:"status"`
	PlanToken    plan.Token        `json:"plan_token"`
	Statement    string            `json:"statement"`
	Params       []json.RawMessage `json:"params"`
	AffectedRows int64             `json:"affected_rows"`
	SampleRows   []plan.Row        `json:"sample_rows"`
	Changes      []plan.Change     `json:"changes"`
	Masked       []string          `json:"masked,omitempty"`
	Target       string            `json:"target"`
	BlastRadius  radiusReply       `json:"blast_radius"`
	Warnings     []plan.Warning    `json:"warnings"`
	ExpiresAt    string            `json:"expires_at"`
	Message      string            `json:"message"`
	Fingerprint  plan.Fingerprint  `json:"fingerprint"`
	ApprovalURL  string            `json:"approval_url,omitempty"`
	Facts        *plan.Facts       `json:"facts,omitempty"`
}

type radiusReply struct {
	TotalRows int64        `json:"total_rows"`
	Tables    []tableReply `json:"tables"`
}

type tableReply struct {
	Table    string `json:"table"`
	Inserted int64  `json:"inserted"`
	Updated  int64  `json:"updated"`
	Deleted  int64  `json:"deleted"`
}

func renderRadius(r plan.BlastRadius) radiusReply {
	out := radiusReply{TotalRows: r.TotalRows, Tables: make([]tableReply, 0, len(r.Tables))}
	for _, t := range r.Tables {
		out.Tables = append(out.Tables, tableReply{Table: t.Name, Inserted: t.Inserted, Updated: t.Updated, Deleted: t.Deleted})
	}
	return out
}

// renderPreview is what the agent gets for a plan. asks says that execute_plan will ask the person
// through the client.
func (d Deps) renderPreview(r writecore.Reply, asks bool) (json.RawMessage, error) {
	p := r.Plan
	reply := previewReply{
		Status:       string(plan.Previewed),
		PlanToken:    p.Token,
		Statement:    p.Payload.Statement,
		Params:       some(p.Payload.Params),
		AffectedRows: p.AffectedRows,
		SampleRows:   some(p.SampleRows),
		Changes:      some(p.Changes),
		Masked:       maskedIn(p.SampleRows),
		Target:       p.Target,
		BlastRadius:  renderRadius(p.BlastRadius),
		Warnings:     warnings(p),
		ExpiresAt:    p.ExpiresAt.UTC().Format(time.RFC3339),
		Fingerprint:  p.Fingerprint,
		Facts:        wholeFacts(p.Facts),
	}
	if p.State == plan.AwaitingApproval {
		reply.Status = string(plan.AwaitingApproval)
		reply.ApprovalURL = r.ApprovalURL
	}
	reply.Message = d.message(reply, p, r.Joined, asks)
	out, err := plainJSON(reply)
	if err != nil {
		return nil, fmt.Errorf("rendering the preview: %w", err)
	}
	return out, nil
}

// maskedIn names the columns of which the agent sees masked values, sorted by where they stand.
func maskedIn(rows []plan.Row) []string {
	if len(rows) == 0 {
		return nil
	}
	var out []string
	for _, f := range rows[0] {
		if f.Masked != nil {
			out = append(out, f.Column)
		}
	}
	return out
}

// message says in plain sentences what would happen, who decides, and what to do next.
func (d Deps) message(r previewReply, p plan.Plan, joined, asks bool) string {
	var b strings.Builder
	b.WriteString("Nothing has been changed yet. ")
	if p.Facts != nil {
		fmt.Fprintf(&b, "The migration ran in %.0f ms and was rolled back; facts holds its locks and losses. ", p.Facts.DurationMS)
	} else {
		fmt.Fprintf(&b, "%s would change %s of %s", verb(p.Tool), rows(p.AffectedRows), p.Target)
		if total := p.BlastRadius.TotalRows; total != p.AffectedRows || len(p.BlastRadius.Tables) > 1 {
			fmt.Fprintf(&b, ", and %s in %s in all", rows(total), tables(len(p.BlastRadius.Tables)))
		}
		b.WriteString(". ")
	}
	if p.Earlier != nil {
		b.WriteString("A person rejected this same change before; see warnings. ")
	}
	if joined {
		b.WriteString("The same change was previewed before: this is its plan, with its token. ")
	}
	switch {
	case r.Status == string(plan.AwaitingApproval):
		why := strings.TrimSuffix(strings.TrimPrefix(p.Why, "You are asked because "), ".")
		if why == "" {
			why = "this change needs it"
		}
		fmt.Fprintf(&b, "A person must decide, because %s", why)
		if p.Facts == nil {
			fmt.Fprintf(&b, " (the threshold is %s)", rows(d.Limits.ApprovalAbove))
		}
		fmt.Fprintf(&b, ". %s, and call execute_plan with plan_token, statement and params as given here: it waits up to %.0f s for the decision, and may be called again with the same token. The plan expires at %s.",
			whereToDecide(r.ApprovalURL, asks), d.Limits.ExecuteWait.Seconds(), r.ExpiresAt)
	case p.State == plan.Approved:
		fmt.Fprintf(&b, "A person has approved it: call execute_plan with plan_token, statement and params as given here before %s.", r.ExpiresAt)
	default:
		fmt.Fprintf(&b, "That is within the %s that need no decision. If it is what you meant, call execute_plan with plan_token, statement and params as given here before %s; otherwise preview again.",
			rows(d.Limits.ApprovalAbove), r.ExpiresAt)
	}
	return b.String()
}

// whereToDecide tells the agent what to tell its user.
func whereToDecide(page string, asks bool) string {
	switch {
	case !asks && page == "":
		return "Nobody can be asked about it any more: talk to your user"
	case !asks:
		return "Ask your user to open " + page + " and decide"
	case page == "":
		return "Tell your user that they are asked here as soon as you call execute_plan"
	}
	return "Tell your user that they are asked here as soon as you call execute_plan, and can decide at " + page + " too"
}

func verb(tool string) string {
	switch tool {
	case "delete_rows":
		return "This DELETE"
	case "insert_rows":
		return "This INSERT"
	case "update_rows":
		return "This UPDATE"
	}
	return "This statement"
}

// warnings are the preview's own and, for a change that a person turned down before, that one: it is
// made here and on the card, each for its reader, of the plan's Earlier, and nowhere else.
func warnings(p plan.Plan) []plan.Warning {
	out := make([]plan.Warning, 0, len(p.Warnings)+1)
	out = append(out, p.Warnings...)
	if p.Earlier == nil {
		return out
	}
	message := fmt.Sprintf("A person rejected this same change at %s", p.Earlier.At.UTC().Format(time.RFC3339))
	if p.Earlier.Reason != "" {
		message += fmt.Sprintf("; the reason given: %q", p.Earlier.Reason)
	}
	return append(out, plan.Warning{Code: plan.WarnRejectedBefore, Message: message + "."})
}

// wholeFacts gives every list of a migration's facts a value.
func wholeFacts(f *plan.Facts) *plan.Facts {
	if f == nil {
		return nil
	}
	whole := *f
	whole.Locks, whole.Drops, whole.Lost = some(f.Locks), some(f.Drops), some(f.Lost)
	whole.Rewrites, whole.Scans = some(f.Rewrites), some(f.Scans)
	whole.Unreadable, whole.Notices = some(f.Unreadable), some(f.Notices)
	return &whole
}

// some is the list, [] for nil: null is one more case for every agent.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return grouped(n) + " rows"
}

func tables(n int) string {
	if n == 1 {
		return "1 table"
	}
	return fmt.Sprintf("%d tables", n)
}

// grouped renders n with thousands separators, as the card shows it.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
