package sqlguard

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// operator works out comparisons of the plain types. Every operand is looked at once.
func (e *evaluator) operator(x *pg.A_Expr) value {
	names := strs(x.Name)
	if len(names) != 1 || x.Lexpr == nil || x.Rexpr == nil {
		return value{}
	}
	op := names[0]
	switch x.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		return boolean(e.compare(op, e.eval(x.Lexpr), e.eval(x.Rexpr)))
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		a, b := e.eval(x.Lexpr), e.eval(x.Rexpr)
		switch {
		case a.kind == isNull && b.kind == isNull, e.sameField(a, b):
			return boolean(yes)
		case a.kind == isNull || b.kind == isNull:
			return value{}
		}
		return boolean(e.compare("=", a, b))
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		l, p := e.eval(x.Lexpr), e.eval(x.Rexpr)
		if (op == "~~" || op == "~~*") && p.kind == isText && p.text != "" && strings.Trim(p.text, "%") == "" &&
			l.kind == isField && l.col.NotNull && textTypes[l.col.TypeOID] {
			return boolean(yes)
		}
	case pg.A_Expr_Kind_AEXPR_IN:
		return boolean(e.in(op, x.Lexpr, x.Rexpr.GetList().GetItems()))
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		b := x.Rexpr.GetList().GetItems()
		if len(b) != 2 {
			return value{}
		}
		v, from, to := e.eval(x.Lexpr), e.eval(b[0]), e.eval(b[1])
		if e.compare(">=", v, from) == yes && e.compare("<=", v, to) == yes {
			return boolean(yes)
		}
	}
	return value{}
}

// in is `l IN (items)` or its negation (<>). The literals of a list take one common type, so they
// count only where all are of one kind.
func (e *evaluator) in(op string, left *pg.Node, items []*pg.Node) ternary {
	l := e.eval(left)
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
	case a.kind == open || b.kind == open:
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
		if c.Name == parts[n-1] && plainTypes[c.TypeOID] {
			// Before Postgres 18 a child in plain inheritance may take NULL where its parent does not.
			c.NotNull = c.NotNull && (e.rel.Kind == 'p' || !e.rel.Inherited)
			return value{kind: isField, col: c}
		}
	}
	return value{}
}

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

// sublink knows EXISTS over a select list of constants and nothing else.
func sublink(s *pg.SubLink) value {
	sel := s.GetSubselect().GetSelectStmt()
	if s.SubLinkType != pg.SubLinkType_EXISTS_SUBLINK || sel == nil {
		return value{}
	}
	plain := true
	sel.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		switch fd.Name() {
		case "target_list", "limit_option", "op":
		default:
			plain = false
		}
		return plain
	})
	if !plain || sel.Op != pg.SetOperation_SETOP_NONE && sel.Op != pg.SetOperation_SET_OPERATION_UNDEFINED {
		return value{}
	}
	for _, t := range sel.TargetList {
		if t.GetResTarget().GetVal().GetAConst() == nil {
			return value{}
		}
	}
	return boolean(yes)
}

// count notes how often each parameter stands in the condition.
func (e *evaluator) count(m proto.Message) {
	visit(m.ProtoReflect(), func(m protoreflect.Message) {
		if p, ok := m.Interface().(*pg.ParamRef); ok {
			e.uses[int(p.Number)]++
		}
	})
}
