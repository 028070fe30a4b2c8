package sqlguard

import (
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// operator works out an expression with an operator of the system. The operators of the standard
// types are meant; a database that redefines = for its own types is not what this is for.
func (e evaluator) operator(x *pg.A_Expr) value {
	op := symbol(x)
	switch x.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		if x.Lexpr == nil {
			if n := e.eval(x.Rexpr).asNumber(); n != nil && op == "-" {
				return value{kind: 'n', n: new(big.Rat).Neg(n)}
			}
			return value{}
		}
		if op == "+" || op == "-" || op == "*" {
			return arithmetic(op, e.eval(x.Lexpr), e.eval(x.Rexpr))
		}
		if (op == "~" || op == "~*") && e.matchesAll(x, ".*", "", "^", "$", "^.*$", ".*$", "^.*") {
			return boolean(yes)
		}
		return boolean(e.compare(op, x.Lexpr, x.Rexpr))
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		if a, b := e.eval(x.Lexpr), e.eval(x.Rexpr); a.kind == '0' && b.kind == '0' {
			return boolean(yes)
		}
		if pure(x.Lexpr) && sameTree(x.Lexpr, x.Rexpr) {
			return boolean(yes)
		}
		return boolean(e.compare("=", x.Lexpr, x.Rexpr))
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		if (op == "~~" || op == "~~*") && e.matchesAll(x, "%", "%%") {
			return boolean(yes)
		}
	case pg.A_Expr_Kind_AEXPR_IN:
		return boolean(e.in(op, x.Lexpr, x.Rexpr.GetList().GetItems()))
	case pg.A_Expr_Kind_AEXPR_OP_ANY:
		if arr := x.Rexpr.GetAArrayExpr(); arr != nil && op == "=" {
			return boolean(e.in("=", x.Lexpr, arr.Elements))
		}
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		if b := x.Rexpr.GetList().GetItems(); len(b) == 2 &&
			e.compare(">=", x.Lexpr, b[0]) == yes && e.compare("<=", x.Lexpr, b[1]) == yes {
			return boolean(yes)
		}
	}
	return value{}
}

func (e evaluator) matchesAll(x *pg.A_Expr, patterns ...string) bool {
	p := e.eval(x.Rexpr)
	return p.kind == 's' && contains(patterns, p.s) && e.notNull(x.Lexpr)
}

func arithmetic(op string, a, b value) value {
	x, y := a.asNumber(), b.asNumber()
	if x == nil || y == nil || a.kind == 's' && b.kind == 's' {
		return value{}
	}
	out := new(big.Rat)
	switch op {
	case "+":
		out.Add(x, y)
	case "-":
		out.Sub(x, y)
	case "*":
		out.Mul(x, y)
	}
	if out.Num().BitLen() > 256 {
		return value{}
	}
	return value{kind: 'n', n: out}
}

// in is `l IN (items)` or its negation (<>).
func (e evaluator) in(op string, l *pg.Node, items []*pg.Node) ternary {
	if op == "=" {
		for _, item := range items {
			if e.compare("=", l, item) == yes {
				return yes
			}
		}
		return unknown
	}
	for _, item := range items {
		if e.compare("=", l, item) != no {
			return unknown
		}
	}
	if op == "<>" && len(items) > 0 {
		return yes
	}
	return unknown
}

func (e evaluator) compare(op string, l, r *pg.Node) ternary {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
	default:
		return unknown
	}
	a, b := e.eval(l), e.eval(r)
	if a.kind == '0' || b.kind == '0' {
		return null
	}
	if t := compareValues(op, a, b); t != unknown {
		return t
	}
	if pure(l) && e.notNull(l) && (sameTree(l, r) || e.sameColumn(l, r)) {
		return order(op, 0)
	}
	return unknown
}

func compareValues(op string, a, b value) ternary {
	if a.kind == 0 || b.kind == 0 {
		return unknown
	}
	if a.kind == 'n' || b.kind == 'n' {
		if x, y := a.asNumber(), b.asNumber(); x != nil && y != nil {
			return order(op, x.Cmp(y))
		}
		return unknown
	}
	if a.kind == 'b' || b.kind == 'b' {
		x, y := a.asBool(), b.asBool()
		if x == unknown || y == unknown {
			return unknown
		}
		rank := map[ternary]int{no: 0, yes: 1}
		return order(op, rank[x]-rank[y])
	}
	if a.s == b.s {
		return order(op, 0)
	}
	if op == "=" || op == "<>" { // equality of text is of bytes under deterministic collations
		return order(op, strings.Compare(a.s, b.s))
	}
	return unknown
}

func order(op string, cmp int) ternary {
	ok := false
	switch op {
	case "=":
		ok = cmp == 0
	case "<>":
		ok = cmp != 0
	case "<":
		ok = cmp < 0
	case "<=":
		ok = cmp <= 0
	case ">":
		ok = cmp > 0
	case ">=":
		ok = cmp >= 0
	}
	if ok {
		return yes
	}
	return no
}

// pure tells that an expression gives the same value when it is written twice in one row.
func pure(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_AConst, *pg.Node_ColumnRef, *pg.Node_ParamRef:
		return true
	case *pg.Node_TypeCast:
		return pure(x.TypeCast.Arg)
	case *pg.Node_AExpr:
		return x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP && (x.AExpr.Lexpr == nil || pure(x.AExpr.Lexpr)) && pure(x.AExpr.Rexpr)
	case *pg.Node_FuncCall:
		// Only what is known to be a plain function of its arguments.
		parts := strs(x.FuncCall.Funcname)
		if len(parts) == 0 || !pureFunctions[parts[len(parts)-1]] {
			return false
		}
		for _, a := range x.FuncCall.Args {
			if !pure(a) {
				return false
			}
		}
		return true
	}
	return false
}

var pureFunctions = set(`lower upper abs length trim btrim coalesce`)

// notNull tells that an expression has a value in every row.
func (e evaluator) notNull(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_AConst:
		return !x.AConst.Isnull
	case *pg.Node_ParamRef:
		i := int(x.ParamRef.Number)
		return i >= 1 && i <= len(e.params) && strings.TrimSpace(string(e.params[i-1])) != "null"
	case *pg.Node_ColumnRef:
		return e.notNullColumn(strs(x.ColumnRef.Fields), len(x.ColumnRef.Fields))
	case *pg.Node_TypeCast:
		return e.notNull(x.TypeCast.Arg)
	case *pg.Node_AExpr:
		switch symbol(x.AExpr) {
		case "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "||":
			return x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP && (x.AExpr.Lexpr == nil || e.notNull(x.AExpr.Lexpr)) && e.notNull(x.AExpr.Rexpr)
		}
	case *pg.Node_FuncCall:
		parts := strs(x.FuncCall.Funcname)
		if len(parts) == 0 || !pureFunctions[parts[len(parts)-1]] {
			return false
		}
		for _, a := range x.FuncCall.Args {
			if !e.notNull(a) {
				return false
			}
		}
		return len(x.FuncCall.Args) > 0
	case *pg.Node_CoalesceExpr:
		for _, a := range x.CoalesceExpr.Args {
			if e.notNull(a) {
				return true
			}
		}
	}
	return false
}

// notNullColumn knows col, table.col and schema.table.col of the target.
func (e evaluator) notNullColumn(parts []string, fields int) bool {
	n := len(parts)
	if n == 0 || n != fields || n > 3 {
		return false
	}
	if n > 1 && parts[n-2] != e.rel.Name || n > 2 && parts[0] != e.rel.Schema {
		return false
	}
	for _, c := range e.rel.Columns {
		if c.Name == parts[n-1] {
			return c.NotNull
		}
	}
	return false
}

// sameColumn sees that customers.id and id are one.
func (e evaluator) sameColumn(l, r *pg.Node) bool {
	a, b := l.GetColumnRef(), r.GetColumnRef()
	if a == nil || b == nil {
		return false
	}
	x, y := strs(a.Fields), strs(b.Fields)
	return e.notNullColumn(x, len(a.Fields)) && e.notNullColumn(y, len(b.Fields)) && x[len(x)-1] == y[len(y)-1]
}
