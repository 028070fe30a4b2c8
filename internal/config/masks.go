package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
)

// masks reads the setting mask; what is wrong in an entry is blamed by its number, from 0 as in the file. A
// column that is masked twice is a mistake: one of the two would be ignored.
func (l *loader) masks() []sqlguard.Mask {
	given, _ := l.v.Get("mask").([]mask)
	var out []sqlguard.Mask
	for i, g := range given {
		key := fmt.Sprintf("mask[%d]", i)
		if !slices.Contains(sqlguard.MaskWays(), sqlguard.MaskAs(g.As)) {
			l.problemIn(key+".as", "mask", "%q is not one of null, hash, partial", g.As)
			continue
		}
		m, err := sqlguard.ParseMask(g.Column, sqlguard.MaskAs(g.As))
		if err != nil {
			l.problemIn(key+".column", "mask", "%v", err)
			continue
		}
		if first := slices.IndexFunc(out, func(o sqlguard.Mask) bool {
			return o.Schema == m.Schema && o.Table == m.Table && o.Column == m.Column
		}); first >= 0 {
			l.problemIn(key+".column", "mask", "%s is masked twice", m)
			continue
		}
		out = append(out, m)
	}
	return out
}

// masked lists masks for people.
func masked(list []sqlguard.Mask) string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = fmt.Sprintf("%s (%s)", m, m.As)
	}
	return strings.Join(out, ", ")
}
