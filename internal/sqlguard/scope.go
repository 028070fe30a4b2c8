package sqlguard

import (
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// scope is what the functions of a read may have touched besides what its text names: what may be read.
// Without functions that touch anything the answer is nothing, the narrowest and cheapest. See
// TestFunctionsMayReadWhatIsReadable.
func (g *Guard) scope(v *verdict) wire.Scope {
	s := g.readScope(v)
	if g.masks.on() && !s.Any {
		s.Masks = g.masks.text
	}
	return s
}

func (g *Guard) readScope(v *verdict) wire.Scope {
	switch {
	case !v.outside && !v.prints:
		return wire.Scope{}
	case g.policy.Read.Empty():
		// Printing a definition locks what it speaks of and reads no row of it.
		return wire.Scope{Any: !v.outside, All: v.outside}
	}
	return g.policy.Read.scope()
}

// scope are the entries, for the server to judge by.
func (a Allowlist) scope() wire.Scope {
	schemas, tables := a.Entries()
	s := wire.Scope{Schemas: schemas}
	for _, n := range tables {
		s.TableSchemas, s.Tables = append(s.TableSchemas, n.Schema), append(s.Tables, n.Name)
	}
	return s
}

// describes tells of functions of the system that may lock the relation they describe.
func describes(name string) bool {
	return relationArgument[name] || unseenFunction(name) || strings.HasPrefix(name, "pg_get_") || strings.HasPrefix(name, "_pg_")
}
