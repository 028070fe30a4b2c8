package ask

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden says whether a character would not be seen, or would move others: controls (the line break
// too: text from outside must not begin a line of ours), formats (bidi, zero width, tags), separators,
// unassigned and private ones, and letters that are drawn as nothing. The page shows the same ones.
func hidden(r rune) bool {
	return r == utf8.RuneError || r != ' ' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u2800'
}

// inert makes text from outside fit to stand in one line of a question. See TestInert.
func inert(s string) string {
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// clip bounds a text, in characters. Its end is kept too: what a statement does may stand there.
func clip(s string, most int) string {
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	all := []rune(s)
	tail := most / 4
	head := most - tail
	return fmt.Sprintf("%s … (%d characters are left out here) … %s", string(all[:head]), n-most, string(all[n-tail:]))
}

// quote is one line of text from outside, bounded and inert.
func quote(s string, most int) string { return inert(clip(s, most)) }

// actor is how an answer of this client is recorded. The name is the client's own word, so it says by
// which channel and not by whom.
func actor(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, name))
	if name == "" {
		name = "unknown"
	}
	if all := []rune(name); len(all) > maxName {
		name = string(all[:maxName])
	}
	return "elicitation:" + name
}
