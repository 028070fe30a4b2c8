package sqlguard

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// operator works out comparisons of the plain types. Every operand is looked at once.
func (e *evaluator) operator(x *pg.A_Expr) value {
	names := strs(x.Name)
	if len(names) == 2 && names[0] == "pg_catalog" {
		names = names[1:]
	}
	if len(names) != 1 || x.Lexpr == nil || x.Rexpr == nil {
		return value{}
	}
	op := names[0]
	left, right := x.Lexpr.GetRowExpr(), x.Rexpr.GetRowExpr()
	switch x.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		return e.plain(op, x)
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		is := unknown
		if left != nil && right != nil {
			is = negate(e.rows(left, right, func(a, b value) ternary { return negate(e.distinct(a, b)) }))
		} else if left == nil && right == nil {
			is = e.distinct(e.eval(x.Lexpr), e.eval(x.Rexpr))
		}
		if x.Kind == pg.A_Expr_Kind_AEXPR_NOT_DISTINCT {
			is = negate(is)
		}
		if is == unknown {
			return value{kind: isSolid}
		}
		return boolean(is)
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		a, b := e.eval(x.Lexpr), e.eval(x.Rexpr)
		t := e.compare("=", a, b)
		if t == yes {
			return value{kind: isNull}
		}
		if t == no && a.kind == b.kind {
			return a
		}
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		if list := x.Rexpr.GetAArrayExpr(); list != nil && len(list.Elements) > 0 {
			return boolean(e.array(op, x.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL, x.Lexpr, list.Elements))
		}
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return boolean(e.like(op, e.eval(x.Lexpr), e.eval(x.Rexpr)))
	case pg.A_Expr_Kind_AEXPR_IN:
		return boolean(e.in(op, x.Lexpr, x.Rexpr.GetList().GetItems()))
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		b := x.Rexpr.GetList().GetItems()
		if len(b) != 2 {
			return value{}
		}
		v, from, to := e.eval(x.Lexpr), e.eval(b[0]), e.eval(b[1])
		low, high := e.compare(">=", v, from), e.compare("<=", v, to)
		if low == yes && high == yes {
			return boolean(yes)
		}
		if x.Kind == pg.A_Expr_Kind_AEXPR_BETWEEN && (low == no || high == no) {
			return boolean(no)
		}
	case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		b := x.Rexpr.GetList().GetItems()
		if len(b) != 2 {
			return value{}
		}
		v, from, to := e.eval(x.Lexpr), e.eval(b[0]), e.eval(b[1])
		if e.compare("<", v, from) == yes || e.compare(">", v, to) == yes {
			return boolean(yes)
		}
	}
	return value{}
}

// plain is an operator between two operands.
func (e *evaluator) plain(op string, x *pg.A_Expr) value {
	if l, r := x.Lexpr.GetSqlvalueFunction(), x.Rexpr.GetSqlvalueFunction(); l != nil && r != nil {
		if e.eval(x.Lexpr).kind == isSolid && sameTree(l, r) {
			return boolean(order(op, 0))
		}
		return value{}
	}
	if l, r := x.Lexpr.GetRowExpr(), x.Rexpr.GetRowExpr(); l != nil && r != nil {
		is := e.rows(l, r, func(a, b value) ternary { return e.compare("=", a, b) })
		switch {
		case op == "<>":
			return boolean(negate(is))
		case op == "=", is == yes && (op == ">=" || op == "<="):
			return boolean(is)
		}
		return value{}
	}
	a, b := e.eval(x.Lexpr), e.eval(x.Rexpr)
	if a.kind == isSolid && x.Lexpr.GetTypeCast() != nil && sameTree(x.Lexpr, x.Rexpr) { // the same cast of the same value
		return boolean(order(op, 0))
	}
	switch op {
	case "+", "-", "*", "||":
		return e.arithmetic(op, a, b)
	case "~~", "~~*", "!~~", "!~~*":
		return boolean(e.like(op, a, b))
	case "~", "~*":
		if a.kind == isField && a.col.NotNull && textTypes[a.col.TypeOID] && b.kind == isText && b.param == 0 && anyPattern[b.text] {
			return boolean(yes)
		}
		return value{}
	}
	return boolean(e.compare(op, a, b))
}

// in is `l IN (items)` or its negation (<>). The literals of a list take one common type, so they
// count only where all are of one kind.
func (e *evaluator) in(op string, left *pg.Node, items []*pg.Node) ternary {
	l := e.eval(left)
	if l.kind == isBool && op == "=" { // a list of booleans
		for _, item := range items {
			if v := e.eval(item); v.kind != isBool {
				return unknown
			} else if v.truth == l.truth {
				return yes
			}
		}
		return unknown
	}
	literals, hit := bare(left, l) && len(items) > 0, false
	for _, item := range items {
		v := e.eval(item)
		if e.sameField(l, v) && l.col.NotNull { // a column in the list is compared by itself
			return same(op == "=")
		}
		literals = literals && bare(item, v) && v.kind == l.kind
		t := e.compare("=", l, v)
		literals = literals && (t == yes || t == no)
		hit = hit || t == yes
	}
	if !literals || op != "=" && op != "<>" {
		return unknown
	}
	return same(hit == (op == "="))
}

// bare tells that a value is a literal without a cast.
func bare(n *pg.Node, v value) bool {
	return n.GetAConst() != nil && (v.kind == isNum || v.kind == isText)
}

func (e *evaluator) compare(op string, a, b value) ternary {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
	default:
		return unknown
	}
	switch {
	case a.kind == open || b.kind == open, a.kind >= isOther, b.kind >= isOther:
		return unknown
	case a.kind == isNull || b.kind == isNull:
		return null
	case a.kind == isField || b.kind == isField:
		if e.sameField(a, b) && a.col.NotNull {
			return order(op, 0)
		}
		return unknown
	case a.kind == isBool || b.kind == isBool:
		return compareBools(op, a.asBool(), b.asBool())
	case a.kind == isNum || b.kind == isNum:
		if a.kind == isText {
			a = smallInt(a.text)
		}
		if b.kind == isText {
			b = smallInt(b.text)
		}
		if a.kind == isNum && b.kind == isNum {
			return order(op, a.num.Cmp(b.num))
		}
		return unknown
	}
	return e.compareTexts(op, a, b)
}

func compareBools(op string, a, b ternary) ternary {
	rank := map[ternary]int{no: 0, yes: 1}
	if a != yes && a != no || b != yes && b != no {
		return unknown
	}
	return order(op, rank[a]-rank[b])
}

// compareTexts compares what nothing gives another type than text. A parameter that also stands
// elsewhere may get one there, in which other spellings are equal, or nothing is equal to itself.
func (e *evaluator) compareTexts(op string, a, b value) ternary {
	here := map[int]int{}
	here[a.param]++
	here[b.param]++
	for p, n := range here {
		if p != 0 && e.uses[p] != n {
			return unknown
		}
	}
	if a.text == b.text {
		return order(op, 0)
	}
	if op == "=" || op == "<>" { // the database's own collation is deterministic
		return order(op, 1)
	}
	return unknown
}

func order(op string, cmp int) ternary {
	switch op {
	case "=":
		return same(cmp == 0)
	case "<>":
		return same(cmp != 0)
	case "<":
		return same(cmp < 0)
	case "<=":
		return same(cmp <= 0)
	case ">":
		return same(cmp > 0)
	case ">=":
		return same(cmp >= 0)
	}
	return unknown
}

// field reads col, table.col and schema.table.col of the target. Only columns of plain types count:
// IS NULL looks into composite values, and a type of the database's own may have any operator.
func (e *evaluator) field(ref *pg.ColumnRef) value {
	parts := strs(ref.GetFields())
	n := len(parts)
	if n == 0 || n != len(ref.GetFields()) || n > 3 {
		return value{}
	}
	if n > 1 && parts[n-2] != e.rel.Name || n > 2 && parts[0] != e.rel.Schema {
		return value{}
	}
	for _, c := range e.rel.Columns {
		// Before Postgres 18 a child in plain inheritance may take NULL where its parent does not.
		c.NotNull = c.NotNull && (e.rel.Kind == 'p' || !e.rel.Inherited)
		switch {
		case c.Name != parts[n-1]:
		case plainTypes[c.TypeOID]:
			return value{kind: isField, col: c}
		case c.TypeOID > 0 && c.TypeOID < firstUnpinned && !rowTypes[c.TypeOID]:
			return value{kind: isOther, col: c}
		}
	}
	if oid := systemTypes[parts[n-1]]; oid != 0 && (e.rel.Kind == 'r' || e.rel.Kind == 'p') {
		return value{kind: isField, col: Column{Name: parts[n-1], TypeOID: oid, NotNull: true}}
	}
	return value{}
}

// Columns that every table has, with their types' numbers: tid, xid, cid, oid. Each has an = that holds
// for every value and itself.
var systemTypes = map[string]uint32{"ctid": 27, "xmin": 28, "xmax": 28, "cmin": 29, "cmax": 29, "tableoid": 26}

// The numbers below which only types of pg_type.dat are, and those of them whose IS NULL looks inside.
const firstUnpinned = 10_000

var rowTypes = map[uint32]bool{71: true, 75: true, 81: true, 83: true, 2249: true}

func (e *evaluator) sameField(a, b value) bool {
	return a.kind == isField && b.kind == isField && !a.notIt && !b.notIt && a.col.Name == b.col.Name
}

// The built-in scalar types whose = holds for every value and itself, by their fixed numbers
// (pg_type.dat): a name could be another type's on some search_path.
const boolOID = 16

var (
	textTypes  = map[uint32]bool{25: true, 1043: true} // text, varchar
	plainTypes = map[uint32]bool{
		boolOID: true, 17: true, 20: true, 21: true, 23: true, 25: true, 700: true, 701: true, // bytea, int8, int2, int4, text, float4, float8
		1042: true, 1043: true, 1082: true, 1083: true, 1114: true, 1184: true, 1700: true, 2950: true, // char, varchar, date, time, timestamps, numeric, uuid
	}
)

// count notes how often each parameter stands in the condition.
func (e *evaluator) count(m proto.Message) {
	visit(m.ProtoReflect(), func(m protoreflect.Message) {
		if p, ok := m.Interface().(*pg.ParamRef); ok {
			e.uses[int(p.Number)]++
		}
	})
}
