package sqlguard

import (
	"sort"
	"strings"
)

// nearNames gives up to three existing names that resemble n, best first, as SQL.
func nearNames(n Name, have []Name) []string {
	type scored struct {
		text string
		cost int
	}
	var list []scored
	for _, h := range have {
		cost := distance(strings.ToLower(n.Name), strings.ToLower(h.Name))
		long := max(len(n.Name), len(h.Name))
		within := strings.Contains(h.Name, n.Name) || strings.Contains(n.Name, h.Name)
		if cost > 2 && cost > long/3 && (!within || len(n.Name) < 3) {
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
	for i, s := range list {
		if i == 3 {
			break
		}
		out = append(out, s.text)
	}
	return out
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
