package strictjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unknown names the key and helps: the likely word, else the words there are.
func unknown(path, name string, known []string) *Error {
	message := fmt.Sprintf("unknown field %s", strconv.Quote(clip(name)))
	if near := Nearest(name, known); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else if len(known) == 0 {
		message += "; there are none here"
	} else if len(known) <= 24 {
		message += "; known here: " + strings.Join(known, ", ")
	}
	return &Error{Path: path, Field: name, Message: message}
}

func clip(name string) string {
	if utf8.RuneCountInString(name) <= 64 {
		return name
	}
	return string([]rune(name)[:64]) + "…"
}

// Nearest is the word among known that name was probably meant to be, "" if none is near. Case
// and the signs _ - do not count; otherwise about one slip in three letters is forgiven.
func Nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, bestAt := "", 1<<30
	for _, candidate := range known {
		a, b := fold(name), fold(candidate)
		limit := max(1, max(len(a), len(b))/3)
		if d := distance(a, b); d <= limit && d < bestAt && d < max(len(a), len(b)) {
			best, bestAt = candidate, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
}

// distance counts insertions, deletions, replacements and swaps of neighbours (optimal string
// alignment).
func distance(s, t string) int {
	a, b := []rune(s), []rune(t)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
