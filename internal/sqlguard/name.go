package sqlguard

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// maxIdent is NAMEDATALEN - 1: Postgres cuts longer names silently (manual, 4.1.1), and a cut name
// may be another table's. They are refused instead.
const maxIdent = 63

// reservedPrefix starts the aliases that the statements built around agent text use; agent text may
// not use such names, since they could capture a reference.
const reservedPrefix = "sw_"

// reservedAliases are the aliases in use. A target may not have a column of that name even when the
// text does not mention it.
var reservedAliases = map[string]bool{
	"sw_m": true, "sw_s": true, "sw_o": true, "sw_r": true, "sw_c": true, "sw_x": true,
	"sw_t": true, "sw_n": true, "sw_one": true,
}

// String writes the name as SQL.
func (n Name) String() string { return QuoteName(n.Schema, n.Name) }

// ParseName reads "table" or "schema.table" as Postgres reads it: unquoted parts are folded, parts
// in double quotes are taken as written, dots inside quotes do not separate. White space around the
// whole is ignored. It refuses (INVALID_TABLE_NAME) everything else: three parts, U&"…", names
// longer than 63 bytes, and text that is more than a name.
func ParseName(text string) (Name, error) {
	written, quoted, err := splitName(text)
	if err != nil {
		return Name{}, err
	}
	parts := make([]string, len(written))
	for i := range written {
		parts[i] = written[i]
		if !quoted[i] {
			parts[i] = fold(written[i])
		}
	}
	if len(parts) == 1 {
		return Name{Name: parts[0]}, nil
	}
	return Name{Schema: parts[0], Name: parts[1]}, nil
}

// writtenName is the name with the case it was written in, for the second look of ResolveTable.
func writtenName(text string) Name {
	parts, _, err := splitName(text)
	switch {
	case err != nil:
		return Name{}
	case len(parts) == 1:
		return Name{Name: parts[0]}
	default:
		return Name{Schema: parts[0], Name: parts[1]}
	}
}

func splitName(text string) (parts []string, quoted []bool, err error) {
	bad := func(why string) ([]string, []bool, error) {
		return nil, nil, refusal.New(refusal.InvalidTableName,
			fmt.Sprintf("%s is not a table name: %s", shown(text), why),
			`Write it as table or schema.table, with double quotes around parts that need them, e.g. app."Order Items".`)
	}
	rest := strings.TrimSpace(text)
	if rest == "" {
		return bad("it is empty")
	}
	if !utf8.ValidString(rest) || strings.ContainsRune(rest, 0) {
		return bad("it holds bytes that are not UTF-8 text")
	}
	for {
		var part string
		isQuoted := strings.HasPrefix(rest, `"`)
		if isQuoted {
			var ok bool
			if part, rest, ok = quotedPart(rest); !ok {
				return bad("a double quote is not closed")
			}
		} else {
			n := 0
			for n < len(rest) && identByte(rest[n], n == 0) {
				n++
			}
			part, rest = rest[:n], rest[n:]
			if (part == "U" || part == "u") && strings.HasPrefix(rest, "&") {
				return bad(`the U&"…" form is not taken here`)
			}
		}
		switch {
		case part == "":
			return bad("a part is empty or starts with a character that needs double quotes")
		case len(part) > maxIdent:
			return bad("a part is longer than 63 bytes")
		}
		parts, quoted = append(parts, part), append(quoted, isQuoted)
		if rest == "" {
			break
		}
		if rest[0] != '.' {
			return bad("it holds characters that need double quotes, or more than a name")
		}
		rest = rest[1:]
	}
	if len(parts) > 2 {
		return bad("it has more than two parts; the database is the one this server is connected to")
	}
	return parts, quoted, nil
}

// quotedPart reads a "…" part with "" for a quote inside.
func quotedPart(s string) (part, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return b.String(), s[i+1:], true
	}
	return "", "", false
}

func identByte(c byte, first bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
		return true
	case c >= '0' && c <= '9', c == '$':
		return !first
	}
	return false
}

// shown quotes agent text for a message, shortened.
func shown(s string) string {
	const most = 80
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return fmt.Sprintf("%q", s)
}
