package sqlguard

import (
	"encoding/json"
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// alwaysTrue tells whether a condition holds for every row, so that it is no WHERE at all: true,
// 1 = 1, id = id on a NOT NULL column, $1 IS NULL with null for $1, x OR NOT x, and what is built from
// those. It never calls a condition true that could be false for some row of rel; that it misses
// clever tautologies is the thresholds' matter. See TestConstantTrue.
func alwaysTrue(node *pg.Node, params []json.RawMessage, rel Relation) bool {
	e := evaluator{params: params, rel: rel}
	return e.eval(node).asBool() == yes
}

// ternary is SQL's logic plus "not known here".
type ternary int

const (
	unknown ternary = iota // depends on the row, or is not worked out here
	yes
	no
	null
)

// value is a constant; kind 0 is "not known here".
type value struct {
	kind byte // 'b' bool, 'n' number, 's' text or a literal of unknown type, '0' null
	b    bool
	n    *big.Rat
	s    string
}

func boolean(t ternary) value {
	switch t {
	case yes:
		return value{kind: 'b', b: true}
	case no:
		return value{kind: 'b'}
	case null:
		return value{kind: '0'}
	}
	return value{}
}

// asBool reads a value where a condition stands; literals are read as boolean input is (bool.c).
func (v value) asBool() ternary {
	switch v.kind {
	case '0':
		return null
	case 'b':
		if v.b {
			return yes
		}
		return no
	case 's':
		s := strings.ToLower(strings.TrimSpace(v.s))
		switch {
		case s == "1" || s == "on" || s != "" && (strings.HasPrefix("true", s) || strings.HasPrefix("yes", s)):
			return yes
		case s == "0" || len(s) > 1 && strings.HasPrefix("off", s) || s != "" && (strings.HasPrefix("false", s) || strings.HasPrefix("no", s)):
			return no
		}
	}
	return unknown
}

// asNumber reads a number or a literal that looks like one.
func (v value) asNumber() *big.Rat {
	switch v.kind {
	case 'n':
		return v.n
	case 's':
		return number(strings.TrimSpace(v.s))
	}
	return nil
}

// number reads a decimal; long or huge ones are left alone.
func number(s string) *big.Rat {
	if len(s) > 40 || strings.ContainsAny(s, "eE/xXpP_") {
		return nil
	}
	if r, ok := new(big.Rat).SetString(s); ok {
		return r
	}
	return nil
}

// maxComplements bounds the pairs that OR looks at for x OR NOT x.
const maxComplements = 50

type evaluator struct {
	params []json.RawMessage
	rel    Relation
}

func (e evaluator) eval(node *pg.Node) value {
	switch n := node.GetNode().(type) {
	case *pg.Node_AConst:
		return constant(n.AConst)
	case *pg.Node_ParamRef:
		return e.param(int(n.ParamRef.Number))
	case *pg.Node_TypeCast:
		return e.cast(n.TypeCast)
	case *pg.Node_BoolExpr:
		return boolean(e.logic(n.BoolExpr))
	case *pg.Node_AExpr:
		return e.operator(n.AExpr)
	case *pg.Node_NullTest:
		return boolean(e.nullTest(n.NullTest))
	case *pg.Node_BooleanTest:
		return boolean(e.boolTest(n.BooleanTest))
	case *pg.Node_CoalesceExpr:
		for _, a := range n.CoalesceExpr.Args {
			if v := e.eval(a); v.kind != '0' {
				return v
			}
		}
		return value{kind: '0'}
	case *pg.Node_CaseExpr:
		return boolean(e.caseExpr(n.CaseExpr))
	case *pg.Node_SubLink:
		return e.sublink(n.SubLink)
	}
	return value{}
}

func constant(c *pg.A_Const) value {
	switch {
	case c.Isnull:
		return value{kind: '0'}
	case c.GetBoolval() != nil:
		return value{kind: 'b', b: c.GetBoolval().Boolval}
	case c.GetSval() != nil:
		return value{kind: 's', s: c.GetSval().Sval}
	case c.GetFval() != nil:
		if r := number(c.GetFval().Fval); r != nil {
			return value{kind: 'n', n: r}
		}
	case c.GetIval() != nil:
		return value{kind: 'n', n: new(big.Rat).SetInt64(int64(c.GetIval().Ival))}
	}
	return value{}
}

func (e evaluator) param(n int) value {
	if n < 1 || n > len(e.params) {
		return value{}
	}
	raw := strings.TrimSpace(string(e.params[n-1]))
	switch {
	case raw == "null":
		return value{kind: '0'}
	case raw == "true", raw == "false":
		return value{kind: 'b', b: raw == "true"}
	case strings.HasPrefix(raw, `"`):
		var s string
		if json.Unmarshal([]byte(raw), &s) == nil {
			return value{kind: 's', s: s}
		}
	default:
		if r := number(raw); r != nil {
			return value{kind: 'n', n: r}
		}
	}
	return value{}
}

func (e evaluator) cast(c *pg.TypeCast) value {
	v := e.eval(c.Arg)
	names := strs(c.GetTypeName().GetNames())
	if v.kind == 0 || v.kind == '0' || len(names) == 0 || len(c.TypeName.ArrayBounds) > 0 {
		return v0(v)
	}
	switch names[len(names)-1] {
	case "bool", "boolean":
		if n := v.n; v.kind == 'n' {
			return boolean(map[bool]ternary{true: yes, false: no}[n.Sign() != 0])
		}
		return boolean(v.asBool())
	case "int2", "int4", "int8", "numeric", "float4", "float8":
		if n := v.asNumber(); n != nil && n.IsInt() {
			return value{kind: 'n', n: n}
		}
	case "text", "varchar":
		if v.kind == 's' && len(c.TypeName.Typmods) == 0 {
			return v
		}
	}
	return value{}
}

// v0 keeps a null through a cast and drops everything else.
func v0(v value) value {
	if v.kind == '0' {
		return v
	}
	return value{}
}

func (e evaluator) logic(b *pg.BoolExpr) ternary {
	switch b.Boolop {
	case pg.BoolExprType_NOT_EXPR:
		return negate(e.eval(b.Args[0]).asBool())
	case pg.BoolExprType_AND_EXPR:
		out := yes
		for _, a := range b.Args {
			switch t := e.eval(a).asBool(); {
			case t == no:
				return no
			case t == unknown:
				out = unknown
			case t == null && out == yes:
				out = null
			}
		}
		return out
	case pg.BoolExprType_OR_EXPR:
		out := no
		for i, a := range b.Args {
			switch t := e.eval(a).asBool(); {
			case t == yes:
				return yes
			case t == unknown:
				out = unknown
			case t == null && out == no:
				out = null
			}
			for _, other := range b.Args[:min(i, maxComplements)] {
				if e.complement(other, a) {
					return yes
				}
			}
		}
		return out
	}
	return unknown
}

func negate(t ternary) ternary {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return t
}

// complement tells whether one of a and b holds for every row.
func (e evaluator) complement(a, b *pg.Node) bool {
	if x, y := a.GetNullTest(), b.GetNullTest(); x != nil && y != nil {
		return x.Nulltesttype != y.Nulltesttype && pure(x.Arg) && sameTree(x.Arg, y.Arg) && !isRow(x.Arg)
	}
	for range 2 {
		if n := a.GetBoolExpr(); n != nil && n.Boolop == pg.BoolExprType_NOT_EXPR &&
			pure(b) && e.notNull(b) && sameTree(n.Args[0], b) {
			return true
		}
		a, b = b, a
	}
	x, y := a.GetAExpr(), b.GetAExpr()
	if x == nil || y == nil || x.Kind != pg.A_Expr_Kind_AEXPR_OP || y.Kind != pg.A_Expr_Kind_AEXPR_OP {
		return false
	}
	against := map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	op := symbol(x)
	return op != "" && against[op] == symbol(y) && pure(a) && pure(b) && e.notNull(a) &&
		sameTree(x.Lexpr, y.Lexpr) && sameTree(x.Rexpr, y.Rexpr)
}

func isRow(n *pg.Node) bool { return n.GetRowExpr() != nil }

// symbol is the operator of an expression when it is unqualified.
func symbol(x *pg.A_Expr) string {
	if names := strs(x.Name); len(names) == 1 {
		return names[0]
	}
	return ""
}

func (e evaluator) nullTest(t *pg.NullTest) ternary {
	isNull := unknown
	switch {
	case isRow(t.Arg):
	case e.eval(t.Arg).kind == '0':
		isNull = yes
	case e.notNull(t.Arg):
		isNull = no
	}
	if t.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
		return negate(isNull)
	}
	return isNull
}

func (e evaluator) boolTest(t *pg.BooleanTest) ternary {
	v := e.eval(t.Arg).asBool()
	if v == unknown {
		switch {
		case !e.notNull(t.Arg):
		case t.Booltesttype == pg.BoolTestType_IS_NOT_UNKNOWN:
			return yes
		case t.Booltesttype == pg.BoolTestType_IS_UNKNOWN:
			return no
		}
		return unknown
	}
	want := map[pg.BoolTestType]ternary{
		pg.BoolTestType_IS_TRUE: yes, pg.BoolTestType_IS_NOT_TRUE: yes,
		pg.BoolTestType_IS_FALSE: no, pg.BoolTestType_IS_NOT_FALSE: no,
		pg.BoolTestType_IS_UNKNOWN: null, pg.BoolTestType_IS_NOT_UNKNOWN: null,
	}[t.Booltesttype]
	is := no
	if v == want {
		is = yes
	}
	switch t.Booltesttype {
	case pg.BoolTestType_IS_NOT_TRUE, pg.BoolTestType_IS_NOT_FALSE, pg.BoolTestType_IS_NOT_UNKNOWN:
		return negate(is)
	}
	return is
}

// caseExpr is true when every branch that can be taken is.
func (e evaluator) caseExpr(c *pg.CaseExpr) ternary {
	if c.Arg != nil {
		return unknown
	}
	for _, w := range c.Args {
		when := w.GetCaseWhen()
		t := e.eval(when.GetExpr()).asBool()
		if t == no || t == null {
			continue
		}
		if e.eval(when.GetResult()).asBool() != yes {
			return unknown
		}
		if t == yes {
			return yes
		}
	}
	if c.Defresult == nil {
		return unknown
	}
	if e.eval(c.Defresult).asBool() == yes {
		return yes
	}
	return unknown
}

// sublink knows sub-selects that read nothing.
func (e evaluator) sublink(s *pg.SubLink) value {
	sel := s.Subselect.GetSelectStmt()
	if sel == nil || len(sel.FromClause) > 0 || sel.WhereClause != nil || sel.HavingClause != nil ||
		sel.LimitCount != nil || sel.LimitOffset != nil || sel.Op != pg.SetOperation_SETOP_NONE ||
		sel.WithClause != nil || len(sel.GroupClause) > 0 {
		return value{}
	}
	switch s.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return boolean(yes)
	case pg.SubLinkType_EXPR_SUBLINK:
		if len(sel.TargetList) == 1 {
			return e.eval(sel.TargetList[0].GetResTarget().GetVal())
		}
	}
	return value{}
}
