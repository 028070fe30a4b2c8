package sqlguard

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// A masked column may stand in a text in three places and nowhere else: as a bare output column of the
// outermost SELECT, whose values are masked on their way out; in `column = $n`; and in IS [NOT] NULL. Whatever
// else could carry its value on, or order, group or compare by it, is refused, and so is every name that could
// mean it: the rule is by names, and a name counts unless what stands before its dot can only be something
// else. See TestMaskedColumnsStayHidden, TestMaskedColumnsAreRefusedElsewhere.

// maskWalk looks for masked columns in one text.
type maskWalk struct {
	f       *found
	v       *verdict
	masked  map[Name]bool   // relations with masked columns, by the names in the text
	names   map[string]bool // of their masked columns
	top     *pg.SelectStmt
	outputs []Output
	err     error
}

// unmasked refuses a text that could show a masked value, or do something by it. It gives what the output
// columns are.
func (g *Guard) unmasked(f *found, v *verdict, m mode) ([]Output, error) {
	if !g.masks.on() {
		return nil, nil
	}
	w := &maskWalk{f: f, v: v, masked: map[Name]bool{}, names: map[string]bool{}, top: f.top}
	for _, n := range sortedNames(v.byName) {
		rel := v.byName[n]
		if err := g.maskable(rel); err != nil && !(m == ddlMode && !slices.Contains(f.relations, n) && maskOf(rel.Mask).Reads) {
			return nil, err // what a migration does to such a view is judged with its form
		}
		for name := range g.maskedColumns(rel) {
			w.masked[n], w.names[name] = true, true
		}
	}
	if len(w.masked) == 0 {
		return nil, nil
	}
	if err := w.renamed(); err != nil {
		return nil, err
	}
	for _, root := range f.roots {
		w.walk(root.ProtoReflect())
	}
	return w.outputs, w.err
}

// maskable refuses relations that cannot be read at all while columns are masked.
func (g *Guard) maskable(rel Relation) error {
	name := QuoteName(rel.Schema, rel.Name)
	m := maskOf(rel.Mask)
	if len(m.Broken) > 0 {
		return refusal.New(refusal.MaskedColumn,
			fmt.Sprintf("The column of the mask %s does not exist (any more), so what it protected in %s cannot be told; the table is closed until that is settled.", g.masks.brokenNames(m.Broken), name),
			"Ask the operator to correct the setting mask, or to give the column its name back; check-config shows it.")
	}
	statistics := slices.ContainsFunc(rel.Below, func(t Target) bool { return t.Schema == "pg_catalog" && neverReadable(t.Schema, t.Name) })
	if m.Reads || statistics && rel.Kind == 'v' && !systemSchema(rel.Schema) {
		return refusal.New(refusal.MaskedColumn, fmt.Sprintf("The view %s reads a masked column.", name),
			"Read the tables below it, whose masked columns may be selected bare; or ask the operator for a view without them.")
	}
	for _, r := range m.Calls {
		if !g.allowsFunction(r) {
			return refusal.New(refusal.MaskedColumn, fmt.Sprintf("The materialized view %s was filled by the function %s, which could have read a masked column.", name, QuoteName(r.Schema, r.Name)),
				"Read the tables below it, or ask the operator to add the function to query.allowFunctions.")
		}
	}
	return nil
}

// renamed refuses lists of column names behind an alias: they give masked columns other names.
func (w *maskWalk) renamed() error {
	for n := range w.f.renamed {
		if w.masked[n] {
			return refuseMasked("behind an alias with a list of column names", "Leave the list (…) behind the alias out; columns can be renamed with AS in the select list.")
		}
	}
	if w.f.joinRenames {
		return refuseMasked("in a join whose alias has a list of column names", "Leave the list (…) behind the alias out.")
	}
	return nil
}

const maskedHint = "A masked column may be selected bare by the outermost SELECT (its values come masked), compared as column = $1, and tested with IS NULL; write other columns of that name with their table's alias."

func refuseMasked(where, hint string) error {
	return refusal.New(refusal.MaskedColumn, fmt.Sprintf("A masked column stands (or could stand) %s.", where), hint)
}

func (w *maskWalk) deny(where string) {
	if w.err == nil {
		w.err = refuseMasked(where, maskedHint)
	}
}

// elsewhere tells that a qualifier can only stand for something without masked columns.
func (w *maskWalk) elsewhere(qualifier string) bool {
	if qualifier == "" || w.f.joins[qualifier] {
		return false
	}
	names := w.f.aliases[qualifier]
	if len(names) == 0 && !w.f.others[qualifier] {
		return false
	}
	return !slices.ContainsFunc(names, func(n Name) bool { return w.masked[n] })
}

// parts reads a column as what stands before its last part, and that part; star is for *.
func (w *maskWalk) parts(ref *pg.ColumnRef) (qualifier, last string, star bool) {
	parts := strs(ref.Fields)
	star = len(ref.Fields) > 0 && ref.Fields[len(ref.Fields)-1].GetAStar() != nil
	if !star && len(parts) > 0 {
		last, parts = parts[len(parts)-1], parts[:len(parts)-1]
	}
	if len(parts) > 0 {
		qualifier = parts[len(parts)-1]
	}
	return qualifier, last, star
}

// column tells that a reference may be a masked column, row that it may be a whole row with one.
func (w *maskWalk) refers(ref *pg.ColumnRef) (column, row bool) {
	qualifier, last, star := w.parts(ref)
	if w.elsewhere(qualifier) {
		return false, false
	}
	if star {
		return false, true
	}
	if qualifier != "" && w.calls(qualifier, last) {
		column = w.f.joins[qualifier] && w.names[last]
		return column, !column
	}
	row = w.f.joins[last] || slices.ContainsFunc(w.f.aliases[last], func(n Name) bool { return w.masked[n] })
	return w.names[last], row && !w.names[last]
}

// calls tells that x.f may be something made of the row x: x is no join and has no column f, so it is a function
// of that name, called with the row, or a cast to a domain over the row's type, which no function tells of
// (manual, 38.5.2, functional and attribute notation); or nothing at all. It counts as a whole row. The row of a
// join has no type to make a domain over. See TestMaskedColumnsStayHidden.
func (w *maskWalk) calls(qualifier, field string) bool {
	return w.f.joins[qualifier] && len(w.v.methods[field]) > 0 || slices.ContainsFunc(w.f.aliases[qualifier], func(n Name) bool {
		return w.masked[n] && !w.v.byName[n].hasColumn(field)
	})
}

// sure tells that a bare output column that may be masked can be nothing else.
func (w *maskWalk) sure(ref *pg.ColumnRef) bool {
	qualifier, _, _ := w.parts(ref)
	names := w.f.aliases[qualifier]
	if qualifier == "" {
		return len(w.top.FromClause) == 1 && w.top.FromClause[0].GetRangeVar() != nil
	}
	return len(names) > 0 && !w.f.others[qualifier] && !slices.ContainsFunc(names, func(n Name) bool { return !w.masked[n] })
}

func (w *maskWalk) walk(m protoreflect.Message) {
	if !m.IsValid() || w.err != nil {
		return
	}
	switch n := m.Interface().(type) {
	case *pg.SelectStmt:
		w.selects(n, false)
		return
	case *pg.SubLink:
		if n.SubLinkType == pg.SubLinkType_EXISTS_SUBLINK && n.Subselect.GetSelectStmt() != nil {
			w.selects(n.Subselect.GetSelectStmt(), true) // what it selects is not looked at
			return
		}
	case *pg.A_Expr:
		if w.equalsParameter(n) {
			return
		}
	case *pg.CreateTrigStmt:
		for _, row := range []string{"old", "new"} { // in WHEN
			w.f.alias(row, Name{Schema: n.Relation.GetSchemaname(), Name: n.Relation.GetRelname()})
		}
	case *pg.NullTest:
		if ref := n.Arg.GetColumnRef(); ref != nil {
			if column, _ := w.refers(ref); column {
				return
			}
		}
	case *pg.JoinExpr:
		using := slices.ContainsFunc(strs(n.UsingClause), func(c string) bool { return w.names[c] })
		if n.IsNatural || using {
			w.deny("in NATURAL JOIN or USING")
			return
		}
	case *pg.ColumnRef:
		if column, row := w.refers(n); column || row {
			w.deny(where(row))
		}
		return
	}
	w.children(m)
}

func where(row bool) string {
	if row {
		return "in a whole row (alias.x counts as one where the table has no column x)"
	}
	return "inside an expression, a condition, a sub-select or a clause"
}

func (w *maskWalk) children(m protoreflect.Message, skip ...string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind || contains(skip, string(fd.Name())):
		case fd.IsList():
			for i := range v.List().Len() {
				w.walk(v.List().Get(i).Message())
			}
		default:
			w.walk(v.Message())
		}
		return w.err == nil
	})
}

// equalsParameter is column = $n or $n = column, with the operator's plain name.
func (w *maskWalk) equalsParameter(e *pg.A_Expr) bool {
	name := strs(e.Name)
	if e.Kind != pg.A_Expr_Kind_AEXPR_OP || len(name) != 1 || name[0] != "=" {
		return false
	}
	for _, sides := range [][2]*pg.Node{{e.Lexpr, e.Rexpr}, {e.Rexpr, e.Lexpr}} {
		ref := sides[0].GetColumnRef()
		if ref == nil || sides[1].GetParamRef() == nil {
			continue
		}
		if column, _ := w.refers(ref); column {
			return true
		}
	}
	return false
}

// selects walks one SELECT. Only the outermost may have masked columns as output.
func (w *maskWalk) selects(s *pg.SelectStmt, exists bool) {
	top := s == w.top && s.Op == pg.SetOperation_SETOP_NONE
	masked := map[int]bool{}
	star := false
	for i, item := range s.TargetList {
		t := item.GetResTarget()
		ref := t.GetVal().GetColumnRef()
		if ref == nil {
			w.output(top, OutputOpen)
			w.walk(item.ProtoReflect())
			continue
		}
		column, row := w.refers(ref)
		qualifier, _, isStar := w.parts(ref)
		if isStar && qualifier == "" {
			row = slices.ContainsFunc(s.FromClause, w.from)
		}
		switch {
		case !column && !row && isStar:
			w.output(top, OutputStar)
			star = true
		case !column && !row:
			w.output(top, OutputOpen)
		case isStar && top:
			w.output(top, OutputStar)
			star, masked[i] = true, true
		case isStar && exists && plainExists(s):
		case column && top && w.sure(ref):
			w.output(top, OutputMasked)
			masked[i] = true
		case column && top:
			w.output(top, OutputMaybe)
			masked[i] = true
		case row:
			w.deny(where(true))
		default:
			w.deny("among the output columns of a sub-select, a CTE or a part of UNION")
		}
	}
	if len(masked) > 0 {
		w.sorts(s, masked, star)
	}
	w.children(s.ProtoReflect(), "target_list")
}

// plainExists tells that nothing in an EXISTS looks at what it selects.
func plainExists(s *pg.SelectStmt) bool {
	return len(s.DistinctClause)+len(s.GroupClause)+len(s.SortClause)+len(s.WindowClause) == 0 && s.HavingClause == nil
}

func (w *maskWalk) output(top bool, o Output) {
	if top {
		w.outputs = append(w.outputs, o)
	}
}

// from tells that an item of FROM shows the columns of a relation with masked ones.
func (w *maskWalk) from(item *pg.Node) bool {
	switch {
	case item.GetRangeVar() != nil:
		rv := item.GetRangeVar()
		return w.masked[Name{Schema: rv.Schemaname, Name: rv.Relname}]
	case item.GetRangeTableSample() != nil:
		return w.from(item.GetRangeTableSample().Relation)
	case item.GetJoinExpr() != nil:
		return w.from(item.GetJoinExpr().Larg) || w.from(item.GetJoinExpr().Rarg)
	case item.GetRangeSubselect() != nil, item.GetRangeFunction() != nil, item.GetRangeTableFunc() != nil:
		return false // nothing masked comes out of one
	}
	return true
}

// sorts refuses what orders, groups or removes duplicates by a masked output column: by its number or by
// the name that AS gives it (manual, SELECT, ORDER BY and GROUP BY).
func (w *maskWalk) sorts(s *pg.SelectStmt, masked map[int]bool, star bool) {
	const by = "in ORDER BY, GROUP BY or DISTINCT"
	aliases := map[string]bool{}
	for i := range masked {
		if name := s.TargetList[i].GetResTarget().GetName(); name != "" {
			aliases[name] = true
		}
	}
	see := func(m protoreflect.Message) {
		switch n := m.Interface().(type) {
		case *pg.A_Const:
			if v := n.GetIval(); v != nil && (star || masked[int(v.Ival)-1]) {
				w.deny(by)
			}
		case *pg.ColumnRef:
			if parts := strs(n.Fields); len(parts) == 1 && aliases[parts[0]] {
				w.deny(by)
			}
		}
	}
	for _, d := range s.DistinctClause {
		if d.GetNode() == nil { // DISTINCT without ON
			w.deny(by)
			return
		}
		visit(d.ProtoReflect(), see)
	}
	for _, n := range s.GroupClause {
		visit(n.ProtoReflect(), see)
	}
	for _, n := range s.SortClause {
		visit(n.ProtoReflect(), see)
	}
}
