package approvalui

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Trail reads the audit log of the database. Refusals say in a person's words why it cannot be read.
type Trail interface {
	// Search finds rows, newest first; the bool says that there are older ones.
	Search(ctx context.Context, f TrailFilter) ([]TrailRow, bool, error)
	// ByToken lists what happened to one plan, oldest first.
	ByToken(ctx context.Context, token string) ([]TrailRow, error)
}

// TrailFilter says which rows of the audit log to find. Zero values leave a condition out.
type TrailFilter struct {
	Before int64 // rows with a smaller id
	Plans  bool  // of each plan only the last event
	Tool   string
	Status string
	Table  string
	From   time.Time
	To     time.Time
	Text   string
	Limit  int
}

// TrailRow is one row of the audit log.
type TrailRow struct {
	ID              int64
	At              time.Time
	Tool            string
	Event           string
	Reason, Answer  string
	Statement       string
	StatementLength int
	PreviewRows     *int64
	ActualRows      *int64
	PlanToken       string
	ApprovedBy      string
	Status          string
	DurationMS      *int64
	CallerID        string
	BlastRadius     json.RawMessage
	ErrorCode       string
}

// maxTrailPage bounds a page of the audit view, trailPage is what is shown unless asked otherwise.
const (
	maxTrailPage = 100
	trailPage    = 50
	maxTerm      = 500 // characters of one search term
)

// trailTime bounds what the audit log adds to the answer about one plan.
const trailTime = 4 * time.Second

// trailStatuses are the statuses of the audit log (docker/init/02_audit.sql).
var trailStatuses = []string{"previewed", "awaiting_approval", "approved", "executed", "rejected", "hard_cap_refused", "failed"}

// audit answers a search. Unknown filters are refused: one that is misspelt must not look like "nothing
// happened". See TestAuditSearch.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) {
	f, bad := trailFilter(r.URL.Query())
	if bad != nil {
		bad.send(w)
		return
	}
	rows, more, err := s.opts.Trail.Search(r.Context(), f)
	if err != nil {
		s.trailRefused(err).send(w)
		return
	}
	list := make([]Entry, len(rows))
	for i, row := range rows {
		list[i] = entryOf(row)
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "entries": list, "more": more})
}

func trailFilter(q url.Values) (TrailFilter, *problem) {
	f := TrailFilter{Limit: trailPage}
	for key, values := range q {
		if bad := f.set(key, values); bad != "" {
			p := problem{http.StatusBadRequest, "BAD_REQUEST", bad, "Filters: q, tool, status, table, from, to, before, limit, plans=1."}
			return f, &p
		}
	}
	return f, nil
}

// set takes one filter; it returns what is wrong with it.
func (f *TrailFilter) set(key string, values []string) string {
	v := strings.TrimSpace(values[0])
	switch {
	case len(values) > 1:
		return "A filter is given twice."
	case utf8.RuneCountInString(v) > maxTerm:
		return "A filter is longer than 500 characters."
	case key == "token" || v == "":
		return ""
	}
	number := func() (int64, string) {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 || n > 1<<53 {
			return 0, "The filter " + key + " must be a positive whole number." // a known key: one of ours
		}
		return n, ""
	}
	var n int64
	var bad string
	switch key {
	case "q":
		f.Text = v
	case "tool":
		f.Tool = v
	case "table":
		f.Table = v
	case "status":
		if !slices.Contains(trailStatuses, v) {
			return "There is no such status: " + strings.Join(trailStatuses, ", ") + "."
		}
		f.Status = v
	case "plans":
		if v != "1" && v != "0" {
			return "The filter plans must be 0 or 1."
		}
		f.Plans = v == "1"
	case "before":
		f.Before, bad = number()
	case "from":
		n, bad = number()
		f.From = time.UnixMilli(n)
	case "to":
		n, bad = number()
		f.To = time.UnixMilli(n)
	case "limit":
		n, bad = number()
		f.Limit = int(min(n, maxTrailPage))
	default:
		return "There is no such filter."
	}
	return bad
}

// trailRefused is a refusal of the trail as this API says it: its words are for a person already.
func (s *Server) trailRefused(err error) problem {
	e, ok := refusal.As(err)
	if !ok || e.Code == refusal.InternalError {
		s.log.Error("reading the audit log failed", "cause", err)
		return problem{http.StatusInternalServerError, "INTERNAL_ERROR", "The audit log could not be read.", "The server's own log says why."}
	}
	return problem{http.StatusServiceUnavailable, string(e.Code), e.Message, e.Hint}
}

// Entry is one event of the audit log as the page shows it.
type Entry struct {
	ID              int64      `json:"id"`
	At              int64      `json:"at"` // epoch ms
	Tool            string     `json:"tool"`
	Status          string     `json:"status"`
	Outcome         string     `json:"outcome"` // the status in a word
	Mark            string     `json:"mark"`    // ok, no, care, plain
	Icon            string     `json:"icon"`
	What            Text       `json:"what"`
	Note            Text       `json:"note"`
	Rows            string     `json:"rows"` // "310 → 0"
	DecidedBy       string     `json:"decided_by"`
	PlanToken       plan.Token `json:"plan_token,omitempty"`
	Reason          string     `json:"reason"`
	Statement       string     `json:"statement"`
	StatementLength int        `json:"statement_length"`
	DurationMS      *int64     `json:"duration_ms"`
	CallerID        string     `json:"caller_id"`
	ErrorCode       string     `json:"error_code,omitempty"`
}

func entryOf(r TrailRow) Entry {
	e := Entry{
		ID: r.ID, At: r.At.UnixMilli(), Tool: r.Tool, Status: r.Status, Mark: "plain", Icon: "info", What: whatOf(r), Rows: trailRows(r),
		PlanToken: plan.Token(r.PlanToken), Reason: r.Reason, Statement: r.Statement, StatementLength: r.StatementLength,
		DurationMS: r.DurationMS, CallerID: r.CallerID, ErrorCode: r.ErrorCode, DecidedBy: r.ApprovedBy,
	}
	n, tables := radiusSize(r.BlastRadius)
	changed := Text{count(n), words(" " + rows(n) + " in "), count(tables), words(" " + plural(tables, "table", "tables"))}
	switch r.Status {
	case "executed":
		e.Outcome, e.Mark, e.Icon = "Executed", "ok", "check"
		switch {
		case r.PlanToken == "":
			e.Outcome, e.Mark, e.Icon = "Read", "plain", "check"
		case r.ApprovedBy == "":
			e.Note = Text{words("Under the limit, nobody was asked")}
		case tables > 0:
			e.Note = changed
		}
	case "rejected":
		e.Outcome, e.Mark, e.Icon = "Rejected", "no", "x"
		if r.Answer != "" {
			e.Note = Text{words("“"), quoted(r.Answer), words("”")}
		}
	case "approved":
		e.Outcome, e.Mark, e.Icon, e.Note = "Approved", "plain", "check", Text{words("Not run by the agent when this was recorded")}
	case "awaiting_approval":
		e.Outcome, e.Icon, e.Note = "Asked", "clock", Text{words("Waits for a person")}
		if tables > 0 {
			e.Note = append(changed, words(", waits for a person"))
		}
	case "previewed":
		e.Outcome, e.Note = "Previewed", Text{words("The agent looked")}
	case "hard_cap_refused":
		e.Outcome, e.Mark, e.Icon, e.Note = "Refused", "no", "stop", Text{words("Above the limit: nobody could have approved it")}
	default:
		e.Outcome, e.Mark, e.Icon, e.Note = "Failed", "care", "back", failureNote(r.ErrorCode)
		if w := refusedKinds[refusal.Code(r.ErrorCode)]; w != "" {
			e.Outcome, e.Icon = "Refused", "stop"
		}
	}
	if e.Note == nil {
		e.Note = Text{}
	}
	return e
}

// failureNote says what a failure of a plan means, where a word does, and always the code.
func failureNote(c string) Text {
	say := map[refusal.Code]string{
		refusal.RowsetChanged:  "The rows had changed since the preview, nothing was saved",
		refusal.ExpiredToken:   "Its time ran out, nothing changed",
		refusal.SupersededPlan: "The agent asked again, a newer plan replaced it",
		refusal.OutcomeUnknown: "It was not known whether it was saved",
	}[refusal.Code(c)]
	if c == errPinWrong.Code {
		say = "An approval was tried with a wrong PIN, nothing was decided"
	}
	if say == "" {
		return Text{code(c)}
	}
	return Text{words(say + ", "), code(c)}
}

// whatOf says what an event is about: the verb, and the table where it is known.
func whatOf(r TrailRow) Text {
	target := firstTable(r.BlastRadius)
	if target == "" {
		target = namedTable(r.Statement)
	}
	verb := map[string]string{toolDelete: "Delete from ", toolUpdate: "Update ", toolInsert: "Insert into "}[r.Tool]
	switch {
	case verb != "" && target != "":
		return Text{words(verb), code(target)}
	case verb != "":
		return Text{words(strings.TrimSpace(verb) + " …")}
	case r.Tool == toolMigration && r.StatementLength <= len(r.Statement) && r.Statement != "":
		return trimDot(formOf(plan.Preview{Tool: toolMigration, Payload: plan.Payload{Statement: r.Statement}, Target: target}).main)
	case r.Tool == toolMigration:
		return Text{words("Migration")}
	}
	return Text{code(r.Tool)}
}

// namedTable finds the table that a DML statement names; "" in every other.
func namedTable(statement string) string {
	r := &reader{all: scan(statement)}
	if r.word("delete", "from") || r.word("insert", "into") || r.word("update") {
		r.word("only")
		if _, raw, ok := r.name(); ok {
			return raw
		}
	}
	return ""
}

// trailRows is "310 → 0": the target's rows at the preview, and those that were committed.
func trailRows(r TrailRow) string {
	switch {
	case r.Tool == toolMigration:
		return "–"
	case r.PreviewRows == nil && r.ActualRows == nil:
		return "–"
	case r.PreviewRows == nil:
		return digits(*r.ActualRows)
	case r.ActualRows != nil:
		return digits(*r.PreviewRows) + " → " + digits(*r.ActualRows)
	case r.Status == "failed" && r.ErrorCode != string(refusal.OutcomeUnknown) && r.ErrorCode != errPinWrong.Code:
		return digits(*r.PreviewRows) + " → 0"
	}
	return digits(*r.PreviewRows)
}

// radiusSize reads how many rows and tables a recorded blast radius has.
func radiusSize(raw json.RawMessage) (total, tables int64) {
	var v struct {
		Total  int64             `json:"total_rows"`
		Tables []json.RawMessage `json:"tables"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return 0, 0
	}
	return v.Total, int64(len(v.Tables))
}

// firstTable is the target: it stands first.
func firstTable(raw json.RawMessage) string {
	var v struct {
		Tables []struct {
			Table string `json:"table"`
		} `json:"tables"`
	}
	if json.Unmarshal(raw, &v) != nil || len(v.Tables) == 0 {
		return ""
	}
	return v.Tables[0].Table
}
