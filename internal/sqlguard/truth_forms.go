package sqlguard

import (
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// The rest of the forms that alwaysTrue works out: what picks one of several values, rows, patterns,
// sub-selects without FROM. Each operand is looked at once here too. See TestConstantTrue and
// TestConstantsHoldOnAServer.

// form knows the nodes that the evaluator's own switch does not.
func (e *evaluator) form(node *pg.Node) value {
	switch n := node.GetNode().(type) {
	case *pg.Node_CoalesceExpr:
		return e.coalesce(n.CoalesceExpr.Args)
	case *pg.Node_CaseExpr:
		return e.caseOf(n.CaseExpr)
	case *pg.Node_MinMaxExpr:
		return e.extreme(n.MinMaxExpr)
	case *pg.Node_CollateClause: // what is equal to itself is so under every collation
		if v := e.eval(n.CollateClause.Arg); v.kind == isField {
			return v
		}
	case *pg.Node_SqlvalueFunction:
		if n.SqlvalueFunction.Op != pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA {
			return value{kind: isSolid}
		}
	case *pg.Node_SubLink:
		return e.sublink(n.SubLink)
	}
	return value{}
}

// certain tells that a value is never NULL.
func certain(v value) bool {
	switch v.kind {
	case isBool, isNum, isSolid:
		return true
	case isText: // a bare parameter may be of a composite type
		return v.param == 0
	case isField, isOther:
		return v.col.NotNull && !v.notIt
	case open, isNull:
	}
	return false
}

// coalesce gives the first value where all the others keep its type, and else only that there is one.
func (e *evaluator) coalesce(args []*pg.Node) value {
	values := make([]value, 0, len(args))
	solid := false
	for _, a := range args {
		v := e.eval(a)
		if v.kind == open {
			return value{}
		}
		if v.kind != isNull {
			values = append(values, v)
		}
		solid = solid || certain(v)
	}
	if len(values) == 0 {
		return value{kind: isNull}
	}
	first, alike := values[0], true
	for _, v := range values[1:] {
		switch first.kind {
		case isField:
			alike = alike && (v.kind == isField && v.col.TypeOID == first.col.TypeOID || v.kind == isText && v.param == 0)
		case isText:
			alike = alike && (v.kind == isText && v.param == 0 && first.param == 0 || v.kind == isBool)
		default:
			alike = alike && v.kind == first.kind
		}
		if first.kind == isText && v.kind == isBool {
			first = boolean(first.asBool())
		}
	}
	switch {
	case alike && (len(values) == 1 || certain(first)):
		return first
	case solid:
		return value{kind: isSolid}
	}
	return value{}
}

// caseOf knows a CASE all of whose reachable results are the same boolean.
func (e *evaluator) caseOf(c *pg.CaseExpr) value {
	var arg value
	if c.Arg != nil {
		arg = e.eval(c.Arg)
	}
	var results []value
	sure := false
	for _, w := range c.Args {
		when := w.GetCaseWhen()
		test := e.eval(when.GetExpr())
		hit := test.asBool()
		if c.Arg != nil {
			hit = e.compare("=", arg, test)
		}
		result := e.eval(when.GetResult())
		if hit == no || hit == null || sure {
			continue
		}
		results = append(results, result)
		sure = hit == yes
	}
	switch {
	case sure:
	case c.Defresult == nil:
		results = append(results, value{kind: isNull})
	default:
		results = append(results, e.eval(c.Defresult))
	}
	for _, r := range results {
		if r.kind != isBool || r.truth != results[0].truth {
			return value{}
		}
	}
	return results[0]
}

// extreme is GREATEST and LEAST of numbers or of booleans; they pass over NULL.
func (e *evaluator) extreme(m *pg.MinMaxExpr) value {
	op := ">"
	if m.Op == pg.MinMaxOp_IS_LEAST {
		op = "<"
	}
	var best value
	for _, a := range m.Args {
		v := e.eval(a)
		switch {
		case v.kind == isNull:
		case v.kind != isBool && v.kind != isNum, best.kind != open && best.kind != v.kind:
			return value{}
		case best.kind == open || e.compare(op, v, best) == yes:
			best = v
		}
	}
	return best
}

// arithmetic works out + - * of numbers and || of texts.
func (e *evaluator) arithmetic(op string, a, b value) value {
	if a.kind == isText && b.kind == isText && op == "||" {
		if a.param != 0 && e.uses[a.param] != 1 || b.param != 0 && e.uses[b.param] != 1 {
			return value{}
		}
		return value{kind: isText, text: a.text + b.text}
	}
	if a.kind != isNum || b.kind != isNum {
		return value{}
	}
	out := new(big.Rat)
	switch op {
	case "+":
		out.Add(a.num, b.num)
	case "-":
		out.Sub(a.num, b.num)
	case "*":
		out.Mul(a.num, b.num)
	default:
		return value{}
	}
	return value{kind: isNum, num: out}
}

// distinct is IS DISTINCT FROM, which is never NULL.
func (e *evaluator) distinct(a, b value) ternary {
	switch {
	case a.kind == isNull && b.kind == isNull, e.sameField(a, b):
		return no
	case a.kind == isNull && certain(b), b.kind == isNull && certain(a):
		return yes
	case a.kind == isNull || b.kind == isNull:
		return unknown
	}
	return negate(e.compare("=", a, b))
}

// like is LIKE and ILIKE over literals, and over a column with a pattern that takes everything.
func (e *evaluator) like(op string, l, p value) ternary {
	negated := strings.HasPrefix(op, "!")
	var is ternary
	switch {
	case p.kind != isText || !likeOperators[op]:
		return unknown
	case l.kind == isField && l.col.NotNull && textTypes[l.col.TypeOID] && p.text != "" && strings.Trim(p.text, "%") == "":
		is = yes
	case l.kind == isText && l.param != 0 && e.uses[l.param] != 1, p.param != 0 && e.uses[p.param] != 1:
		return unknown
	case l.kind == isText && strings.Trim(p.text, "%") == "" && (p.text != "" || l.text == ""):
		is = yes
	case l.kind == isText && !strings.ContainsAny(p.text, `%_\`):
		text, pattern := l.text, p.text
		if strings.HasSuffix(op, "*") {
			text, pattern = strings.ToLower(text), strings.ToLower(pattern)
			if text != pattern {
				return unknown // the locale decides what is one letter
			}
		}
		is = same(text == pattern)
	default:
		return unknown
	}
	if negated {
		return negate(is)
	}
	return is
}

var likeOperators = set(`~~ ~~* !~~ !~~*`)

// anyPattern are regular expressions that every text matches.
var anyPattern = map[string]bool{"": true, "^": true, "$": true, ".*": true, "^.*": true, ".*$": true, "^.*$": true}

// rows compares two rows field by field, for equality.
func (e *evaluator) rows(a, b *pg.RowExpr, equal func(value, value) ternary) ternary {
	if len(a.Args) != len(b.Args) || len(a.Args) == 0 {
		return unknown
	}
	out := yes
	for i := range a.Args {
		switch t := equal(e.eval(a.Args[i]), e.eval(b.Args[i])); {
		case t == no:
			out = no
		case t != yes && out == yes:
			out = unknown
		}
	}
	return out
}

// array is x op ANY (ARRAY[…]) and ALL, where the elements cannot change the type of what they meet.
func (e *evaluator) array(op string, all bool, left *pg.Node, items []*pg.Node) ternary {
	l := e.eval(left)
	out := same(all)
	for _, item := range items {
		v := e.eval(item)
		if !(e.sameField(l, v) || l.kind == v.kind && (v.kind == isNum || v.kind == isText) || l.kind == isField && v.kind == isNum) {
			return unknown
		}
		switch t := e.compare(op, l, v); {
		case t != yes && t != no:
			out = unknown
		case all && t == no, !all && t == yes:
			return t
		}
	}
	return out
}

// sublink knows sub-selects that give one row of their own: no FROM, no grouping, no limit.
func (e *evaluator) sublink(s *pg.SubLink) value {
	sel, exists := oneRow(s.GetSubselect().GetSelectStmt()), s.SubLinkType == pg.SubLinkType_EXISTS_SUBLINK
	if sel == nil {
		return value{}
	}
	targets := sel.TargetList
	if len(sel.ValuesLists) > 0 {
		targets = sel.ValuesLists[0].GetList().GetItems()
	}
	var values []value
	for _, t := range targets {
		n := t
		if rt := t.GetResTarget(); rt != nil {
			n = rt.Val
		}
		if exists && n.GetAConst() == nil { // a function could give no row
			return value{}
		}
		values = append(values, e.eval(n))
	}
	here := yes
	if sel.WhereClause != nil {
		here = e.eval(sel.WhereClause).asBool()
	}
	switch {
	case exists && (here == no || here == null):
		return boolean(no)
	case here != yes:
		return value{}
	case exists:
		return boolean(yes)
	case len(values) != 1 || values[0].kind == isText:
		return value{}
	}
	switch s.SubLinkType {
	case pg.SubLinkType_EXPR_SUBLINK:
		return values[0]
	case pg.SubLinkType_ANY_SUBLINK, pg.SubLinkType_ALL_SUBLINK:
		op := "="
		if names := strs(s.OperName); len(names) == 1 {
			op = names[0]
		} else if len(names) > 1 {
			return value{}
		}
		return boolean(e.compare(op, e.eval(s.Testexpr), values[0]))
	}
	return value{}
}

// oneRow gives a select of nothing but a list and a WHERE, or of one row of VALUES.
func oneRow(sel *pg.SelectStmt) *pg.SelectStmt {
	if sel == nil || len(sel.DistinctClause)+len(sel.FromClause)+len(sel.GroupClause)+len(sel.WindowClause)+len(sel.SortClause)+len(sel.LockingClause) > 0 ||
		sel.IntoClause != nil || sel.HavingClause != nil || sel.LimitOffset != nil || sel.LimitCount != nil || sel.WithClause != nil ||
		sel.Larg != nil || sel.Rarg != nil || len(sel.ValuesLists) > 1 {
		return nil
	}
	return sel
}

// opposed tells that of two comparisons one holds in every row: a column that is never NULL, one literal,
// and an operator with its complement.
func (e *evaluator) opposed(a, b *pg.Node) bool {
	x, negX := comparison(a)
	y, negY := comparison(b)
	if x == nil || y == nil || !sameTree(x.Lexpr, y.Lexpr) || !sameTree(x.Rexpr, y.Rexpr) {
		return false
	}
	f, c := e.field(x.Lexpr.GetColumnRef()), x.Rexpr.GetAConst()
	if f.kind != isField || !f.col.NotNull || c == nil || c.Isnull {
		return false
	}
	first, second := strs(x.Name)[0], strs(y.Name)[0]
	if negX {
		first = complement[first]
	}
	if negY {
		second = complement[second]
	}
	return first != "" && complement[first] == second
}

var complement = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

func comparison(n *pg.Node) (*pg.A_Expr, bool) {
	negated := false
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_NOT_EXPR {
		n, negated = b.Args[0], true
	}
	x := n.GetAExpr()
	if x == nil || x.Kind != pg.A_Expr_Kind_AEXPR_OP || len(x.Name) != 1 || x.Lexpr == nil || x.Rexpr == nil {
		return nil, false
	}
	return x, negated
}
