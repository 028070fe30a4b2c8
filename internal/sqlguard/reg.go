package sqlguard

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// A value of a reg* type in a text makes Postgres read the literals and parameters beside it as the same
// type (UNION, CASE, ARRAY, polymorphic functions; manual, 10.3 to 10.5), and prints any number of an
// object as its name: one query could list every hidden table. So under a read allowlist such a value may
// stand only where nothing takes its type: as the whole of an output column of the statement itself, under
// a cast to text or to a number, in a comparison for equality, as the argument of a function that wants
// it, in IS NULL, and in ORDER BY and GROUP BY. See TestNamesOfNumbersStayHidden.

// settle notes that a value stands where its type goes no further.
func (f *found) settle(nodes ...*pg.Node) {
	for _, n := range nodes {
		switch {
		case n.GetTypeCast() != nil:
			f.settled[n.GetTypeCast()] = true
		case n.GetFuncCall() != nil:
			f.settled[n.GetFuncCall()] = true
		case n.GetColumnRef() != nil:
			f.settled[n.GetColumnRef()] = true
		}
	}
}

// settleOutput is for the statement as a whole: what its columns are is what the caller gets. A set operation
// and VALUES, whose rows find a type together, have no such list.
func (f *found) settleOutput(s *pg.SelectStmt) {
	for _, t := range s.GetTargetList() {
		f.settle(t.GetResTarget().GetVal())
	}
}

// settleBelow settles what stands in a node's own positions. It runs before the node's children are seen.
func (f *found) settleBelow(m proto.Message) {
	switch n := m.(type) {
	case *pg.SelectStmt:
		f.settle(n.GroupClause...)
	case *pg.RangeFunction:
		for _, item := range n.Functions {
			for _, part := range item.GetList().GetItems() {
				if c := part.GetFuncCall(); c != nil {
					f.sources[c] = true
				}
			}
		}
	case *pg.SortBy:
		f.settle(n.Node)
	case *pg.NullTest:
		f.settle(n.Arg)
	case *pg.TypeCast:
		if keepsName(n.TypeName) {
			f.settle(n.Arg)
		}
	case *pg.FuncCall:
		if at := takesName(strs(n.Funcname), n.Args); at >= 0 {
			f.settle(n.Args[at])
			if c := n.Args[at].GetTypeCast(); c != nil && searchFunctions[strs(n.Funcname)[len(n.Funcname)-1]] && searchTypes[lastOf(c.TypeName)] {
				f.searches[c] = true // it is not shown, whatever it is
			}
		}
	case *pg.A_Expr:
		f.settleComparison(n)
	}
}

// settleComparison: = and <> of these types are those of oid, so what stands beside one is read as a number
// and never as a name. IN makes a list of one type, unless each has a type of its own.
func (f *found) settleComparison(e *pg.A_Expr) {
	if name := strs(e.Name); len(name) != 1 || name[0] != "=" && name[0] != "<>" {
		return
	}
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		f.settle(e.Lexpr, e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_IN:
		sides := append([]*pg.Node{e.Lexpr}, e.Rexpr.GetList().GetItems()...)
		if !slices.ContainsFunc(sides, func(n *pg.Node) bool { return !ownType(n) }) {
			f.settle(sides...)
		}
	}
}

func ownType(n *pg.Node) bool {
	switch {
	case n.GetTypeCast() != nil:
		return lastOf(n.GetTypeCast().TypeName) != "unknown"
	case n.GetFuncCall() != nil, n.GetColumnRef() != nil:
		return true
	}
	return false
}

var plainNames = set("text varchar name oid int4 int8")

// keepsName tells of casts that end a reg* type: to text, or to a number.
func keepsName(t *pg.TypeName) bool {
	parts := strs(t.GetNames())
	if len(parts) == 2 && parts[0] != "pg_catalog" || len(parts) < 1 || len(parts) > 2 {
		return false
	}
	return len(t.ArrayBounds) == 0 && plainNames[parts[len(parts)-1]]
}

// searchFunctions take a text search configuration, or a dictionary, first.
var searchFunctions = set(`to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_headline
json_to_tsvector jsonb_to_tsvector ts_lexize`)

var searchTypes = set("regconfig regdictionary")

func lastOf(t *pg.TypeName) string {
	if parts := strs(t.GetNames()); len(parts) > 0 {
		return parts[len(parts)-1]
	}
	return ""
}

// takesName gives the position of an argument that a function of the system takes as a name, or -1.
func takesName(name []string, args []*pg.Node) int {
	if len(args) == 0 || len(name) == 0 || len(name) == 2 && name[0] != "pg_catalog" {
		return -1
	}
	last := name[len(name)-1]
	switch {
	case searchFunctions[last] && len(args) > 1, last == "ts_debug" && len(args) > 1, last == "format_type", last == "pg_typeof", last == "count":
		return 0
	}
	if arg, ok := relationArg(last, args); ok && arg != nil {
		return slices.Index(args, arg)
	}
	return -1
}

// column notes a column that stands where its type may be taken. "*" is all of them.
func (f *found) column(n *pg.ColumnRef) {
	if f.settled[n] || len(n.Fields) == 0 {
		return
	}
	parts := strs(n.Fields)
	a := attribute{}
	if n.Fields[len(n.Fields)-1].GetAStar() != nil {
		a.field = "*"
	} else {
		a.field, parts = parts[len(parts)-1], parts[:len(parts)-1]
	}
	if len(parts) > 0 {
		a.qualifier = parts[len(parts)-1]
	}
	if f.first("col", Name{Schema: a.qualifier, Name: a.field}) {
		f.columns = append(f.columns, a)
	}
}

// join notes the names that stand for a join.
func (f *found) join(n *pg.JoinExpr) {
	for _, a := range []*pg.Alias{n.Alias, n.JoinUsingAlias} {
		if a != nil {
			f.joins[a.Aliasname] = true
			f.joinRenames = f.joinRenames || len(a.Colnames) > 0
		}
	}
}

// resultTaken tells whether something may take the type of a call's result. In FROM it is that of columns.
func (f *found) resultTaken(c call) bool {
	return !c.settled && (!c.source || len(f.columns) > 0 || f.joinRenames)
}

// namesShown refuses columns whose values are printed as names, and rows that hold them, where their type
// may be taken.
func (g *Guard) namesShown(f *found, v *verdict) error {
	if f.mixed != "" {
		return refuseMixed(f.mixed)
	}
	for _, n := range sortedNames(v.byName) {
		rel := v.byName[n]
		for _, c := range rel.Columns {
			if c.ShowsNames && f.takes(n, c.Name) {
				return refuseMixed(fmt.Sprintf("the column %s of %s, of type %s,", QuoteIdent(c.Name), QuoteName(rel.Schema, rel.Name), c.Type))
			}
		}
	}
	return nil
}

// takes tells whether the text may read a column of a relation where its type goes further, by its name or
// with the whole row. It is generous: what cannot be told apart counts.
func (f *found) takes(n Name, column string) bool {
	if f.renamed[n] || f.joinRenames {
		return true
	}
	for _, a := range f.columns {
		if f.joins[a.field] || slices.Contains(f.aliases[a.field], n) { // the whole row
			return true
		}
		if a.field != "*" && a.field != column {
			continue
		}
		known := f.aliases[a.qualifier]
		if a.qualifier == "" || f.others[a.qualifier] || len(known) == 0 || slices.Contains(known, n) {
			return true
		}
	}
	return false
}

func refuseMixed(what string) error {
	return refusal.New(refusal.FunctionNotAllowed,
		fmt.Sprintf("The text holds %s where other values could take its type; with a read allowlist a number read so could name hidden tables.", what),
		"Cast it where it stands, to text or oid: 'public.orders'::regclass::oid, pg_typeof(x)::text.")
}
