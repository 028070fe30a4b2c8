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

// Unreadable lists what write names and read does not, as SQL, in the order of Entries: of such tables
// update_rows and delete_rows are refused. An empty read allowlist lacks nothing. Of a schema that read
// names only by tables it is the whole schema, since the list does not tell which tables it has.
func (a Allowlist) Unreadable(write Allowlist) []string {
	if a.Empty() {
		return nil
	}
	var out []string
	schemas, tables := write.Entries()
	for _, s := range schemas {
		if !a.schemas[s] {
			out = append(out, QuoteIdent(s)+".*")
		}
	}
	for _, n := range tables {
		if !a.Allows(n.Schema, n.Name) {
			out = append(out, n.String())
		}
	}
	return out
}
