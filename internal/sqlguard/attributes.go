package sqlguard

import (
	"context"
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// attribute is x.field. It is a column of x or, where x has none of that name, a call of the function
// field with the row x. An empty qualifier stands for any expression.
type attribute struct{ qualifier, field string }

func (f *found) addField(a attribute) {
	if f.first("a", Name{Schema: a.qualifier, Name: a.field}) {
		f.fields = append(f.fields, a)
	}
}

// standsFor notes the name under which columns of an item of FROM are written.
func (f *found) standsFor(rv *pg.RangeVar, name Name, cte bool) {
	alias := rv.GetAlias().GetAliasname()
	if alias == "" {
		alias = name.Name
	}
	if cols := rv.GetAlias().GetColnames(); cte || len(cols) > 0 { // (columns, …) renames them
		f.others[alias] = true
		f.renames = f.renames || contains(strs(cols), "tableoid")
		if !cte {
			f.renamed[name] = true
		}
		return
	}
	f.alias(alias, name)
}

func (f *found) alias(alias string, name Name) {
	if f.first("s"+alias, name) {
		f.aliases[alias] = append(f.aliases[alias], name)
	}
}

// systemColumns are those that every table has (manual, 5.5).
var systemColumns = set(`tableoid xmin cmin xmax cmax ctid`)

// isColumn tells whether x.field can only be a column: whatever stands under the name x in the text is
// a relation with such a column.
func (f *found) isColumn(a attribute, relations map[Name]Relation) bool {
	names := f.aliases[a.qualifier]
	if f.others[a.qualifier] || len(names) == 0 {
		return false
	}
	for _, n := range names {
		rel, ok := relations[n]
		if !ok || !rel.hasColumn(a.field) {
			return false
		}
	}
	return true
}

func (r Relation) hasColumn(name string) bool {
	if systemColumns[name] && r.Kind != 'v' {
		return true
	}
	for _, c := range r.Columns {
		if c.Name == name {
			return true
		}
	}
	return false
}

// attributes asks for the functions that x.f may mean where x need not have a column f. It is a
// question of its own, after the columns are known: nearly every f is a column, and a name that does
// not exist is in no cache. See TestAttributeNotationHonoursTheQualifier.
func (v *verdict) attributes(ctx context.Context, cat Catalog, f *found) error {
	var q Lookup
	for _, a := range f.fields {
		if !f.isColumn(a, v.facts.Relations) && f.first("f", Name{Name: a.field}) {
			q.Functions = append(q.Functions, Name{Name: a.field})
		}
	}
	if len(q.Functions) == 0 {
		return nil
	}
	if err := few("functions", len(q.Functions), maxFunctions); err != nil {
		return err
	}
	facts, err := cat.Lookup(ctx, q, false)
	if err != nil {
		return fmt.Errorf("looking up attributes: %w", err)
	}
	v.methods = map[string][]Routine{}
	for _, n := range q.Functions {
		v.methods[n.Name] = facts.Functions[n]
		v.rely(wire.FactFunction, n.Name, facts.FunctionVersions[n.Name])
	}
	return nil
}
