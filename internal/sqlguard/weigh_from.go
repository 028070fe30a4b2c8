package sqlguard

import (
	"maps"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// known is what was found out about the names in a text and in the views below it.
type known struct {
	relations  map[Name]Relation
	bodies     map[uint32]*pg.Node // of views
	aggregates map[Name]bool
}

func (k *known) add(facts *Facts) {
	maps.Copy(k.relations, facts.Relations)
	for n, all := range facts.Functions {
		meant := inSchema(all, n)
		k.aggregates[n] = len(meant) > 0
		for _, r := range meant {
			k.aggregates[n] = k.aggregates[n] && r.Kind == 'a'
		}
	}
}

// from weighs one item of FROM and gives what its alias shows.
func (w *weigher) from(n *pg.Node, lv *level) (*table, float64) {
	if w.err != nil {
		return &table{branches: 1}, 0
	}
	switch n := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		return w.scan(Name{Schema: n.RangeVar.Schemaname, Name: n.RangeVar.Relname}, n.RangeVar.Alias, lv)
	case *pg.Node_RangeSubselect:
		before := w.sources
		t, weight := w.sel(n.RangeSubselect.Subquery.GetSelectStmt(), lv)
		if w.sources == before { // it reads no table and is joined all the same
			w.sources++
		}
		return t.as(n.RangeSubselect.Alias), weight
	case *pg.Node_JoinExpr:
		return w.join(n.JoinExpr, lv)
	case *pg.Node_RangeFunction:
		w.sources++
		alias := n.RangeFunction.Alias.GetAliasname()
		t := &table{alias: alias, branches: 1, fields: []field{{alias, nodes(1)}}}
		for _, c := range n.RangeFunction.Coldeflist {
			t.fields = append(t.fields, field{c.GetColumnDef().GetColname(), nodes(1)})
		}
		for _, name := range strs(n.RangeFunction.Alias.GetColnames()) {
			t.fields = append(t.fields, field{name, nodes(1)})
		}
		return t, w.expr(n.RangeFunction.ProtoReflect(), lv).size + 1
	case *pg.Node_RangeTableSample:
		t, weight := w.from(n.RangeTableSample.Relation, lv)
		return t, weight + w.all("TABLESAMPLE", n.RangeTableSample.Args, lv)
	}
	w.sources++
	return &table{branches: 1}, w.expr(n.ProtoReflect(), lv).size + scanNodes
}

// as gives a sub-select the names of its alias.
func (t *table) as(a *pg.Alias) *table {
	out := &table{alias: a.GetAliasname(), branches: t.branches, fields: append([]field(nil), t.fields...)}
	for i, name := range strs(a.GetColnames()) {
		if i < len(out.fields) {
			out.fields[i].name = name
		}
	}
	return out
}

// scan weighs a CTE, table or view by name.
func (w *weigher) scan(n Name, as *pg.Alias, lv *level) (*table, float64) {
	if as == nil {
		as = &pg.Alias{Aliasname: n.Name}
	}
	if n.Schema == "" {
		if c := lv.findCTE(n.Name); c != nil {
			w.sources += c.sources
			if c.inline {
				return c.as(as), c.weight + 1
			}
			return c.as(as), 1
		}
	}
	w.sources++
	rel := w.known.relations[n]
	if rel.Kind == 'v' {
		v := w.view(rel)
		w.sources += v.sources
		return v.as(as), v.weight + 1
	}
	t := &table{branches: 1, fields: make([]field, 0, len(rel.Columns))}
	for _, c := range rel.Columns {
		t.fields = append(t.fields, field{c.Name, nodes(1)})
	}
	return t.as(as), scanNodes
}

// view weighs a view's body once; every use of the view is a copy of it.
func (w *weigher) view(rel Relation) *cte {
	if v := w.views[rel.OID]; v != nil {
		return v
	}
	v := &cte{table: table{branches: 1}, weight: systemNodes}
	w.views[rel.OID] = v // a view cannot stand on itself
	body := w.known.bodies[rel.OID]
	if sel := body.GetSelectStmt(); sel != nil {
		names, before := w.uses, w.sources
		w.uses = uses(body.ProtoReflect())
		t, weight := w.sel(sel, nil)
		v.table, v.weight = *t, weight
		v.sources = w.sources - before
		w.uses, w.sources = names, before
	}
	for i, c := range rel.Columns {
		if i == len(v.fields) {
			v.fields = append(v.fields, field{grown: nodes(1)})
		}
		v.fields[i].name = c.Name
	}
	return v
}

// join weighs a join. Its row is a list of all columns below it, and a column of FULL JOIN … USING is
// an expression over both sides.
func (w *weigher) join(j *pg.JoinExpr, lv *level) (*table, float64) {
	l, lw := w.from(j.Larg, lv)
	lv.see(l)
	r, rw := w.from(j.Rarg, lv)
	lv.see(r)
	out := &table{branches: l.branches + r.branches - 1, fields: append([]field(nil), l.fields...)}
	using := map[string]bool{}
	for _, name := range strs(j.UsingClause) {
		using[name] = true
	}
	merged := map[string]grown{}
	for _, f := range r.fields {
		if using[f.name] {
			merged[f.name] = f.grown
		} else {
			out.fields = append(out.fields, f)
		}
	}
	total := lw + rw + float64(len(out.fields))/10 + 1
	for i := range out.fields {
		f := &out.fields[i]
		m, ok := merged[f.name]
		if !ok || i >= len(l.fields) {
			continue
		}
		total += 1 + f.size + m.size
		if j.Jointype == pg.JoinType_JOIN_FULL {
			f.grown = nodes(1).plus(f.grown).plus(m)
		}
	}
	if j.Quals != nil {
		total += w.expr(j.Quals.ProtoReflect(), lv).push
	}
	if j.Alias != nil {
		return out.as(j.Alias), total
	}
	return out, total
}
