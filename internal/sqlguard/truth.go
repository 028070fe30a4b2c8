package sqlguard

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// maxJudged bounds the nodes that judging a condition looks at; a larger one counts as no constant.
const maxJudged = 10_000

// alwaysTrue tells whether a condition holds for every row of rel: true, 1 = 1, id = id on a NOT NULL
// column, $1 IS NULL with null for $1, boolean algebra over those, and the forms of truth_forms.go. It
// only ever costs the agent a confirmation, so it takes no function and no operator or cast outside the
// plain types, and is sure of what it takes: a server agrees with each. Clever tautologies are the
// thresholds' matter. Each node is looked at once. See TestConstantTrue, TestNeverConstant,
// TestConstantsHoldOnAServer and TestTruthIsLinear.
func alwaysTrue(node *pg.Node, params []json.RawMessage, rel Relation) bool {
	e := newEvaluator(node, params, rel)
	return e.eval(node).asBool() == yes && e.budget > 0
}

func newEvaluator(node *pg.Node, params []json.RawMessage, rel Relation) *evaluator {
	e := &evaluator{params: params, rel: rel, uses: map[int]int{}, budget: maxJudged}
	e.count(node)
	return e
}

// ternary is SQL's logic plus "not known here".
type ternary int

const (
	unknown ternary = iota // depends on the row, or is not worked out here
	yes
	no
	null
)

// kind says what a value is.
type kind byte

const (
	open    kind = iota // not known here
	isNull              // NULL
	isBool              // a boolean
	isNum               // an integer or decimal of an exact type
	isText              // a literal or parameter whose type its surroundings decide, or text
	isField             // a column of the target, of a plain type
	isOther             // a column of another built-in type, of which only whether it is NULL matters
	isSolid             // not known, and never NULL
)

// value is what an expression is in every row.
type value struct {
	kind  kind
	truth ternary
	num   *big.Rat
	text  string
	param int // the text is this parameter's
	col   Column
	notIt bool // NOT of a boolean column
}

func boolean(t ternary) value {
	switch t {
	case yes, no:
		return value{kind: isBool, truth: t}
	case null:
		return value{kind: isNull}
	case unknown:
	}
	return value{}
}

// asBool reads a value where a condition stands; literals are read as boolean input is (bool.c).
func (v value) asBool() ternary {
	switch v.kind {
	case isNull:
		return null
	case isBool:
		return v.truth
	case isText:
		return boolInput(v.text)
	case open, isNum, isField, isOther, isSolid:
	}
	return unknown
}

func boolInput(s string) ternary {
	s = strings.ToLower(strings.Trim(s, " \t\n\r\f\v"))
	switch {
	case s == "":
	case s == "1", s == "on", strings.HasPrefix("true", s), strings.HasPrefix("yes", s):
		return yes
	case s == "0", len(s) > 1 && strings.HasPrefix("off", s), strings.HasPrefix("false", s), strings.HasPrefix("no", s):
		return no
	}
	return unknown
}

type evaluator struct {
	params []json.RawMessage
	rel    Relation
	uses   map[int]int // how often each parameter stands in the condition
	budget int
}

func (e *evaluator) eval(node *pg.Node) value {
	if e.budget--; e.budget <= 0 {
		return value{}
	}
	switch n := node.GetNode().(type) {
	case *pg.Node_AConst:
		return constant(n.AConst)
	case *pg.Node_ParamRef:
		return e.param(int(n.ParamRef.Number))
	case *pg.Node_ColumnRef:
		return e.field(n.ColumnRef)
	case *pg.Node_TypeCast:
		return e.cast(n.TypeCast)
	case *pg.Node_BoolExpr:
		return e.logic(n.BoolExpr)
	case *pg.Node_AExpr:
		return e.operator(n.AExpr)
	case *pg.Node_NullTest:
		return e.nullTest(n.NullTest)
	case *pg.Node_BooleanTest:
		return e.boolTest(n.BooleanTest)
	}
	return e.form(node)
}

func constant(c *pg.A_Const) value {
	switch {
	case c.Isnull:
		return value{kind: isNull}
	case c.GetBoolval() != nil:
		return boolean(map[bool]ternary{true: yes, false: no}[c.GetBoolval().Boolval])
	case c.GetSval() != nil:
		return value{kind: isText, text: c.GetSval().Sval}
	case c.GetFval() != nil:
		return decimal(c.GetFval().Fval)
	case c.GetIval() != nil:
		return value{kind: isNum, num: new(big.Rat).SetInt64(int64(c.GetIval().Ival))}
	}
	return value{}
}

// decimal reads plain decimals, which are int4, int8 or numeric: exact whatever they meet. Long ones
// and other spellings are left alone.
func decimal(s string) value {
	if len(s) > 40 || strings.Trim(s, "0123456789.") != "" {
		return value{}
	}
	if r, ok := new(big.Rat).SetString(s); ok {
		return value{kind: isNum, num: r}
	}
	return value{}
}

// param is a bound value as the server gets it: text whose type the text around it decides.
func (e *evaluator) param(n int) value {
	if n < 1 || n > len(e.params) {
		return value{}
	}
	raw := strings.TrimSpace(string(e.params[n-1]))
	switch {
	case raw == "null":
		return value{kind: isNull}
	case raw == "" || raw[0] == '{' || raw[0] == '[':
		return value{}
	case raw[0] == '"':
		if json.Unmarshal([]byte(raw), &raw) != nil {
			return value{}
		}
	}
	return value{kind: isText, text: raw, param: n}
}

// cast knows literals and parameters cast to a plain type.
func (e *evaluator) cast(c *pg.TypeCast) value {
	v := e.eval(c.Arg)
	to, plain := plainCast(c.GetTypeName())
	switch {
	case !plain:
		return value{}
	case v.kind == isNull:
		return v
	case certain(v) && v.kind == isField: // a cast between plain types is strict: it fails or gives a value
		return value{kind: isSolid}
	}
	switch to {
	case "bool":
		if v.kind == isBool || v.kind == isText {
			return boolean(v.asBool())
		}
		if c.Arg.GetAConst().GetIval() != nil { // int4 alone has a cast to boolean
			return boolean(map[bool]ternary{true: yes, false: no}[v.num.Sign() != 0])
		}
	case "int4", "int8", "numeric":
		if v.kind == isText {
			v = smallInt(v.text)
		}
		if v.kind == isNum && v.num.IsInt() && v.num.Num().IsInt64() && (to != "int4" || fitsInt4(v.num)) {
			return v
		}
	case "text":
		if v.kind == isText && (v.param == 0 || e.uses[v.param] == 1) {
			return value{kind: isText, text: v.text}
		}
	default:
		if v.kind == isText && v.param == 0 { // it fails or gives a value
			return value{kind: isSolid}
		}
	}
	return value{}
}

func fitsInt4(n *big.Rat) bool {
	i := n.Num().Int64()
	return i >= math.MinInt32 && i <= math.MaxInt32
}

// plainCast gives the type of a cast to a built-in type without modifiers.
func plainCast(t *pg.TypeName) (string, bool) {
	names := strs(t.GetNames())
	if t == nil || len(t.ArrayBounds) > 0 || len(t.Typmods) > 0 || t.Setof || t.PctType ||
		len(names) == 0 || len(names) > 2 || len(names) == 2 && names[0] != "pg_catalog" {
		return "", false
	}
	name := names[len(names)-1]
	return name, plainCasts[name]
}

var plainCasts = set(`bool int2 int4 int8 numeric text date timestamp timestamptz time interval uuid float4 float8 bytea`)

// smallInt reads digits that mean the same number in every numeric type.
func smallInt(s string) value {
	if s == "" || len(s) > 7 || strings.Trim(s, "0123456789") != "" {
		return value{}
	}
	return decimal(s)
}

// logic is SQL's three-valued logic, with x OR NOT x where x has a value in every row.
func (e *evaluator) logic(b *pg.BoolExpr) value {
	switch b.Boolop {
	case pg.BoolExprType_NOT_EXPR:
		v := e.eval(b.Args[0])
		if v.kind == isField {
			v.notIt = !v.notIt
			return v
		}
		return boolean(negate(v.asBool()))
	case pg.BoolExprType_AND_EXPR:
		out := yes
		for _, a := range b.Args {
			switch t := e.eval(a).asBool(); {
			case t == no:
				return boolean(no)
			case t == unknown:
				out = unknown
			case t == null && out == yes:
				out = null
			}
		}
		return boolean(out)
	case pg.BoolExprType_OR_EXPR:
		return e.or(b.Args)
	}
	return value{}
}

// claim is what an argument of OR says about one column.
type claim struct {
	col string
	is  byte // 't' it is true, 'f' it is false, 'n' null, 'v' not null
}

func (e *evaluator) or(args []*pg.Node) value {
	out := no
	said := map[claim]bool{}
	opposite := map[byte]byte{'t': 'f', 'f': 't', 'n': 'v', 'v': 'n'}
	for i, a := range args {
		v := e.eval(a)
		switch t := v.asBool(); {
		case t == yes:
			return boolean(yes)
		case t == unknown:
			out = unknown
		case t == null && out == no:
			out = null
		}
		for j := max(0, i-maxOpposed); j < i; j++ {
			if e.opposed(args[j], a) {
				return boolean(yes)
			}
		}
		c, ok := e.claims(a, v)
		if ok && said[claim{c.col, opposite[c.is]}] {
			return boolean(yes)
		}
		said[c] = ok
	}
	return boolean(out)
}

// maxOpposed is how many neighbours of an OR's argument are looked at for its complement.
const maxOpposed = 4

// claims reads `col`, `NOT col` of a boolean column that is never null, and `col IS [NOT] NULL`.
func (e *evaluator) claims(node *pg.Node, v value) (claim, bool) {
	if v.kind == isField && v.col.NotNull && v.col.TypeOID == boolOID {
		return claim{v.col.Name, map[bool]byte{false: 't', true: 'f'}[v.notIt]}, true
	}
	if b := node.GetBooleanTest(); b != nil {
		f := e.field(b.Arg.GetColumnRef())
		is := map[pg.BoolTestType]byte{pg.BoolTestType_IS_TRUE: 't', pg.BoolTestType_IS_NOT_FALSE: 't', pg.BoolTestType_IS_FALSE: 'f', pg.BoolTestType_IS_NOT_TRUE: 'f'}[b.Booltesttype]
		return claim{f.col.Name, is}, is != 0 && f.kind == isField && f.col.NotNull && f.col.TypeOID == boolOID
	}
	t := node.GetNullTest()
	if t == nil {
		return claim{}, false
	}
	if f := e.field(t.Arg.GetColumnRef()); f.kind == isField || f.kind == isOther {
		return claim{f.col.Name, map[bool]byte{true: 'n', false: 'v'}[t.Nulltesttype == pg.NullTestType_IS_NULL]}, true
	}
	return claim{}, false
}

func negate(t ternary) ternary {
	switch t {
	case yes:
		return no
	case no:
		return yes
	case null, unknown:
	}
	return t
}

func (e *evaluator) nullTest(t *pg.NullTest) value {
	if row := t.Arg.GetRowExpr(); row != nil { // IS NOT NULL asks for every field
		full := yes
		for _, a := range row.Args {
			if !certain(e.eval(a)) {
				full = unknown
			}
		}
		if full == yes && len(row.Args) > 0 {
			return boolean(same(t.Nulltesttype == pg.NullTestType_IS_NOT_NULL))
		}
		return value{kind: isSolid}
	}
	is := unknown
	switch v := e.eval(t.Arg); {
	case v.kind == isNull:
		is = yes
	case certain(v):
		is = no
	}
	if t.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
		is = negate(is)
	}
	if is == unknown {
		return value{kind: isSolid}
	}
	return boolean(is)
}

func (e *evaluator) boolTest(t *pg.BooleanTest) value {
	v := e.eval(t.Arg)
	is := v.asBool()
	if is == unknown {
		if v.kind != isSolid && (v.kind != isField || !v.col.NotNull || v.col.TypeOID != boolOID) {
			return value{kind: isSolid}
		}
		switch t.Booltesttype {
		case pg.BoolTestType_IS_NOT_UNKNOWN:
			return boolean(yes)
		case pg.BoolTestType_IS_UNKNOWN:
			return boolean(no)
		}
		return value{kind: isSolid}
	}
	var out ternary
	switch t.Booltesttype {
	case pg.BoolTestType_IS_TRUE, pg.BoolTestType_IS_NOT_TRUE:
		out = same(is == yes)
	case pg.BoolTestType_IS_FALSE, pg.BoolTestType_IS_NOT_FALSE:
		out = same(is == no)
	case pg.BoolTestType_IS_UNKNOWN, pg.BoolTestType_IS_NOT_UNKNOWN:
		out = same(is == null)
	default:
		return value{}
	}
	switch t.Booltesttype {
	case pg.BoolTestType_IS_NOT_TRUE, pg.BoolTestType_IS_NOT_FALSE, pg.BoolTestType_IS_NOT_UNKNOWN:
		out = negate(out)
	}
	return boolean(out)
}

func same(b bool) ternary {
	if b {
		return yes
	}
	return no
}
