package sqlguard

import (
	"slices"
	"sort"
	"strings"
)

// maxNear is how many names a hint suggests.
const maxNear = 3

// nearNames gives up to three existing names that resemble n, best first, as SQL.
func nearNames(n Name, have []Name) []string {
	type scored struct {
		text string
		cost int
	}
	var list []scored
	for _, h := range have {
		cost, ok := likeness(n.Name, h.Name)
		if !ok {
			continue
		}
		cost *= 2
		if n.Schema != "" && n.Schema != h.Schema {
			cost++
		}
		list = append(list, scored{h.String(), cost})
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].cost != list[j].cost {
			return list[i].cost < list[j].cost
		}
		return list[i].text < list[j].text
	})
	var out []string
	for _, s := range list {
		if len(out) < maxNear && !slices.Contains(out, s.text) {
			out = append(out, s.text)
		}
	}
	return out
}

// likeness tells whether two names could be meant for each other, and how far apart they are: a third of
// the letters may differ, two of a short name that begins alike, or the one holds the other.
func likeness(a, b string) (cost int, ok bool) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	cost = distance(a, b)
	short, long := min(len(a), len(b)), max(len(a), len(b))
	alikeStart := short > 0 && a[0] == b[0]
	switch {
	case cost <= long/3, cost == 1 && long > 2, cost == 2 && (long > 4 || long > 2 && alikeStart):
		return cost, true
	}
	return cost, short >= 3 && (strings.Contains(b, a) || strings.Contains(a, b))
}

// nearSchemas gives the schemas of have that resemble n's, when n's is none of them.
func nearSchemas(n Name, have []Name) []string {
	if n.Schema == "" {
		return nil
	}
	var schemas []Name
	seen := map[string]bool{}
	for _, h := range have {
		if h.Schema == n.Schema {
			return nil
		}
		if !seen[h.Schema] {
			seen[h.Schema] = true
			schemas = append(schemas, Name{Name: h.Schema})
		}
	}
	return nearNames(Name{Name: n.Schema}, schemas)
}

// NearNames gives up to three of have that resemble n, best first, quoted as SQL needs it. The caller
// gives it only names that may be seen.
func NearNames(n Name, have []Name) []string { return nearNames(n, have) }

// Alike tells whether a name could be meant for another one, which is quoted as SQL needs it.
func Alike(name, quoted string) bool {
	n, err := ParseName(quoted)
	if err != nil {
		return false
	}
	_, ok := likeness(name, n.Name)
	return ok
}

// NearColumns gives those of rels' columns that resemble name, quoted as SQL needs it, with their table
// where there is more than one; of a single table that has none like it, all (up to 20).
func NearColumns(name string, rels []Relation) []string {
	if len(rels) == 1 {
		return nearColumn(name, rels[0].Columns)
	}
	var have []Name
	of := map[string]string{}
	for _, r := range rels {
		for _, c := range r.Columns {
			n := Name{Name: c.Name}
			have = append(have, n)
			if t := QuoteName(r.Schema, r.Name); of[n.String()] == "" {
				of[n.String()] = t
			} else if !strings.Contains(of[n.String()], t) {
				of[n.String()] += " and " + t
			}
		}
	}
	near := nearNames(Name{Name: name}, have)
	for i, n := range near {
		near[i] = n + " (of " + of[n] + ")"
	}
	return near
}

// nearColumn gives the columns that resemble name, or all of a small table.
func nearColumn(name string, cols []Column) []string {
	have := make([]Name, 0, len(cols))
	for _, c := range cols {
		have = append(have, Name{Name: c.Name})
	}
	if near := nearNames(Name{Name: name}, have); len(near) > 0 {
		return near
	}
	var out []string
	for i, h := range have {
		if i == 20 {
			return append(out, "…")
		}
		out = append(out, h.String())
	}
	return out
}

// WrittenAt reads the name, of up to three parts, that stands at a character position (from 1, as
// Postgres counts) of a text, and gives its last part as Postgres reads it; "" when there is none.
func WrittenAt(text string, position int) string {
	if position < 1 {
		return ""
	}
	runes := []rune(text)
	if position > len(runes) {
		return ""
	}
	rest, last := string(runes[position-1:]), ""
	for range 3 {
		var part string
		if strings.HasPrefix(rest, `"`) {
			var ok bool
			if part, rest, ok = quotedPart(rest); !ok {
				return ""
			}
		} else {
			n := 0
			for n < len(rest) && identByte(rest[n], n == 0) {
				n++
			}
			part, rest = fold(rest[:n]), rest[n:]
		}
		if part == "" {
			return ""
		}
		last = part
		if !strings.HasPrefix(rest, ".") {
			return last
		}
		rest = rest[1:]
	}
	return last
}

// NeverWritable tells that nothing in a schema is ever writable, whatever the allowlist says.
func NeverWritable(schema string) bool { return neverWritableSchema(schema) }

// distance is the number of edits between two names, over bytes, bounded by their length.
func distance(a, b string) int {
	const most = 64
	if len(a) > most {
		a = a[:most]
	}
	if len(b) > most {
		b = b[:most]
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev = cur
	}
	return prev[len(b)]
}
