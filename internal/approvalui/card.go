package approvalui

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Card is one plan as the page and its API see it. Everything in it is a snapshot: the preview it
// shows never changes after it was made.
type Card struct {
	PlanToken    plan.Token `json:"plan_token"`
	State        plan.State `json:"state"`
	Tool         string     `json:"tool"`
	Reason       string     `json:"reason"`
	AskedAgain   []string   `json:"asked_again"`
	PreviewCount int        `json:"preview_count"`
	ExpiresAt    int64      `json:"expires_at"`   // epoch ms
	PreviewedAt  int64      `json:"previewed_at"` // epoch ms
	CallerID     string     `json:"caller_id"`
	RunsAs       string     `json:"runs_as"`
	Target       string     `json:"target"`
	AffectedRows int64      `json:"affected_rows"`
	Render       Render     `json:"render"`
	BlastRadius  Radius     `json:"blast_radius"`
	Why          string     `json:"why"`
	Level        Level      `json:"level"`
	Band         *Band      `json:"band"`
	Confirm      Confirm    `json:"confirm"`
	Warnings     []Caution  `json:"warnings"`
	Earlier      *Earlier   `json:"earlier_rejection"` // plan.Plan.Earlier; also the first of Warnings, in words
	Samples      Grid       `json:"sample_rows"`
	Changes      ChangeGrid `json:"changes"`
	Statement    string     `json:"statement"`
	Params       []Param    `json:"params"`
	Facts        *FactLines `json:"facts"`
	Decision     *Earlier   `json:"decision"`
	Result       *Result    `json:"result"`
	SupersededBy plan.Token `json:"superseded_by,omitempty"`
	Payload      *Payload   `json:"payload,omitempty"`
}

// Render is the plan in words.
type Render struct {
	Title    string   `json:"title"`
	Details  []Detail `json:"details"`
	Sentence Sentence `json:"sentence"`
}

// Detail is one labelled fact.
type Detail struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Radius is the blast radius, target first, then by count, the largest next to the total.
type Radius struct {
	TotalRows int64        `json:"total_rows"`
	Unnamed   int64        `json:"unnamed_rows"`
	Tables    []RadiusLine `json:"tables"`
	Unknown   []string     `json:"unknown"`
}

// RadiusLine is one table of the blast radius.
type RadiusLine struct {
	Table        string `json:"table"`
	Inserted     int64  `json:"inserted"`
	Updated      int64  `json:"updated"`
	Deleted      int64  `json:"deleted"`
	Named        bool   `json:"named"`
	Why          string `json:"why"`
	RowsEstimate *int64 `json:"rows_estimate"`
	Share        *Share `json:"share"`
}

// Share is how much of a table changes. Percent is for people, Width for the bar (0 to 100).
type Share struct {
	Percent string `json:"percent"`
	Width   string `json:"width"`
}

// Earlier is a decision: who, why, when.
type Earlier struct {
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
	At     int64  `json:"at"` // epoch ms
}

// FactLines are the facts of a migration.
type FactLines struct {
	plan.Facts
	Lines []FactLine `json:"lines"` // what is lost, then what is blocked
}

// FactLine is one line of "What is lost, what is blocked".
type FactLine struct {
	Name   string `json:"name"`
	Small  string `json:"small"`
	Follow bool   `json:"follow"` // not named, goes with it
	Count  int64  `json:"count"`  // values lost; 0 when the line is a word
	Word   string `json:"word"`   // dropped, blocked
	Text   string `json:"text"`
}

// Payload is the raw statement and parameters, only with Options.ExposeRawPayload.
type Payload struct {
	Statement string            `json:"statement"`
	Params    []json.RawMessage `json:"params"`
}

// card renders a plan.
func (s *Server) card(p plan.Plan) Card {
	say := sayPlan(p)
	band := bandOf(p.Preview, s.opts.ConfirmAboveRows)
	cautions := cautionsOf(p, band)
	c := Card{
		PlanToken: p.Token, State: p.State, Tool: p.Tool, Reason: p.Reason, AskedAgain: p.AskedAgain,
		PreviewCount: p.PreviewCount, ExpiresAt: ms(p.ExpiresAt), PreviewedAt: ms(p.CreatedAt),
		CallerID: p.CallerID, RunsAs: s.runsAs(p.Tool), Target: p.Target, AffectedRows: p.AffectedRows,
		BlastRadius: radiusOf(p.Preview), Why: p.Why, Level: levelOf(band, cautions, p.Preview), Band: band,
		Confirm: ConfirmFor(p.Preview, s.opts.ConfirmAboveRows), Warnings: cautions,
		Samples: gridOf(p.SampleRows), Changes: changesOf(p.Changes),
		Statement: p.Payload.Statement, Params: paramsOf(p.Payload.Params), Facts: factsOf(p.Preview),
		SupersededBy: p.SupersededBy,
	}
	if c.AskedAgain == nil {
		c.AskedAgain = []string{}
	}
	c.Render = Render{Title: title(say), Sentence: say, Details: s.details(p)}
	c.Earlier, c.Decision = decisionOf(p.Earlier), decisionOf(p.Decision)
	c.Result = resultOf(p, say)
	if s.opts.ExposeRawPayload {
		c.Payload = &Payload{p.Payload.Statement, p.Payload.Params}
		if c.Payload.Params == nil {
			c.Payload.Params = []json.RawMessage{}
		}
	}
	return c
}

// sayPlan is the sentence of a plan, also of one of which only the token is known any more.
func sayPlan(p plan.Plan) Sentence {
	if forgotten(p) {
		return sayForgotten()
	}
	return Say(p.Preview)
}

func title(say Sentence) string {
	t := say.Main.String()
	if len(say.Then) > 0 {
		t += " " + say.Then.String()
	}
	return t
}

func (s *Server) details(p plan.Plan) []Detail {
	out := []Detail{{"Database", s.opts.Database}, {"Host", s.opts.Host}, {"Runs as", s.runsAs(p.Tool)}, {"Asked by", p.CallerID}}
	if p.Target != "" {
		out = append(out, Detail{"Table", p.Target})
	}
	if p.Tool != toolMigration {
		out = append(out, Detail{"Rows", digits(p.AffectedRows)}, Detail{"Rows in all tables", digits(total(p.Preview))})
	}
	return append(out, Detail{"Statement", p.Payload.Statement})
}

// runsAs is the role whose rights decide what the statement may do.
func (s *Server) runsAs(tool string) string {
	if tool == toolMigration && s.opts.MigrationRole != "" {
		return s.opts.MigrationRole
	}
	return s.opts.Role
}

func decisionOf(d *plan.Decision) *Earlier {
	if d == nil {
		return nil
	}
	return &Earlier{actorOr(d.Actor), d.Reason, ms(d.At)}
}

// actorOr is the actor as it is recorded.
func actorOr(actor string) string {
	if actor == "" {
		return unknownActor
	}
	return actor
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func radiusOf(p plan.Preview) Radius {
	r := Radius{TotalRows: p.BlastRadius.TotalRows, Tables: []RadiusLine{}, Unknown: p.BlastRadius.Unknown}
	if r.Unknown == nil {
		r.Unknown = []string{}
	}
	for _, t := range p.BlastRadius.Tables {
		line := RadiusLine{
			Table: t.Name, Inserted: t.Inserted, Updated: t.Updated, Deleted: t.Deleted,
			Named: t.Named, Why: whyThere(t, p.Tool), RowsEstimate: t.RowsEstimate, Share: shareOf(t),
		}
		if !t.Named {
			r.Unnamed += t.Rows()
		}
		r.Tables = append(r.Tables, line)
	}
	sort.SliceStable(r.Tables, func(i, j int) bool {
		a, b := r.Tables[i], r.Tables[j]
		if (a.Table == p.Target) != (b.Table == p.Target) {
			return a.Table == p.Target
		}
		return a.Inserted+a.Updated+a.Deleted < b.Inserted+b.Updated+b.Deleted
	})
	return r
}

// whyThere says why a table is in the list.
func whyThere(t plan.Table, tool string) string {
	switch {
	case t.Named:
		return "named by the agent"
	case t.Why == "foreign key" && tool == toolDelete:
		return "not named, goes with it"
	case t.Why == "foreign key":
		return "not named, a foreign key"
	case t.Why == "" || t.Why == "unknown":
		return "not named, a trigger or function"
	default:
		return "not named, " + t.Why
	}
}

// shareOf is the part of the table that changes, nil where the size is not known: it is never guessed.
func shareOf(t plan.Table) *Share {
	if t.RowsEstimate == nil || *t.RowsEstimate <= 0 || t.Rows() == 0 {
		return nil
	}
	f := float64(t.Rows()) / float64(*t.RowsEstimate) * 100
	if t.Inserted == 0 {
		f = min(f, 100) // the size is an estimate, more than all cannot go
	}
	sh := &Share{Percent: percent(f), Width: strconv.FormatFloat(min(f, 100), 'f', 2, 64)}
	if t.Inserted == t.Rows() {
		sh.Percent = "+" + sh.Percent
	}
	return sh
}

// factsOf renders what a migration loses and blocks.
func factsOf(p plan.Preview) *FactLines {
	if p.Facts == nil {
		return nil
	}
	f := formOf(p)
	out := &FactLines{Facts: *p.Facts, Lines: []FactLine{}}
	said := map[string]bool{}
	small := "not named, goes with it"
	if f.drops == "" { // the form is not known, so neither is what was named
		small = "dropped by this statement"
	}
	for _, l := range p.Facts.Lost {
		line := FactLine{Name: l.Relation, Small: small, Follow: f.drops != "", Count: l.NonNullValues, Text: "all of " + digits(l.NonNullValues) + " " + plural(l.NonNullValues, "value", "values")}
		if l.Column != "" {
			line.Name += "." + l.Column
		}
		if f.drops != "" && (l.Column == f.drops || lastPart(l.Relation) == lastPart(f.drops)) {
			line.Small, line.Follow = "named by the agent", false
		}
		said[line.Name] = true
		if l.NonNullValues == 0 {
			line.Word, line.Text = "dropped", "holds no value"
		}
		out.Lines = append(out.Lines, line)
	}
	for _, d := range alongWith(p, f) {
		if said[d.Name] {
			continue
		}
		out.Lines = append(out.Lines, FactLine{Name: d.Name, Small: small, Follow: f.drops != "", Word: "dropped", Text: "the whole " + d.Type})
	}
	for _, l := range p.Facts.Locks {
		what := blocks(l.Mode)
		if what == "" {
			continue
		}
		out.Lines = append(out.Lines, FactLine{Name: l.Relation, Small: l.Mode, Word: "blocked", Text: what + " while it runs, " + duration(l.HeldMS)})
	}
	for _, name := range p.Facts.Rewrites {
		out.Lines = append(out.Lines, FactLine{Name: name, Small: "every row is written again", Word: "rewritten", Text: "takes as long as the table is big"})
	}
	for _, name := range p.Facts.Scans {
		if !slices.Contains(p.Facts.Rewrites, name) { // writing every row reads every row
			out.Lines = append(out.Lines, FactLine{Name: name, Small: "every row is read", Word: "scanned", Text: "takes as long as the table is big"})
		}
	}
	return out
}

// duration renders milliseconds for people.
func duration(ms float64) string {
	switch {
	case ms < 1:
		return "under 1 ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	default:
		return strings.TrimSuffix(strconv.FormatFloat(ms/1000, 'f', 1, 64), ".0") + " s"
	}
}
