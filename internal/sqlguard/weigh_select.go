package sqlguard

import (
	"fmt"
	"math"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// sel weighs a SELECT and gives the columns it has for what is around it.
func (w *weigher) sel(s *pg.SelectStmt, outer *level) (*table, float64) {
	if s == nil || w.err != nil {
		return &table{branches: 1}, 0
	}
	lv := newLevel(outer)
	around := w.over
	w.over = nil
	total := w.with(s.WithClause, lv)
	var out *table
	var more float64
	switch {
	case s.Op != pg.SetOperation_SETOP_NONE && s.Op != pg.SetOperation_SET_OPERATION_UNDEFINED:
		out, more = w.setOperation(s, lv)
	case len(s.ValuesLists) > 0:
		out, more = w.values(s, lv)
	default:
		out, more = w.plain(s, lv)
	}
	for _, part := range [][]*pg.Node{s.SortClause, {s.LimitCount, s.LimitOffset}} {
		more += w.all("ORDER BY", part, lv)
	}
	switch {
	case s.LimitCount != nil && !s.LimitCount.GetAConst().GetIsnull(), s.LimitOffset != nil:
		seal(out, true)
		out.branches = 1
	case len(s.SortClause) > 0 || s.WithClause != nil:
		seal(out, false)
	}
	n := distinct(w.over)
	w.over = around
	return out, total + more + n*n
}

// distinct counts different windows. Each is a step of the plan that carries the columns of all others.
func distinct(list []*pg.WindowDef) float64 {
	var kinds []*pg.WindowDef
	for _, d := range list {
		known := false
		for _, k := range kinds {
			known = known || sameTree(d, k)
		}
		if !known {
			kinds = append(kinds, d)
		}
		if len(kinds)*len(kinds) > maxGrowth {
			return float64(len(list)) // enough to refuse
		}
	}
	return float64(len(kinds))
}

// seal makes the columns of a sub-select that is not merged into what is around it. Conditions are
// pushed into it all the same, unless it is tight.
func seal(t *table, tight bool) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.aggregate { // goes into HAVING and no further
			f.push = f.size
		}
		f.size, f.aggregate, f.window = 1, false, false
		if tight {
			f.push = 1
		}
	}
}

// bounded refuses lists that are longer than Postgres can sort by.
func (w *weigher) bounded(what string, list []*pg.Node) {
	if len(list) > maxTargets {
		w.err = tooMany(what, len(list))
	}
}

// all sums a list of expressions.
func (w *weigher) all(what string, list []*pg.Node, lv *level) float64 {
	w.bounded(what, list)
	sum := 0.0
	for _, n := range list {
		if n != nil {
			sum += w.expr(n.ProtoReflect(), lv).size
		}
	}
	return sum
}

func tooMany(what string, n int) error {
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s list has %d items; Postgres takes at most %d.", what, n, maxTargets),
		"Name fewer columns, or pack values into an array or JSON.")
}

func (w *weigher) setOperation(s *pg.SelectStmt, lv *level) (*table, float64) {
	l, lw := w.sel(s.Larg, lv)
	r, rw := w.sel(s.Rarg, lv)
	out := &table{branches: l.branches + r.branches}
	for i, f := range l.fields {
		if i < len(r.fields) {
			g := r.fields[i].grown
			f.size, f.push, f.quoting = math.Max(f.size, g.size), math.Max(f.push, g.push), max(f.quoting, g.quoting)
		}
		out.fields = append(out.fields, f)
	}
	if s.Op != pg.SetOperation_SETOP_UNION || !s.All {
		seal(out, false)
	}
	return out, lw + rw + scanNodes
}

func (w *weigher) values(s *pg.SelectStmt, lv *level) (*table, float64) {
	out, total := &table{branches: 1}, 0.0
	for _, row := range s.ValuesLists {
		for j, n := range row.GetList().GetItems() {
			g := w.expr(n.ProtoReflect(), lv)
			total += g.size
			if j == len(out.fields) {
				out.fields = append(out.fields, field{name: fmt.Sprintf("column%d", j+1), grown: nodes(1)})
			}
			f := &out.fields[j]
			f.quoting = max(f.quoting, g.quoting)
			if len(s.ValuesLists) == 1 { // one row is merged like a sub-select
				f.grown = g
			}
		}
	}
	return out, total
}

func (w *weigher) plain(s *pg.SelectStmt, lv *level) (*table, float64) {
	total := 0.0
	for _, n := range s.FromClause {
		t, weight := w.from(n, lv)
		total += weight
		lv.add(t)
	}
	around := 0.0 // what is planned for every branch of a UNION ALL in FROM
	for _, n := range []*pg.Node{s.WhereClause, s.HavingClause} {
		if n != nil {
			around += w.expr(n.ProtoReflect(), lv).push
		}
	}
	out := &table{branches: lv.branches}
	apart := false
	for _, n := range s.TargetList {
		rt := n.GetResTarget()
		fields := w.target(rt, lv)
		for _, f := range fields {
			around += f.size
			apart = apart || f.aggregate || f.window
		}
		if out.fields = append(out.fields, fields...); len(out.fields) > maxTargets {
			w.err = tooMany("select", len(out.fields))
			return out, total
		}
	}
	total += around * lv.branches
	total += w.all("GROUP BY", s.GroupClause, lv) + w.all("DISTINCT ON", s.DistinctClause, lv)
	if sets, entries := groupings(s.GroupClause); sets > 1 {
		total += sets + entries
	}
	total += w.windows(s, lv)
	if apart || len(s.GroupClause) > 0 || len(s.DistinctClause) > 0 || s.HavingClause != nil {
		seal(out, false)
	}
	return out, total
}

// target gives the columns of one item of a select list.
func (w *weigher) target(rt *pg.ResTarget, lv *level) []field {
	val := rt.GetVal()
	if ref := val.GetColumnRef(); ref != nil {
		parts := strs(ref.Fields)
		if len(parts) != len(ref.Fields) {
			return lv.star(parts)
		}
		return []field{{titled(rt, parts[len(parts)-1]), lv.column(ref)}}
	}
	g := w.expr(val.ProtoReflect(), lv)
	if ind := val.GetAIndirection(); ind != nil {
		name := "?column?"
		for _, step := range ind.Indirection {
			if step.GetAStar() != nil { // the sizes are summed up in the first
				out := []field{{name, g}}
				for range w.width(ind.Arg) - 1 {
					out = append(out, field{name, nodes(0)})
				}
				return out
			}
			if s := step.GetString_(); s != nil {
				name = s.Sval
			}
		}
		return []field{{titled(rt, name), g}}
	}
	name := "?column?"
	switch {
	case val.GetFuncCall() != nil:
		if parts := strs(val.GetFuncCall().Funcname); len(parts) > 0 {
			name = parts[len(parts)-1]
		}
	case val.GetTypeCast() != nil:
		if ref := val.GetTypeCast().GetArg().GetColumnRef(); ref != nil {
			if parts := strs(ref.Fields); len(parts) > 0 {
				name = parts[len(parts)-1]
			}
		}
	}
	return []field{{titled(rt, name), g}}
}

func titled(rt *pg.ResTarget, name string) string {
	if rt.GetName() != "" {
		return rt.Name
	}
	return name
}

// star is * or alias.* in a select list.
func (l *level) star(parts []string) []field {
	var out []field
	if len(parts) == 0 {
		for _, t := range l.tables {
			out = append(out, t.fields...)
		}
		return out
	}
	for at := l; at != nil; at = at.outer {
		if t := at.byAlias[parts[len(parts)-1]]; t != nil {
			return t.fields
		}
	}
	return nil
}

// groupings counts the grouping sets of a GROUP BY, which is their product over its items (manual,
// 7.2.4), and the columns in all of them. Each costs the planner as much as a few nodes.
func groupings(list []*pg.Node) (sets, entries float64) {
	sets = 1
	for _, n := range list {
		s, e := grouping(n)
		sets, entries = sets*s, entries*s+e*sets
	}
	return sets, entries
}

func grouping(n *pg.Node) (sets, entries float64) {
	g := n.GetGroupingSet()
	if g == nil {
		return 1, float64(max(1, len(n.GetRowExpr().GetArgs())))
	}
	content := float64(len(g.Content))
	sum, prefixes := 0.0, 0.0
	for i, c := range g.Content {
		s, e := grouping(c)
		sets += s
		sum += e
		prefixes += e * (content - float64(i))
	}
	switch g.Kind {
	case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
		return content + 1, prefixes
	case pg.GroupingSetKind_GROUPING_SET_CUBE:
		return math.Exp2(content), math.Exp2(content-1) * sum
	case pg.GroupingSetKind_GROUPING_SET_SETS:
		return sets, sum
	}
	return 1, content // (a, b) or ()
}

// windows weighs the WINDOW clause. A window that extends another copies its PARTITION BY list.
func (w *weigher) windows(s *pg.SelectStmt, lv *level) float64 {
	sum, longest, copies := 0.0, 0, 0
	for _, n := range s.WindowClause {
		d := n.GetWindowDef()
		sum += w.all("PARTITION BY", d.GetPartitionClause(), lv) + w.all("ORDER BY", d.GetOrderClause(), lv) + 2
		longest = max(longest, len(d.GetPartitionClause()))
		if d.GetRefname() != "" {
			copies++
		}
	}
	return sum + float64(longest)*float64(copies)
}

// with weighs the CTEs. One that is used once, or NOT MATERIALIZED, is merged where it is used.
func (w *weigher) with(c *pg.WithClause, lv *level) float64 {
	total := 0.0
	for _, n := range c.GetCtes() {
		e := n.GetCommonTableExpr()
		before := w.sources
		t, weight := w.sel(e.GetCtequery().GetSelectStmt(), lv)
		for i, a := range strs(e.Aliascolnames) {
			if i < len(t.fields) {
				t.fields[i].name = a
			}
		}
		made := &cte{table: *t, weight: weight}
		switch uses := w.uses[e]; e.Ctematerialized {
		case pg.CTEMaterialize_CTEMaterializeNever:
			made.inline = !c.Recursive && uses > 0
		case pg.CTEMaterialize_CTEMaterializeAlways:
		default:
			made.inline = !c.Recursive && uses == 1
		}
		if made.inline {
			made.sources = w.sources - before
			w.sources = before
		} else {
			seal(&made.table, true)
			made.branches = 1
			total += weight
		}
		lv.ctes[e.Ctename] = made
	}
	return total
}

// uses counts how often each CTE of a text stands in FROM. A name means the nearest CTE around it
// (parse_cte.c).
func uses(root protoreflect.Message) map[*pg.CommonTableExpr]int {
	out := map[*pg.CommonTableExpr]int{}
	var count func(m protoreflect.Message, sc *named)
	below := func(m protoreflect.Message, sc *named) {
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.Kind() != protoreflect.MessageKind || fd.Name() == "with_clause":
			case fd.IsList():
				for i := range v.List().Len() {
					count(v.List().Get(i).Message(), sc)
				}
			default:
				count(v.Message(), sc)
			}
			return true
		})
	}
	count = func(m protoreflect.Message, sc *named) {
		switch n := m.Interface().(type) {
		case *pg.SelectStmt:
			all := sc
			for _, c := range n.WithClause.GetCtes() {
				all = &named{c.GetCommonTableExpr(), all}
			}
			for _, c := range n.WithClause.GetCtes() {
				inner := sc
				if n.WithClause.Recursive {
					inner = all
				}
				count(c.GetCommonTableExpr().ProtoReflect(), inner)
				sc = &named{c.GetCommonTableExpr(), sc}
			}
			below(m, all)
			return
		case *pg.RangeVar:
			for at := sc; at != nil && n.Schemaname == ""; at = at.outer {
				if at.cte.Ctename == n.Relname {
					out[at.cte]++
					break
				}
			}
			return
		}
		below(m, sc)
	}
	count(root, nil)
	return out
}

// named is the chain of CTEs visible at a point.
type named struct {
	cte   *pg.CommonTableExpr
	outer *named
}
