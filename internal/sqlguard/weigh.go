package sqlguard

import (
	"fmt"
	"math"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Postgres copies parts of a statement while it parses and plans it: the left side of BETWEEN and of
// IN over columns, what a sub-select in FROM computes wherever it is used, sub-selects of EXISTS twice.
// Nested, the copies multiply: a line of text has filled 8 GB in a backend that looks at no timeout
// meanwhile. So the size after all copies is worked out first. It is an upper estimate; each node of the
// text is looked at once.

// maxGrowth bounds the nodes that come on top of those the text itself has. On Postgres 15 a node
// costs 0.6 to 5 kB and 2 to 20 µs until it is planned. See TestGrowthIsBounded.
const maxGrowth = 20_000

// The limits of single parts. Postgres has the first itself, but finds out after a time that is the
// square of the list; planning takes minutes for a few hundred relations.
const (
	maxTargets  = 1664 // MaxTupleAttributeNumber
	maxSources  = 200  // tables, views and functions in FROM, each use counted
	maxQuoting  = 20   // rows and arrays inside each other: each doubles the quotes of its text
	scanNodes   = 50   // what a relation costs in nodes
	systemNodes = 300  // what a view of the system costs
)

// grown is the size of an expression after copying, in nodes. push is its size where it stands in a
// condition, which Postgres may push through sub-selects that it does not merge. quoting is how deep
// rows and arrays stand in it.
type grown struct {
	size, push float64
	quoting    int
	aggregate  bool // an aggregate is called in it
	window     bool // a window function is
}

func (a grown) plus(b grown) grown {
	return grown{a.size + b.size, a.push + b.push, max(a.quoting, b.quoting), a.aggregate || b.aggregate, a.window || b.window}
}

func (a grown) times(n float64) grown {
	a.size, a.push = a.size*n, a.push*n
	return a
}

func nodes(n float64) grown { return grown{size: n, push: n} }

// field is a column of something in FROM.
type field struct {
	name string
	grown
}

// table is something in FROM under its alias. branches is how many SELECTs a UNION ALL in it has: what
// stands around it is planned for each.
type table struct {
	alias    string
	fields   []field
	branches float64
	sources  int // tables below it, of what is copied with its use
	index    map[string]grown
	whole    *grown
}

// level is the names that are visible at one depth of sub-selects.
type level struct {
	outer    *level
	byAlias  map[string]*table
	byField  map[string]grown
	tables   []*table
	ctes     map[string]*cte
	branches float64
}

// cte is a WITH query. inline says that it is copied to where it is used.
type cte struct {
	table
	weight float64
	inline bool
}

type weigher struct {
	known   *known
	views   map[uint32]*cte
	uses    map[*pg.CommonTableExpr]int
	sources int
	quoting int
	looked  int             // nodes looked at
	over    []*pg.WindowDef // windows of the SELECT at hand
	err     error
}

// checkGrowth refuses a text that Postgres would blow up. base are the relations whose columns the
// roots may use without naming them in FROM.
func checkGrowth(k *known, roots []proto.Message, base []Name) error {
	w, total, own := weigh(k, roots, base)
	switch {
	case w.err != nil:
		return w.err
	case w.sources > maxSources:
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The text reads tables in %d places, views' bodies included; at most %d are taken.", w.sources, maxSources),
			"Split it into smaller statements.")
	case w.quoting > maxQuoting:
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The text nests rows and arrays %d deep; at most %d are taken.", w.quoting, maxQuoting),
			"Give the values as columns of their own, or build JSON with jsonb_build_object.")
	case total > float64(maxGrowth+own):
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("Postgres would copy parts of this text until it is about %.2g times as large: BETWEEN and IN copy their left side, a sub-select in FROM is copied to every use of its columns, CUBE and ROLLUP repeat theirs.", total/float64(max(own, 1))),
			"Compute what is used several times once, in WITH name AS MATERIALIZED (…), and use its columns; do not nest BETWEEN or IN in their own left sides.")
	}
	return nil
}

// weigh gives the nodes of a text after all copies, and those that it has itself.
func weigh(k *known, roots []proto.Message, base []Name) (w *weigher, total float64, own int) {
	w = &weigher{known: k, views: map[uint32]*cte{}}
	lv := newLevel(nil)
	for _, n := range base {
		t, weight := w.scan(n, nil, nil)
		lv.see(t)
		if weight > scanNodes { // a view's body is part of the statement
			total += weight
		}
	}
	w.sources = 0
	for _, root := range roots {
		m := root.ProtoReflect()
		visit(m, func(protoreflect.Message) { own++ })
		w.uses = uses(m)
		e := w.expr(m, lv)
		total += math.Max(e.size, e.push)
		w.quoting = max(w.quoting, e.quoting)
	}
	return w, total, own
}

func newLevel(outer *level) *level {
	return &level{outer: outer, byAlias: map[string]*table{}, byField: map[string]grown{}, ctes: map[string]*cte{}, branches: 1}
}

// add puts an item of FROM into scope.
func (l *level) add(t *table) {
	l.tables = append(l.tables, t)
	l.branches += t.branches - 1
	l.see(t)
}

// see makes names visible, also those inside a join.
func (l *level) see(t *table) {
	if t.alias != "" {
		l.byAlias[t.alias] = t
	}
	for _, f := range t.fields {
		if have, ok := l.byField[f.name]; !ok || have.size < f.size || have.push < f.push {
			l.byField[f.name] = f.grown
		}
	}
}

func (l *level) findCTE(name string) *cte {
	for ; l != nil; l = l.outer {
		if c := l.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

// row is a whole row as one value.
func (t *table) row() grown {
	if t.whole == nil {
		sum := nodes(1)
		for _, f := range t.fields {
			sum = sum.plus(f.grown)
		}
		sum.quoting++
		t.whole = &sum
	}
	return *t.whole
}

// column is one column of it; what is none may be a function of the row.
func (t *table) column(name string) grown {
	if t.index == nil {
		t.index = make(map[string]grown, len(t.fields))
		for _, f := range t.fields {
			t.index[f.name] = f.grown
		}
	}
	if g, ok := t.index[name]; ok {
		return g
	}
	return t.row()
}

// column is what a name in the text stands for: a column, else a whole row, else a leaf.
func (l *level) column(ref *pg.ColumnRef) grown {
	parts := strs(ref.Fields)
	starred := len(parts) != len(ref.Fields)
	if len(parts) == 0 { // *
		return nodes(1)
	}
	last := parts[len(parts)-1]
	if starred || len(parts) > 1 {
		alias := last
		if !starred {
			alias = parts[len(parts)-2]
		}
		for at := l; at != nil; at = at.outer {
			t := at.byAlias[alias]
			if t == nil {
				continue
			}
			if starred {
				return t.row()
			}
			return t.column(last)
		}
		return nodes(1)
	}
	for at := l; at != nil; at = at.outer {
		if g, ok := at.byField[last]; ok {
			return g
		}
		if t := at.byAlias[last]; t != nil {
			return t.row()
		}
	}
	return nodes(1)
}

// expr weighs any part of a tree. What it does not know it takes for the sum of its parts.
func (w *weigher) expr(m protoreflect.Message, lv *level) grown {
	if !m.IsValid() || w.err != nil {
		return grown{}
	}
	w.looked++
	switch n := m.Interface().(type) {
	case *pg.Node:
		if fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); fd != nil && fd.Kind() == protoreflect.MessageKind {
			return w.expr(m.Get(fd).Message(), lv)
		}
		return grown{}
	case *pg.String, *pg.TypeName, *pg.Alias, *pg.RangeVar:
		return grown{}
	case *pg.ColumnRef:
		out := lv.column(n)
		w.quoting = max(w.quoting, out.quoting)
		return out
	case *pg.SelectStmt:
		t, weight := w.sel(n, lv)
		out := nodes(weight + scanNodes)
		for _, f := range t.fields {
			out.quoting = max(out.quoting, f.quoting)
		}
		return out
	case *pg.SubLink:
		out := w.sum(m, lv)
		switch n.SubLinkType {
		case pg.SubLinkType_EXISTS_SUBLINK: // planned as it stands and as a hashed sub-plan
			out = out.times(2)
		case pg.SubLinkType_ARRAY_SUBLINK:
			out.quoting++
		}
		out.aggregate, out.window = false, false
		return out
	case *pg.A_Expr:
		return w.operator(n, lv)
	case *pg.RowExpr, *pg.A_ArrayExpr:
		out := w.sum(m, lv)
		out.quoting++
		w.quoting = max(w.quoting, out.quoting)
		return out
	case *pg.A_Indirection:
		out := w.sum(m, lv)
		for _, step := range n.Indirection {
			if step.GetAStar() != nil {
				out = out.times(float64(w.width(n.Arg)))
			}
		}
		return out
	case *pg.WindowDef:
		w.bounded("PARTITION BY", n.PartitionClause)
		w.bounded("ORDER BY", n.OrderClause)
		return w.sum(m, lv)
	case *pg.FuncCall:
		w.bounded("ORDER BY", n.AggOrder)
		out := w.sum(m, lv)
		switch name := strs(n.Funcname); {
		case n.Over != nil:
			out.window = true
			w.over = append(w.over, n.Over)
		case len(name) > 0 && w.known.aggregates[nameOf(name)], n.AggStar, n.AggDistinct, n.AggFilter != nil, n.AggWithinGroup, len(n.AggOrder) > 0:
			out.aggregate = true
		}
		return out
	}
	return w.sum(m, lv)
}

func nameOf(parts []string) Name {
	if len(parts) == 1 {
		return Name{Name: parts[0]}
	}
	return Name{Schema: parts[0], Name: parts[len(parts)-1]}
}

func (w *weigher) sum(m protoreflect.Message, lv *level) grown {
	out := nodes(1)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				out = out.plus(w.expr(v.List().Get(i).Message(), lv))
			}
		default:
			out = out.plus(w.expr(v.Message(), lv))
		}
		return w.err == nil
	})
	return out
}

// operator knows which operands Postgres copies (parse_expr.c).
func (w *weigher) operator(x *pg.A_Expr, lv *level) grown {
	l, r := w.expr(x.Lexpr.ProtoReflect(), lv), w.list(x.Rexpr, lv)
	switch x.Kind {
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return nodes(3).plus(l.times(2)).plus(r)
	case pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return nodes(7).plus(l.times(4)).plus(r.times(2))
	case pg.A_Expr_Kind_AEXPR_IN:
		items := x.Rexpr.GetList().GetItems()
		copies := 1.0
		for _, item := range items {
			if !leaf(item) { // compared by itself, not as an element of one array
				copies++
			}
		}
		if x.Lexpr.GetRowExpr() != nil {
			copies = float64(len(items))
		}
		return nodes(1 + 2*copies).plus(l.times(copies)).plus(r)
	}
	return nodes(1).plus(l).plus(r)
}

func (w *weigher) list(n *pg.Node, lv *level) grown {
	if n == nil {
		return grown{}
	}
	return w.expr(n.ProtoReflect(), lv)
}

// leaf tells that an item of a list holds no column.
func leaf(n *pg.Node) bool {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	return n.GetAConst() != nil || n.GetParamRef() != nil
}

// width is how many columns (x).* has. What x is is known of ROW alone; others are taken for wide.
func (w *weigher) width(n *pg.Node) int {
	const unknownWidth = 20
	row := n.GetRowExpr()
	if row == nil {
		return unknownWidth
	}
	sum := 0
	for _, a := range row.Args {
		switch {
		case a.GetAIndirection() != nil:
			sum += w.width(a.GetAIndirection().Arg)
		case a.GetColumnRef() != nil && len(strs(a.GetColumnRef().Fields)) != len(a.GetColumnRef().Fields):
			sum += unknownWidth
		default:
			sum++
		}
	}
	return max(sum, 1)
}
