package approvalui

import (
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Level is how loud a card is.
type Level string

// The levels, loudest first.
const (
	Loud  Level = "loud"  // loss that can be named in numbers, or an effect that is not known
	Check Level = "check" // something a person should look at before deciding
	Note  Level = "note"  // a safer way, or a fact worth a line
	None  Level = "none"
)

// longLockMS is how long the run may hold a lock before the card asks to look, in milliseconds.
const longLockMS = 1000

// Band is the red line of a loud card: what is lost, in numbers.
type Band struct {
	Lead string `json:"lead"`
	Text Text   `json:"text"`
}

// Caution is a warning of the plan, sorted into our voices.
type Caution struct {
	Code  string `json:"code"`
	Voice string `json:"voice"` // rejected, check, safer, note
	Text  Text   `json:"text"`
}

// bandOf finds the loudest thing there is to say; nil when the card is not loud.
func bandOf(p plan.Preview, confirmAbove int64) *Band {
	if b := lossBand(p); b != nil {
		return b
	}
	if len(p.BlastRadius.Unknown) > 0 {
		return &Band{"The effect is not known.", Text{words("What this changes could not be counted: "), quoted(strings.Join(p.BlastRadius.Unknown, "; ")), words(".")}}
	}
	var deleted int64
	for _, t := range p.BlastRadius.Tables {
		deleted += t.Deleted
	}
	for _, t := range p.BlastRadius.Tables {
		if t.RowsEstimate == nil || *t.RowsEstimate <= 0 || t.Deleted*2 < *t.RowsEstimate {
			continue
		}
		lead := "Half a table or more is deleted."
		if t.Deleted >= *t.RowsEstimate {
			lead = "A whole table is emptied."
		}
		return &Band{lead, Text{count(t.Deleted), words(" of about "), count(*t.RowsEstimate), words(" " + rows(*t.RowsEstimate) + " in "), code(t.Name), words(". Only a backup brings them back.")}}
	}
	if deleted > confirmAbove {
		return &Band{"A large delete.", Text{count(deleted), words(" " + rows(deleted) + " that only a backup brings back.")}}
	}
	return nil
}

// lossBand names the values a migration loses.
func lossBand(p plan.Preview) *Band {
	if p.Facts == nil {
		return nil
	}
	n := lostValues(p.Facts.Lost)
	if n == 0 {
		return nil
	}
	var whole, columns int64
	for _, l := range p.Facts.Lost {
		if l.Column == "" {
			whole++
		} else {
			columns++
		}
	}
	lead := "Data is lost."
	switch {
	case whole == 1 && columns == 0:
		lead = "A whole table is lost."
	case columns == 1 && whole == 0:
		lead = "A whole column is lost."
	case columns > 1 && whole == 0:
		lead = digits(columns) + " columns are lost."
	}
	return &Band{lead, Text{count(n), words(" " + plural(n, "value", "values") + " that only a backup brings back.")}}
}

// voices sorts the warning codes. A code that is not here is shown as a check: the loud side. So is row
// security where a migration switches it on, since what others see then is another thing.
var voices = map[string]string{
	plan.WarnPreviewValuesDiffer: "note",
	plan.WarnNoPairs:             "note",
	plan.WarnRowSecurity:         "note",
	plan.WarnSeqScan:             "note",
	plan.WarnRewritesTable:       "note",
	plan.WarnScansTable:          "note",
	plan.WarnBlocksWrites:        "note",
}

// cautionsOf renders the warnings: earlier rejection, then checks, then notes.
func cautionsOf(p plan.Plan, band *Band) []Caution {
	out := []Caution{}
	if e := p.Earlier; e != nil {
		t := Text{quoted(e.Actor), words(" rejected this same statement at "), {Clock, stamp(e.At)}}
		if e.Actor == "" { // of an earlier process, or long ago: that it was is kept, nobody's words are
			t = Text{words("This same statement was rejected at "), {Clock, stamp(e.At)}, words(". Who did, and why, is in the audit log")}
		}
		tail := "."
		if e.Reason != "" {
			t = append(t, words(" with “"), quoted(e.Reason), words("”"))
			if strings.ContainsRune(".!?", rune(e.Reason[len(e.Reason)-1])) {
				tail = ""
			}
		}
		out = append(out, Caution{plan.WarnRejectedBefore, "rejected", append(t, words(tail+" It has not changed since."))})
	}
	slow := slowLock(p.Preview)
	var notes []Caution
	for _, w := range p.Warnings {
		switch {
		case w.Code == plan.WarnRadiusUnknown && len(p.BlastRadius.Unknown) > 0,
			w.Code == plan.WarnDataLost && band != nil && dropsData(p.Preview),
			w.Code == plan.WarnBlocksWrites && !slow && p.Facts != nil: // the lines of facts have it
			continue // said already, and better
		}
		voice, message := voices[w.Code], w.Message
		switch {
		case voice == "", w.Code == plan.WarnRowSecurity && p.Facts != nil,
			slow && (w.Code == plan.WarnBlocksWrites || w.Code == plan.WarnRewritesTable || w.Code == plan.WarnScansTable):
			voice = "check"
		case w.Safer != "": // what it is safer than stands in the lines of facts
			voice, message = "safer", w.Safer
		}
		c := Caution{w.Code, voice, markNames(message, p.Preview)}
		if voice == "check" {
			out = append(out, c)
		} else {
			notes = append(notes, c)
		}
	}
	return append(out, notes...)
}

// slowLock says whether the run held a lock that blocks others for over a second.
func slowLock(p plan.Preview) bool {
	if p.Facts == nil {
		return false
	}
	for _, l := range p.Facts.Locks {
		if blocks(l.Mode) != "" && l.HeldMS > longLockMS {
			return true
		}
	}
	return false
}

// blocks says what a table lock keeps waiting (manual, 13.3.1); empty for locks that ordinary
// statements do not wait for.
func blocks(mode string) string {
	switch mode {
	case "AccessExclusiveLock":
		return "all reads and writes"
	case "ExclusiveLock", "ShareRowExclusiveLock", "ShareLock":
		return "all writes"
	}
	return ""
}

// levelOf is the level of a card.
func levelOf(band *Band, cautions []Caution, p plan.Preview) Level {
	if band != nil {
		return Loud
	}
	level := None
	if slowLock(p) {
		level = Check
	}
	for _, c := range cautions {
		if c.Voice != "note" && c.Voice != "safer" {
			return Check
		}
		if level == None {
			level = Note
		}
	}
	return level
}

// markNames shows the names of the plan's tables in the mono voice inside a message.
func markNames(message string, p plan.Preview) Text {
	names := []string{p.Target}
	for _, t := range p.BlastRadius.Tables {
		names = append(names, t.Name)
	}
	if p.Facts != nil {
		for _, d := range p.Facts.Drops {
			names = append(names, d.Name)
		}
	}
	out := Text{}
	for message != "" {
		at, found := -1, ""
		for _, n := range names {
			if n == "" {
				continue
			}
			if i := indexName(message, n); i >= 0 && (at < 0 || i < at || i == at && len(n) > len(found)) {
				at, found = i, n
			}
		}
		if at < 0 {
			return append(out, quoted(message))
		}
		if at > 0 {
			out = append(out, quoted(message[:at]))
		}
		out = append(out, code(found))
		message = message[at+len(found):]
	}
	return out
}

// indexName finds a name that is not part of a longer one.
func indexName(s, name string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], name)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(name)
		before := i == 0 || !nameByte(s[i-1]) && s[i-1] != '.'
		after := end == len(s) || !nameByte(s[end]) && (s[end] != '.' || end+1 == len(s) || !nameByte(s[end+1]))
		if before && after {
			return i
		}
		from = i + 1
	}
}

func nameByte(c byte) bool { return wordByte(c) || c >= '0' && c <= '9' || c == '$' || c == '"' }
