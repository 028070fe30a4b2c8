package approvalui

import (
	"strconv"
	"strings"
)

// Segment is a piece of one of our sentences. The browser makes one text node of each: there is
// no markup in it, and what comes from data can only ever be a name or a value.
type Segment struct {
	Kind Kind   `json:"k"`
	Text string `json:"v"`
}

// Kind says in which voice a segment is shown.
type Kind string

// The kinds of segments.
const (
	Words  Kind = "t" // our own words
	Number Kind = "n" // a count, with thousands separators
	Code   Kind = "c" // a name, a value or SQL: text from outside
	Strong Kind = "b" // our own words, stressed
	Clock  Kind = "d" // a time, as RFC 3339: the browser shows it in the person's own zone
	Quoted Kind = "q" // a sentence a person or Postgres wrote: text from outside, in our sentence
)

// Text is a sentence in segments.
type Text []Segment

func words(s string) Segment  { return Segment{Words, s} }
func strong(s string) Segment { return Segment{Strong, s} }
func code(s string) Segment   { return Segment{Code, s} }
func quoted(s string) Segment { return Segment{Quoted, s} }
func count(n int64) Segment   { return Segment{Number, digits(n)} }

// String is the sentence as plain text, for titles that programs read.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.Text)
	}
	return b.String()
}

// lower starts the sentence with a small letter, to follow a colon. Names keep theirs.
func (t Text) lower() Text {
	if len(t) == 0 || t[0].Kind != Words || t[0].Text == "" {
		return t
	}
	out := append(Text(nil), t...)
	out[0].Text = strings.ToLower(out[0].Text[:1]) + out[0].Text[1:]
	return out
}

// digits renders a count with thousands separators: 1,299.
func digits(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// rows is "row" or "rows".
func rows(n int64) string {
	if n == 1 {
		return "row"
	}
	return "rows"
}

// plural is "table" or "tables" and the like.
func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
