package sqlguard

import (
	"cmp"
	"maps"
	"slices"
)

// Entries lists what the allowlist names, sorted: tables, or schemas, never both.
func (a Allowlist) Entries() (schemas []string, tables []Name) {
	if len(a.tables) > 0 {
		return nil, slices.SortedFunc(maps.Keys(a.tables), func(x, y Name) int {
			return cmp.Or(cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Name, y.Name))
		})
	}
	return slices.Sorted(maps.Keys(a.schemas)), nil
}
