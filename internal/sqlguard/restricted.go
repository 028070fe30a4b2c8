package sqlguard

import (
	"encoding/json"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// restricted are the columns of rel that every row which the condition chooses had to pass a test on,
// sorted: of terms joined by AND those of any, of terms joined by OR those of all. A term that is always
// true tests nothing, what is negated as a whole counts for nothing, and what stands in a sub-select is
// not the row's own, save what is compared with it. See TestRestrictedColumns.
func restricted(node *pg.Node, params []json.RawMessage, rel Relation) []string {
	if node == nil {
		return nil
	}
	found := columnsTested(node, params, rel)
	slices.Sort(found)
	return slices.Compact(found)
}

func columnsTested(node *pg.Node, params []json.RawMessage, rel Relation) []string {
	if b := node.GetBoolExpr(); b != nil {
		switch b.Boolop {
		case pg.BoolExprType_AND_EXPR:
			var out []string
			for _, a := range b.Args {
				out = append(out, columnsTested(a, params, rel)...)
			}
			return out
		case pg.BoolExprType_OR_EXPR:
			var out []string
			for i, a := range b.Args {
				branch := columnsTested(a, params, rel)
				if i == 0 {
					out = branch
					continue
				}
				out = slices.DeleteFunc(out, func(c string) bool { return !slices.Contains(branch, c) })
			}
			return out
		default:
			return nil
		}
	}
	if alwaysTrue(node, params, rel) {
		return nil
	}
	var out []string
	for _, side := range tested(node) {
		if name := ownColumn(side.column, rel); name != "" && !ofTheRow(side.with, name, rel) {
			out = append(out, name)
		}
	}
	return out
}

// side is an operand that may be a column, with what it is held against; nil is nothing.
type side struct{ column, with *pg.Node }

// ofTheRow tells that what a column is held against is made of the row itself, so that the row chooses itself:
// id = id, id = abs(id), id = n, id = (SELECT customers.id). Of a sub-select only the same column counts, where
// what stands before its dot, or a missing FROM, tells that it is the row's.
func ofTheRow(node *pg.Node, column string, rel Relation) bool {
	if node == nil {
		return false
	}
	below, own := map[*pg.ColumnRef]bool{}, false
	visit(node.ProtoReflect(), func(m protoreflect.Message) {
		s, ok := m.Interface().(*pg.SelectStmt)
		if !ok {
			return
		}
		visit(m, func(m protoreflect.Message) {
			if ref, ok := m.Interface().(*pg.ColumnRef); ok {
				below[ref] = true
				same := ownColumn(&pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: ref}}, rel) == column
				own = own || same && (len(ref.Fields) > 1 || len(s.FromClause) == 0)
			}
		})
	})
	visit(node.ProtoReflect(), func(m protoreflect.Message) {
		if ref, ok := m.Interface().(*pg.ColumnRef); ok && !below[ref] {
			own = true
		}
	})
	return own
}

// tested are the sides of a test that name what is tested: of a comparison, IN, BETWEEN, LIKE, IS NULL
// and IN (SELECT …) the operands themselves.
func tested(node *pg.Node) []side {
	switch {
	case node.GetAExpr() != nil:
		e := node.GetAExpr()
		switch e.Kind {
		case pg.A_Expr_Kind_AEXPR_OP:
			if !chooses(e) {
				return nil
			}
			return []side{{e.Lexpr, e.Rexpr}, {e.Rexpr, e.Lexpr}}
		case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
			if e.Kind == pg.A_Expr_Kind_AEXPR_IN && operatorName(e) != "=" || e.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY && operatorName(e) != "=" {
				return nil
			}
			return []side{{e.Lexpr, e.Rexpr}}
		default:
			return nil
		}
	case node.GetNullTest() != nil && node.GetNullTest().Nulltesttype == pg.NullTestType_IS_NULL:
		return []side{{node.GetNullTest().Arg, nil}}
	case node.GetSubLink() != nil && node.GetSubLink().SubLinkType == pg.SubLinkType_ANY_SUBLINK:
		return []side{{node.GetSubLink().Testexpr, node.GetSubLink().Subselect}}
	}
	return nil
}

// chooses tells the operators that choose: not <>, and nothing that only happens to give a boolean.
func chooses(e *pg.A_Expr) bool {
	return slices.Contains([]string{"=", "<", "<=", ">", ">="}, operatorName(e))
}

func operatorName(e *pg.A_Expr) string {
	if len(e.Name) == 0 {
		return ""
	}
	return e.Name[len(e.Name)-1].GetString_().GetSval()
}

// ownColumn is the column of rel that a node is, with or without casts; "" for anything else.
func ownColumn(node *pg.Node, rel Relation) string {
	for node.GetTypeCast() != nil {
		node = node.GetTypeCast().Arg
	}
	ref := node.GetColumnRef()
	if ref == nil {
		return ""
	}
	fields := ref.Fields
	switch {
	case len(fields) == 1:
	case len(fields) == 2 && fields[0].GetString_().GetSval() == rel.Name:
	case len(fields) == 3 && fields[0].GetString_().GetSval() == rel.Schema && fields[1].GetString_().GetSval() == rel.Name:
	default:
		return ""
	}
	name := fields[len(fields)-1].GetString_().GetSval()
	for _, c := range rel.Columns {
		if c.Name == name {
			return name
		}
	}
	return ""
}
