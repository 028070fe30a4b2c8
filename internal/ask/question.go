package ask

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// The bounds of a question, in characters, lines and values.
const (
	maxStatement = 2000
	maxReason    = 500
	maxSentence  = 600
	maxValue     = 80
	maxValues    = 10
	maxTables    = 20
	maxTable     = 150
	maxName      = 100
)

// Said is what the card says about a plan; the question says the same.
type Said struct {
	Sentence string // what it does
	Deed     string // what a yes does: "delete 840 rows"
	// Typed is the number that has to be typed with a yes, "" where none has; Accepts compares.
	Typed   string
	Accepts func(typed string) bool
}

// form asks for a decision. No value of a row is in it: only what the agent sent, and what was counted.
// See TestQuestionHoldsNoRow.
func form(p plan.Plan, said Said, page string) Question {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line("%s", quote(said.Sentence, maxSentence))
	line("")
	line("Rows that change in all: %s", grouped(total(p.Preview)))
	for i, t := range p.BlastRadius.Tables {
		if i == maxTables {
			line("- and %d more tables", len(p.BlastRadius.Tables)-i)
			break
		}
		line("- %s: %s", quote(t.Name, maxTable), counts(t))
	}
	line("")
	line("Statement: %s", quote(p.Payload.Statement, maxStatement))
	for i, v := range p.Payload.Params {
		if i == maxValues {
			line("and %d more values", len(p.Payload.Params)-i)
			break
		}
		line("$%d = %s", i+1, quote(string(v), maxValue))
	}
	line("The agent's reason: %s", strconv.Quote(quote(p.Reason, maxReason)))
	if p.Why != "" {
		line("%s", quote(p.Why, maxSentence))
	}
	line("")
	if page == "" {
		line("Without a yes nothing is changed.")
	} else {
		line("Without a yes nothing is changed, and it goes on waiting at %s until %s.", page, p.ExpiresAt.UTC().Format(time.TimeOnly+" MST"))
	}
	return Question{ID: random(), Way: Form, Message: strings.TrimSuffix(b.String(), "\n"), Schema: schemaOf(said)}
}

// schemaOf is the form: one box, and above the threshold the number. The specification allows flat
// objects of simple fields only.
func schemaOf(said Said) json.RawMessage {
	type field struct {
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Default     *bool  `json:"default,omitempty"`
		MaxLength   int    `json:"maxLength,omitempty"`
	}
	type fields struct {
		Approve field  `json:"approve"`
		Rows    *field `json:"rows,omitempty"`
	}
	no := false
	f := fields{Approve: field{Type: "boolean", Title: quote("Yes: "+said.Deed, maxTable), Description: "Ticked, the change is made. Otherwise nothing happens.", Default: &no}}
	required := []string{"approve"}
	if said.Typed != "" {
		f.Rows = &field{Type: "string", Title: "Number of rows", Description: "Type how many rows change in all.", MaxLength: 40}
		required = append(required, "rows")
	}
	out, err := json.Marshal(map[string]any{"type": "object", "properties": f, "required": required})
	if err != nil { // plain structs always marshal
		return json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean"}},"required":["approve"]}`)
	}
	return out
}

// pointer only leads to the page.
func pointer(said Said, page string) Question {
	return Question{ID: random(), Way: URL, URL: page, Message: "A change waits for your decision on the approval page: " + quote(said.Sentence, maxSentence)}
}

func total(p plan.Preview) int64 { return max(p.AffectedRows, p.BlastRadius.TotalRows) }

func counts(t plan.Table) string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{{t.Deleted, "deleted"}, {t.Updated, "updated"}, {t.Inserted, "inserted"}} {
		if c.n > 0 {
			parts = append(parts, grouped(c.n)+" "+c.what)
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// grouped renders n with thousands separators, as the card does.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "approve-" + hex.EncodeToString(b[:])
}
