package approvalui

import (
	"encoding/json"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// The tools that make plans.
const (
	toolDelete    = "delete_rows"
	toolInsert    = "insert_rows"
	toolUpdate    = "update_rows"
	toolMigration = "run_migration"
)

// maxValueInSentence is how long a value may be, in characters, to stand in the sentence.
const maxValueInSentence = 40

// Sentence is what a plan will do, in plain words. Every number in it was measured.
type Sentence struct {
	Kind  string `json:"kind"`  // Delete, Update, Insert, Migration
	Sign  string `json:"sign"`  // del, upd, ins: for sign, texture and colour
	Main  Text   `json:"main"`  // what the statement does to its target
	Then  Text   `json:"then"`  // what goes with it; empty when nothing does
	Index Text   `json:"index"` // one line for the list of all plans
	Deed  string `json:"deed"`  // what approving does, for the button: "delete 840 rows"
	Done  Text   `json:"done"`  // what an execute did, for the result
}

// Say describes a plan. It uses what was measured and, for the form of the statement, its text.
func Say(p plan.Preview) Sentence {
	var s Sentence
	switch p.Tool {
	case toolDelete:
		s = sayDelete(p)
	case toolUpdate:
		s = sayUpdate(p)
	case toolInsert:
		s = sayInsert(p)
	case toolMigration:
		return sayMigration(p)
	default: // a tool this page does not know: the facts, without a story
		s = Sentence{Kind: "Change", Sign: "upd", Deed: "change " + digits(total(p)) + " " + rows(total(p))}
		s.Main = Text{words("Change "), count(p.AffectedRows), words(" " + rows(p.AffectedRows) + " of "), code(p.Target), words(".")}
		s.Then = others(p, "")
	}
	if p.AffectedRows == 0 && total(p) == 0 && len(p.BlastRadius.Unknown) == 0 {
		s.Main, s.Then = Text{words("Nothing changes: no row matches.")}, nil
		s.Deed = "run it, no row matches"
		s.Index = Text{words(s.Kind + " in "), code(p.Target), words(": no row matches")}
		s.Done = Text{words("no row matched in "), code(p.Target)}
		return s
	}
	if len(p.BlastRadius.Unknown) > 0 {
		s.Then = Text{words("What else changes could not be counted.")}
	}
	s.Index = indexLine(p, s)
	return s
}

// total is what the thresholds look at: max(affected rows, rows in all tables).
func total(p plan.Preview) int64 { return max(p.AffectedRows, p.BlastRadius.TotalRows) }

// wholeTable says that the statement has no condition. Of one that is not known it says nothing: a plan
// of an earlier session may have none. See TestPlansOfAnEarlierSession.
func wholeTable(p plan.Preview) bool {
	return p.Payload.Statement != "" && !hasWord(scan(p.Payload.Statement), "where")
}

func sayDelete(p plan.Preview) Sentence {
	n := p.AffectedRows
	s := Sentence{Kind: "Delete", Sign: "del"}
	if wholeTable(p) {
		s.Main = Text{words("Delete "), {Number, "all " + digits(n)}, words(" " + rows(n) + " from "), code(p.Target), words(".")}
	} else {
		s.Main = Text{words("Delete "), count(n), words(" " + rows(n) + " from "), code(p.Target), words(".")}
	}
	s.Then = others(p, "del")
	s.Deed = deed(p, "delete")
	s.Done = Text{words("deleted "), count(n), words(" " + rows(n) + " from "), code(p.Target)}
	return s
}

func sayInsert(p plan.Preview) Sentence {
	n := p.AffectedRows
	return Sentence{
		Kind: "Insert", Sign: "ins",
		Main: Text{words("Add "), count(n), words(" " + rows(n) + " to "), code(p.Target), words(".")},
		Then: others(p, "ins"),
		Deed: deed(p, "add"),
		Done: Text{words("added "), count(n), words(" " + rows(n) + " to "), code(p.Target)},
	}
}

func sayUpdate(p plan.Preview) Sentence {
	n := p.AffectedRows
	s := Sentence{Kind: "Update", Sign: "upd", Then: others(p, "upd"), Deed: deed(p, "update")}
	all := scan(p.Payload.Statement)
	amount := count(n)
	if wholeTable(p) {
		amount = Segment{Number, "all " + digits(n)}
	}
	rest := Text{words(" in "), amount, words(" " + rows(n) + " of "), code(p.Target)}
	cols := p.SetColumns
	var head, done Text
	value, plain := setValue(all, p.Payload.Params)
	switch {
	case len(cols) == 1 && plain:
		head = Text{words("Set "), code(cols[0]), words(" to "), code(value)}
		done = Text{words("set "), code(cols[0]), words(" to "), code(value)}
	case len(cols) == 0:
		head = Text{words("Change ")}
		done = Text{words("changed ")}
		rest = Text{amount, words(" " + rows(n) + " of "), code(p.Target)}
	default:
		list := columnList(cols)
		head = append(Text{words("Change ")}, list...)
		done = append(Text{words("changed ")}, list...)
	}
	s.Main = append(append(head, rest...), words("."))
	s.Done = append(done, rest...)
	return s
}

// columnList names up to two columns and counts the rest.
func columnList(cols []string) Text {
	switch len(cols) {
	case 1:
		return Text{code(cols[0])}
	case 2:
		return Text{code(cols[0]), words(" and "), code(cols[1])}
	default:
		more := int64(len(cols) - 2)
		return Text{code(cols[0]), words(", "), code(cols[1]), words(" and " + digits(more) + " more " + plural(more, "column", "columns"))}
	}
}

// setValue finds the value of `UPDATE name SET column = $n` when the statement has exactly one
// assignment and it is a bare parameter short enough to be read in a sentence.
func setValue(all []lexeme, params []json.RawMessage) (string, bool) {
	r := &reader{all: all}
	if !r.word("update") {
		return "", false
	}
	r.word("only")
	if _, _, ok := r.name(); !ok {
		return "", false
	}
	if !r.word("set") { // an alias
		r.word("as")
		if _, _, ok := r.ident(); !ok || !r.word("set") {
			return "", false
		}
	}
	if _, _, ok := r.ident(); !ok || !r.symbol("=") {
		return "", false
	}
	n, ok := r.param()
	if !ok || !(r.semicolonEnd() || r.word("where")) {
		return "", false
	}
	i, err := strconv.Atoi(n)
	if err != nil || i < 1 || i > len(params) {
		return "", false
	}
	c := cellOf(params[i-1])
	switch c.Type {
	case cellNull:
		return "NULL", true
	case cellText, cellNumber, cellBool:
		if c.Text == "" {
			return `""`, true
		}
		return c.Text, utf8.RuneCountInString(c.Text) <= maxValueInSentence
	}
	return "", false
}

// effect is one kind of change in one table that the statement's own verb does not cover.
type effect struct {
	table string
	rows  int64
	more  bool // in the target itself, beyond the rows the statement names
}

// others tells what changes besides the rows the statement is about. main is what the statement
// itself does: del, upd, ins.
func others(p plan.Preview, main string) Text {
	var del, upd, ins []effect
	for _, t := range p.BlastRadius.Tables {
		d, u, i := t.Deleted, t.Updated, t.Inserted
		own := t.Name == p.Target && main != ""
		if own { // its own rows are in the first sentence
			switch main {
			case "del":
				d -= min(d, p.AffectedRows)
			case "upd":
				u -= min(u, p.AffectedRows)
			case "ins":
				i -= min(i, p.AffectedRows)
			}
		}
		del = addEffect(del, t.Name, d, own)
		upd = addEffect(upd, t.Name, u, own)
		ins = addEffect(ins, t.Name, i, own)
	}
	var out Text
	if main == "del" {
		out = say(out, del, "goes with "+plural(p.AffectedRows, "it", "them"), "go with "+plural(p.AffectedRows, "it", "them"))
	} else {
		out = say(out, del, "is deleted along the way", "are deleted along the way")
	}
	out = say(out, upd, "changes along the way", "change along the way")
	return sayAdded(out, ins)
}

func addEffect(list []effect, table string, n int64, more bool) []effect {
	if n <= 0 {
		return list
	}
	return append(list, effect{table, n, more})
}

func arrange(list []effect) (sum int64) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].rows < list[j].rows })
	for _, e := range list {
		sum += e.rows
	}
	return sum
}

// say writes "**320** rows in `orders` and **512** in `order_items` go with them."
func say(out Text, list []effect, one, many string) Text {
	if len(list) == 0 {
		return out
	}
	sum := arrange(list)
	verb := plural(sum, one, many)
	if len(out) > 0 {
		out = append(out, words(" "))
	}
	if len(list) > 3 {
		return append(out, count(sum), words(" "+rows(sum)+" in "), count(int64(len(list))), words(" other tables "+verb+"."))
	}
	for i, e := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			out = append(out, words(" and "))
		default:
			out = append(out, words(", "))
		}
		out = append(out, count(e.rows))
		in := " in "
		if e.more {
			in = " more in "
		}
		if i == 0 {
			in = " " + rows(e.rows) + " in "
			if e.more {
				in = " more " + rows(e.rows) + " in "
			}
		}
		out = append(out, words(in), code(e.table))
	}
	return append(out, words(" "+verb+"."))
}

// sayAdded writes "**4,706** rows are added to `order_log` along the way."
func sayAdded(out Text, list []effect) Text {
	if len(list) == 0 {
		return out
	}
	sum := arrange(list)
	if len(out) > 0 {
		out = append(out, words(" "))
	}
	out = append(out, count(sum), words(" "+rows(sum)+" "+plural(sum, "is", "are")+" added to "))
	if len(list) > 3 {
		return append(out, count(int64(len(list))), words(" other tables along the way."))
	}
	for i, e := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			out = append(out, words(" and "))
		default:
			out = append(out, words(", "))
		}
		out = append(out, code(e.table))
	}
	return append(out, words(" along the way."))
}

// deed is the button's text: the statement's verb while everything that changes is of that kind,
// else "change".
func deed(p plan.Preview, verb string) string {
	n := total(p)
	for _, t := range p.BlastRadius.Tables {
		mixed := false
		switch verb {
		case "delete":
			mixed = t.Inserted+t.Updated > 0
		case "update":
			mixed = t.Inserted+t.Deleted > 0
		case "add":
			mixed = t.Updated+t.Deleted > 0
		}
		if mixed {
			verb = "change"
			break
		}
	}
	if len(p.BlastRadius.Unknown) > 0 {
		return verb + " at least " + digits(n) + " " + rows(n)
	}
	return verb + " " + digits(n) + " " + rows(n)
}

// indexLine is the plan in one line.
func indexLine(p plan.Preview, s Sentence) Text {
	if p.Tool == toolMigration {
		return trimDot(s.Main)
	}
	n := total(p)
	verb := map[string]string{toolDelete: "Delete ", toolUpdate: "Update ", toolInsert: "Add "}[p.Tool]
	in := map[string]string{toolDelete: " from ", toolUpdate: " of ", toolInsert: " to "}[p.Tool]
	if verb == "" || in == "" || len(s.Deed) > 6 && s.Deed[:6] == "change" {
		verb, in = "Change ", " of "
	}
	if n == p.AffectedRows {
		return Text{words(verb), count(n), words(" " + rows(n) + in), code(p.Target)}
	}
	return Text{words(verb), count(n), words(" " + rows(n) + ", "), count(p.AffectedRows), words(" of them in "), code(p.Target)}
}

// trimDot takes the full stop off a sentence.
func trimDot(t Text) Text {
	if n := len(t); n > 0 && t[n-1] == words(".") {
		return t[: n-1 : n-1]
	}
	return t
}
