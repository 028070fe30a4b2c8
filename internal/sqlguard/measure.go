package sqlguard

import (
	"fmt"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// The bounds on text that may reach the C parser. It is recursive and, on deep trees, dies with a
// SIGSEGV that no Go code can recover. The scanner is flat, so it goes first. What dies and where
// was measured in a child process: see TestMeasureKeepsTheParserAlive.
const (
	maxTextBytes = 1 << 20
	// maxDeepTokens bounds the tokens that can make the tree deeper: each left-recursive operator,
	// cast, subscript or set operation is one more level.
	maxDeepTokens = 2000
	// maxBrackets bounds how deep brackets may stand inside each other.
	maxBrackets = 200
	// maxComments bounds the /* of a text, wherever they stand: the scanner's time is the square of
	// their number, 20,000 take 5 s.
	maxComments = 500
	// maxTokens bounds the size of the tree, which costs about 100 times the text.
	maxTokens = 300_000
	// maxJoins bounds JOINs. A row of joins is weighed at the square of its length, and Postgres plans none
	// of many hundred.
	maxJoins = 500
)

// token is one token of the scanner, comments left out. text is its exact spelling.
type token struct {
	kind    pg.Token
	keyword pg.KeywordKind
	text    string
	gap     bool // white space or a comment stood before it
}

// scan measures text and gives its tokens. Every entry point goes through it before parsing.
func scan(what, text string) ([]token, error) {
	if err := checkBytes(what, text); err != nil {
		return nil, err
	}
	result, err := pg.Scan(text)
	if err != nil {
		return nil, syntaxRefusal(what, text, err)
	}
	tokens := make([]token, 0, len(result.Tokens))
	end, gap := 0, false
	for _, t := range result.Tokens {
		from, to := int(t.Start), int(t.End)
		if t.Token == pg.Token_USCONST || t.Token == pg.Token_UIDENT {
			to = endOfUnicode(text, from) // the scanner reports a wrong end for these two
		}
		if from < end || to < from || to > len(text) || strings.Trim(text[end:from], " \t\n\r\f\v") != "" {
			return nil, ambiguous(what)
		}
		gap = gap || from > end
		end = to
		if t.Token == pg.Token_SQL_COMMENT || t.Token == pg.Token_C_COMMENT {
			gap = true
			continue
		}
		tokens = append(tokens, token{kind: t.Token, keyword: t.KeywordKind, text: text[from:to], gap: gap})
		gap = false
	}
	if strings.Trim(text[end:], " \t\n\r\f\v") != "" {
		return nil, ambiguous(what)
	}
	return tokens, measure(what, tokens)
}

// ambiguous is for text in which the scanner's tokens do not account for every byte. Dropping what
// it did not report could change the meaning.
func ambiguous(what string) error {
	return refusal.New(refusal.InvalidInput,
		fmt.Sprintf("The %s cannot be read unambiguously.", what), "Write it in a simpler form, without U& escapes or literals in pieces.")
}

// endOfUnicode finds the end of U&'…' or U&"…" that starts at from, or -1.
func endOfUnicode(text string, from int) int {
	if from < 0 || from+3 > len(text) || text[from+1] != '&' {
		return -1
	}
	quote := text[from+2]
	for i := from + 3; i < len(text); i++ {
		if text[i] != quote {
			continue
		}
		if i+1 < len(text) && text[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	return -1
}

func checkBytes(what, text string) error {
	switch {
	case len(text) > maxTextBytes:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s is %d bytes long; at most %d are taken.", what, len(text), maxTextBytes),
			"Pass data as params instead of writing it into the text; a list of values fits `= ANY($1)`.")
	case strings.Count(text, "/*") > maxComments:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s holds /* %d times; at most %d are taken.", what, strings.Count(text, "/*"), maxComments),
			"Leave the comments out.")
	case strings.IndexByte(text, 0) >= 0:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s holds the character U+0000, which Postgres cannot store.", what), "Remove it.")
	case !utf8.ValidString(text):
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s is not valid UTF-8.", what), "Send it as UTF-8 text.")
	}
	return nil
}

// measure refuses token sequences that could make the parser recurse too deep. It counts generously:
// everything that is not a comma, AND, OR, a name or a literal may add a level.
func measure(what string, tokens []token) error {
	deep, open, deepest, joins := 0, 0, 0, 0
	for _, t := range tokens {
		if t.kind == pg.Token_JOIN {
			joins++
		}
		switch t.kind {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, pg.Token_CASE:
			open++
			deepest = max(deepest, open)
			if t.kind == pg.Token_ASCII_91 {
				deep++
			}
		case pg.Token_ASCII_41, pg.Token_ASCII_93:
			open = max(open-1, 0)
		case pg.Token_END_P:
			open = max(open-1, 0)
		case pg.Token_ASCII_46:
			// a qualified name is flat
		default:
			if deepens(t) {
				deep++
			}
		}
	}
	switch {
	case deep > maxDeepTokens:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s chains %d operators, casts or set operations; at most %d are taken.", what, deep, maxDeepTokens),
			"Write a long list of values as one array parameter: `column = ANY($1)`.")
	case deepest > maxBrackets:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s nests brackets %d deep; at most %d are taken.", what, deepest, maxBrackets),
			"Write it flatter; a long list of values fits one array parameter: `column = ANY($1)`.")
	case joins > maxJoins:
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s has %d joins; at most %d are taken.", what, joins, maxJoins),
			"Split it into smaller statements.")
	case longList(tokens) > maxTargets:
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s has a SELECT with a list of %d items; Postgres takes at most %d.", what, longList(tokens), maxTargets),
			"Ask for fewer columns, or give a list of values as one array parameter: `= ANY($1)`.")
	case len(tokens) > maxTokens:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s has %d words; at most %d are taken.", what, len(tokens), maxTokens),
			"Pass data as params: `column = ANY($1)`.")
	}
	return nil
}

// longList gives the length of the longest list behind SELECT, FROM, GROUP BY or ORDER BY, counted at the
// commas outside its brackets: such a text is refused in the end, and parsing it is a hundred times the work.
// It may count short, where a word such as FROM stands within an item. Rows of VALUES are no such list.
func longList(tokens []token) int {
	longest := 0
	items := []int{0} // of the list at hand at each depth, 0 for none
	for _, t := range tokens {
		top := &items[len(items)-1]
		switch t.kind {
		case pg.Token_ASCII_40, pg.Token_ASCII_91:
			items = append(items, 0)
		case pg.Token_ASCII_41, pg.Token_ASCII_93:
			if len(items) > 1 {
				items = items[:len(items)-1]
			}
		case pg.Token_SELECT:
			*top = 1
		case pg.Token_FROM, pg.Token_GROUP_P, pg.Token_ORDER, pg.Token_WINDOW, pg.Token_DISTINCT, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT:
			*top = min(*top, 1)
		case pg.Token_VALUES:
			*top = 0
		case pg.Token_ASCII_44:
			if *top > 0 {
				*top++
				longest = max(longest, *top)
			}
		}
	}
	return longest
}

// deepens tells whether a token can be one more level of the tree when it is repeated.
func deepens(t token) bool {
	switch t.kind {
	case pg.Token_Op, pg.Token_TYPECAST, pg.Token_LESS_EQUALS, pg.Token_GREATER_EQUALS, pg.Token_NOT_EQUALS,
		pg.Token_ASCII_43, pg.Token_ASCII_45, pg.Token_ASCII_42, pg.Token_ASCII_47, pg.Token_ASCII_37,
		pg.Token_ASCII_94, pg.Token_ASCII_60, pg.Token_ASCII_61, pg.Token_ASCII_62:
		return true
	case pg.Token_NOT, pg.Token_IS, pg.Token_ISNULL, pg.Token_NOTNULL, pg.Token_IN_P, pg.Token_LIKE, pg.Token_ILIKE,
		pg.Token_SIMILAR, pg.Token_BETWEEN, pg.Token_COLLATE, pg.Token_AT, pg.Token_OPERATOR, pg.Token_ESCAPE,
		pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT, pg.Token_JOIN, pg.Token_OVERLAPS,
		pg.Token_SELECT, pg.Token_ARRAY, pg.Token_ROW, pg.Token_WITH, pg.Token_EXPLAIN:
		return true
	}
	return false
}
