package sqlguard

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// oneLine writes tokens again: each exactly as it was spelt, one space wherever white space or a
// comment stood, nothing where there was none. Line breaks inside literals stay: they are data.
func oneLine(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && t.gap {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// trim drops semicolons at both ends. One at the beginning ends an empty statement for the parser, and
// behind a prefix of ours it would be a syntax error.
func trim(tokens []token) []token {
	for len(tokens) > 0 && tokens[0].kind == pg.Token_ASCII_59 {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].kind == pg.Token_ASCII_59 {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

// clean measures text and gives it back on one line without comments, together with its tokens; of a
// whole statement the semicolons at both ends are dropped as well. It
// scans its own output again and insists on the same tokens, so that nothing it removed mattered.
func clean(what, text string, statement bool) (string, []token, error) {
	tokens, err := scan(what, text)
	if err != nil {
		return "", nil, err
	}
	if slices.ContainsFunc(tokens, piecewise) {
		return "", nil, refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s holds a string literal that continues over a line break.", what),
			"Write the literal in one piece, or join pieces with ||.")
	}
	if statement {
		tokens = trim(tokens)
	}
	line := oneLine(tokens)
	again, err := scan(what, line)
	if err != nil {
		return "", nil, err
	}
	same := len(again) == len(tokens)
	for i := 0; same && i < len(tokens); i++ {
		same = tokens[i].kind == again[i].kind && tokens[i].text == again[i].text
	}
	if !same {
		return "", nil, refusal.New(refusal.InvalidInput,
			fmt.Sprintf("The %s reads differently without its comments.", what), "Remove the comments.")
	}
	return line, again, nil
}

// piecewise tells whether a literal is written as 'a'⏎'b' (manual, 4.1.2.1): one token, whose inner
// line break and possible comment must not be touched.
func piecewise(t token) bool {
	switch t.kind {
	case pg.Token_SCONST, pg.Token_USCONST, pg.Token_BCONST, pg.Token_XCONST:
	default:
		return false
	}
	start := strings.IndexByte(t.text, '\'')
	if start < 0 {
		return false // dollar quotes
	}
	prefix := t.text[:start]
	if strings.HasPrefix(t.text, "$") {
		return false
	}
	escapes := prefix == "e" || prefix == "E"
	for i := start + 1; i < len(t.text); i++ {
		switch {
		case escapes && t.text[i] == '\\':
			i++
		case t.text[i] != '\'':
		case i+1 < len(t.text) && t.text[i+1] == '\'':
			i++
		default:
			return i != len(t.text)-1
		}
	}
	return false
}

// checkNumbers refuses spellings of numbers that servers before 16 read as a number and a name:
// there `select 0xFF` answers 0 under the column name xff.
func checkNumbers(what string, tokens []token, version int) error {
	if version >= 160000 {
		return nil
	}
	for _, t := range tokens {
		if t.kind != pg.Token_ICONST && t.kind != pg.Token_FCONST {
			continue
		}
		if strings.ContainsAny(t.text, "_xXoObB") {
			return refusal.New(refusal.InvalidInput,
				fmt.Sprintf("The %s writes a number as %s, which this server (before Postgres 16) reads as something else.", what, t.text),
				"Write the number in plain decimal digits.")
		}
	}
	return nil
}

// checkReserved refuses names that the statements built around the text use themselves.
func checkReserved(what string, tokens []token) error {
	for i, t := range tokens {
		switch t.kind {
		case pg.Token_IDENT:
		case pg.Token_UIDENT:
			// An escape could spell any name, with a character of the text's own choice.
			if strings.Contains(t.text, `\`) || i+1 < len(tokens) && tokens[i+1].kind == pg.Token_UESCAPE {
				return refusal.New(refusal.InvalidInput,
					fmt.Sprintf("The %s spells the name %s with escapes.", what, t.text), "Write the name itself in double quotes.")
			}
		default:
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(fold(t.text), "u&"), `"`)
		if strings.HasPrefix(name, reservedPrefix) {
			return refusal.New(refusal.InvalidInput,
				fmt.Sprintf("The %s uses the name %s; names that start with %s belong to this server.", what, t.text, reservedPrefix),
				"Use another alias or name; U& escapes in names are not taken here.")
		}
	}
	return nil
}
