package sqlguard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// The parser here knows the grammar of Postgres 16. What later servers added fails in it like a mistake in
// spelling, or is read as a call of a function that nobody has; the refusal should say which it is. The
// lists only choose words for what is refused anyway. See TestNewerSyntaxSaysSo.

// newerForms are runs of words, of which * stands for any one, that the grammar got with a version.
var newerForms = []struct {
	words   string
	name    string
	version int
}{
	{"json_table (", "JSON_TABLE", 17},
	{"json_exists (", "JSON_EXISTS", 17},
	{"json_value (", "JSON_VALUE", 17},
	{"json_query (", "JSON_QUERY", 17},
	{"json_scalar (", "JSON_SCALAR", 17},
	{"json_serialize (", "JSON_SERIALIZE", 17},
	{"json (", "JSON()", 17},
	{"merge_action (", "MERGE_ACTION", 17},
	{"not matched by", "MERGE … WHEN NOT MATCHED BY", 17},
	{"at local", "AT LOCAL", 17},
	{"set expression", "ALTER COLUMN … SET EXPRESSION", 17},
	{"access method default", "SET ACCESS METHOD DEFAULT", 17},
	{"force_null *", "FORCE_NULL *", 17},
	{"on_error", "ON_ERROR", 17},
	{"returning with", "RETURNING WITH (OLD AS …, NEW AS …)", 18},
	{"without overlaps", "WITHOUT OVERLAPS", 18},
	{", period", "PERIOD in a foreign key", 18},
	{"( period", "PERIOD in a foreign key", 18},
	{"not enforced", "NOT ENFORCED", 18},
	{") enforced", "ENFORCED", 18},
	{") virtual", "VIRTUAL generated columns", 18},
	{"constraint * not null", "NOT NULL as a table constraint", 18},
	{"split partition", "SPLIT PARTITION", 19},
	{"merge partitions", "MERGE PARTITIONS", 19},
}

// generated is `GENERATED ALWAYS AS (…)` without STORED, which only the grammar of 18 takes.
const generated = "generated always as ("

// newerForm finds the first form of a later version in a text that cannot be parsed, apart from a MERGE
// that has a RETURNING.
func newerForm(words []string) (name string, version int) {
	for _, f := range newerForms {
		if runs(words, strings.Fields(f.words)) {
			return f.name, f.version
		}
	}
	merge := slices.Index(words, "merge")
	switch {
	case merge >= 0 && slices.Contains(words[merge:], "returning"):
		return "MERGE … RETURNING", 17
	case runs(words, strings.Fields(generated)) && !slices.Contains(words, "stored"):
		return "GENERATED ALWAYS AS (…) without STORED", 18
	}
	return "", 0
}

// newerCall gives the version with which the grammar got what looks like a call of that name, 0 for none.
func newerCall(name string) int {
	for _, f := range newerForms {
		if f.words == name+" (" {
			return f.version
		}
	}
	return 0
}

// runs tells whether want stands in words without a gap.
func runs(words, want []string) bool {
	for i := 0; i+len(want) <= len(words); i++ {
		fits := true
		for j, w := range want {
			fits = fits && (words[i+j] == w || w == "*" && j > 0 && j < len(want)-1)
		}
		if fits {
			return true
		}
	}
	return false
}

// wordsOf are the tokens of a text as the forms spell them.
func wordsOf(tokens []token) []string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = fold(t.text)
	}
	return words
}

const grammarHint = "The parser here knows the grammar of Postgres 16; syntax that is new in 17 or 18 is not taken."

// newerRefusal is the refusal of a text for its newer syntax, nil where none is found.
func newerRefusal(what string, tokens []token) error {
	name, version := newerForm(wordsOf(tokens))
	if name == "" {
		return nil
	}
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s uses %s, which is syntax of Postgres %d.", what, name, version),
		grammarHint+" Write it in another way.")
}
