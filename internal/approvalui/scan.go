package approvalui

import "strings"

// lexeme is a word of a statement, just enough to recognise its form for a sentence. It decides
// nothing: what is allowed was decided by the guard before the plan existed, and a form that is
// not recognised to its last word gets the general sentence.
type lexeme struct {
	kind rune   // 'w' word, '"' quoted identifier, '\'' string, '$' parameter, 'x' anything else
	text string // words folded to lower case, quoted identifiers without their quotes
	raw  string // as written
}

// scan splits a statement. It never fails: what it does not know becomes an 'x'.
func scan(s string) []lexeme {
	var out []lexeme
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f':
			i++
		case c == '"' || c == '\'':
			j, text := quotedEnd(s, i)
			out = append(out, lexeme{rune(c), text, s[i:j]})
			i = j
		case c == '$' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			j := i + 1
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			out = append(out, lexeme{'$', s[i+1 : j], s[i:j]})
			i = j
		case wordByte(c):
			j := i + 1
			for j < len(s) && (wordByte(s[j]) || s[j] == '$' || s[j] >= '0' && s[j] <= '9') {
				j++
			}
			out = append(out, lexeme{'w', foldASCII(s[i:j]), s[i:j]})
			i = j
		default:
			out = append(out, lexeme{'x', s[i : i+1], s[i : i+1]})
			i++
		}
	}
	return out
}

// quotedEnd returns the end of the quoted text that begins at i, and what it holds.
func quotedEnd(s string, i int) (int, string) {
	q := s[i]
	var b strings.Builder
	for j := i + 1; j < len(s); j++ {
		if s[j] != q {
			b.WriteByte(s[j])
			continue
		}
		if j+1 < len(s) && s[j+1] == q {
			b.WriteByte(q)
			j++
			continue
		}
		return j + 1, b.String()
	}
	return len(s), b.String()
}

// wordByte says whether a word may begin with c: letters, underscore and everything outside ASCII
// (manual, 4.1.1).
func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// reader walks over lexemes.
type reader struct {
	all []lexeme
	at  int
}

func (r *reader) end() bool { return r.at >= len(r.all) }

// word takes the given words, all or none.
func (r *reader) word(ws ...string) bool {
	if r.at+len(ws) > len(r.all) {
		return false
	}
	for i, w := range ws {
		if l := r.all[r.at+i]; l.kind != 'w' || l.text != w {
			return false
		}
	}
	r.at += len(ws)
	return true
}

func (r *reader) symbol(c string) bool {
	if r.end() || r.all[r.at].kind != 'x' || r.all[r.at].text != c {
		return false
	}
	r.at++
	return true
}

// param takes a parameter and returns its number as written.
func (r *reader) param() (string, bool) {
	if r.end() || r.all[r.at].kind != '$' {
		return "", false
	}
	r.at++
	return r.all[r.at-1].text, true
}

// ident takes one identifier; raw is how it was written.
func (r *reader) ident() (text, raw string, ok bool) {
	if r.end() || r.all[r.at].kind != 'w' && r.all[r.at].kind != '"' {
		return "", "", false
	}
	l := r.all[r.at]
	r.at++
	if l.kind == 'w' {
		return l.text, l.text, true // as Postgres folds it
	}
	return l.text, l.raw, true
}

// name takes a name with up to three parts; raw joins them as written.
func (r *reader) name() (last, raw string, ok bool) {
	last, raw, ok = r.ident()
	for n := 1; ok && n < 3 && r.symbol("."); n++ {
		var part string
		if last, part, ok = r.ident(); ok {
			raw += "." + part
		}
	}
	return last, raw, ok
}

// simpleEnd takes CASCADE or RESTRICT and a semicolon and says whether that is all.
func (r *reader) simpleEnd() bool {
	if !r.word("cascade") {
		r.word("restrict")
	}
	return r.semicolonEnd()
}

func (r *reader) semicolonEnd() bool {
	r.symbol(";")
	return r.end()
}

// oneAction says whether the rest holds no comma outside brackets: one action of ALTER TABLE, not a list.
func (r *reader) oneAction() bool {
	depth := 0
	for _, l := range r.all[r.at:] {
		if l.kind != 'x' {
			continue
		}
		switch l.text {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case ",":
			if depth == 0 {
				return false
			}
		}
	}
	return depth == 0
}

// hasWord says whether a word stands outside brackets.
func hasWord(all []lexeme, w string) bool {
	depth := 0
	for _, l := range all {
		switch {
		case l.kind == 'x' && l.text == "(":
			depth++
		case l.kind == 'x' && l.text == ")":
			depth--
		case depth == 0 && l.kind == 'w' && l.text == w:
			return true
		}
	}
	return false
}
