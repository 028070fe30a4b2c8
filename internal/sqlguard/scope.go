package sqlguard

import (
	"sort"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// scope is what the functions of a read may have touched besides what its text names: what may be read.
// Without functions that touch anything the answer is nothing, the narrowest and cheapest. See
// TestFunctionsMayReadWhatIsReadable.
func (g *Guard) scope(v *verdict) wire.Scope {
	switch {
	case !v.outside && !v.prints:
		return wire.Scope{}
	case g.policy.Read.Empty():
		// Printing a definition locks what it speaks of and reads no row of it.
		return wire.Scope{Any: !v.outside, All: v.outside}
	}
	return g.policy.Read.scope()
}

// scope lists the entries, sorted.
func (a Allowlist) scope() wire.Scope {
	var s wire.Scope
	for schema := range a.schemas {
		s.Schemas = append(s.Schemas, schema)
	}
	sort.Strings(s.Schemas)
	tables := make([]Name, 0, len(a.tables))
	for n := range a.tables {
		tables = append(tables, n)
	}
	sort.Slice(tables, func(i, j int) bool { return tables[i].String() < tables[j].String() })
	for _, n := range tables {
		s.TableSchemas, s.Tables = append(s.TableSchemas, n.Schema), append(s.Tables, n.Name)
	}
	return s
}

// describes tells of functions of the system that may lock the relation they describe.
func describes(name string) bool {
	return relationArgument[name] || unseenFunction(name) || strings.HasPrefix(name, "pg_get_") || strings.HasPrefix(name, "_pg_")
}
