package wire

import (
	"regexp"
	"strings"
)

// Masked is e without what could be the value of a masked column. Errors of the text, which have a position,
// are the agent's own words (manual, 55.8, field P; what functions say has none). Of others everything from
// the first quote to the last goes, and the rest stays only if it is a sentence of Postgres' own that is
// known here: triggers and functions may raise any text under any SQLSTATE. See TestMaskedErrors.
func Masked(e *ServerError) *ServerError {
	if e == nil || e.Position > 0 {
		return e
	}
	c := *e
	c.Message, c.Constraint = MaskedSentence(e.Message), ""
	return &c
}

// leftOut stands for a sentence that may hold values.
const leftOut = "What the server says may hold values of masked columns and is left out"

// MaskedSentence is what of a message of the server is shown while columns are masked; that of a notice too.
func MaskedSentence(message string) string {
	first, last := strings.IndexByte(message, '"'), strings.LastIndexByte(message, '"')
	if first >= 0 && last > first {
		message = message[:first] + `"…"` + message[last+1:]
	}
	for _, k := range knownSentences {
		if k.MatchString(message) {
			return message
		}
	}
	return leftOut
}

// knownSentences are sentences of the server (in English; in other languages nothing is known, and nothing
// shown), once their quoted parts are gone. None has room for a value.
var knownSentences = func() (out []*regexp.Regexp) {
	for _, s := range []string{
		`duplicate key value violates unique constraint "…"`,
		`conflicting key value violates exclusion constraint "…"`,
		`null value in column "…" violates not-null constraint`,
		`new row for relation "…"`,
		`new row violates row-level security policy for table "…"`,
		`new row violates check option for view "…"`,
		`no partition of relation "…" found for row`,
		`insert or update on table "…"`,
		`update or delete on table "…"`,
		`check constraint "…" is violated by some row`,
		`column "…" contains null values`,
		`could not create unique index "…"`,
		`invalid input syntax for type TYPE: "…"`,
		`invalid input value for enum [a-z_.]{1,63}: "…"`,
		`malformed (array|range|multirange|record) literal: "…"`,
		`value "…" is out of range for type TYPE`,
		`date/time field value out of range: "…"`,
		`value too long for type TYPE`,
		`(smallint|integer|bigint|numeric field|date|timestamp|interval) (out of range|overflow)`,
		`division by zero`,
		`more than one row returned by a subquery used as an expression`,
		`could not determine data type of parameter \$[0-9]{1,5}`,
		`bind message supplies [0-9]{1,5} parameters, but prepared statement "…" requires [0-9]{1,5}`,
		`cannot execute [A-Z ]{1,40} in a read-only transaction`,
		`permission denied for (table|view|schema|sequence|materialized view|function|column) .{1,130}`,
		`must be owner of (table|view|index|sequence|materialized view|type|schema) .{1,130}`,
		`could not serialize access due to (concurrent update|concurrent delete|read/write dependencies among transactions)`,
		`deadlock detected`,
		`current transaction is aborted, commands ignored until end of transaction block`,
		`canceling statement due to (statement timeout|lock timeout|user request|conflict with recovery)`,
		`(relation|column|constraint|index|type|sequence|table|view|trigger) "…"( already exists| does not exist)?(, skipping)?`,
		`drop cascades to [0-9]{1,9} other objects`,
		`identifier "…"`,
	} {
		s = strings.ReplaceAll(s, "TYPE", `[a-z][a-z ]{0,40}(\([0-9]{1,9}(,[0-9]{1,9})?\))?`)
		out = append(out, regexp.MustCompile(`^`+s+`$`))
	}
	return out
}()
