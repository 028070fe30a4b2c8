package sqlguard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Delete builds DELETE FROM target [WHERE where]. Without a condition, or with one that is always
// true, it needs ConfirmFullTable.
func (g *Guard) Delete(ctx context.Context, cat Catalog, spec DeleteSpec) (*Statement, error) {
	rel, err := g.writeTarget(ctx, cat, spec.Table, Delete)
	if err != nil {
		return nil, err
	}
	params, err := safeParams(spec.Params)
	if err != nil {
		return nil, err
	}
	cond, err := g.condition(spec.Where, params, rel, spec.ConfirmFullTable)
	if err != nil {
		return nil, err
	}
	f := newFound()
	if cond != nil {
		if err := cond.collect(f); err != nil {
			return nil, err
		}
	}
	if err := checkParams(f.params, len(params)); err != nil {
		return nil, err
	}
	v, err := g.judge(ctx, cat, f, writeMode, Name{Schema: rel.Schema, Name: rel.Name})
	if err != nil {
		return nil, err
	}
	v.addTarget(rel)
	head := "DELETE FROM " + QuoteName(rel.Schema, rel.Name)
	s := &Statement{class: Delete, sql: head, params: params}
	if cond != nil {
		s.sql = head + " WHERE " + cond.line
		s.where, s.nWhere, s.tested = cond.line, len(params), restricted(cond.node, params, rel)
		err := agree(s.sql, head+" WHERE true", []*expression{cond}, func(n *pg.Node) []**pg.Node {
			if d := n.GetDeleteStmt(); d != nil {
				return []**pg.Node{&d.WhereClause}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := checkNumbers("where", cond.tokens, v.facts.ServerVersion); err != nil {
			return nil, err
		}
	}
	return g.finish(s, rel, v, v, f.subselect), nil
}

// Update builds UPDATE target SET … [WHERE where]. The caller's params keep their numbers, plain
// values follow. Parameters of the condition must be numbered before those that only SET expressions
// use, since the condition also runs alone.
func (g *Guard) Update(ctx context.Context, cat Catalog, spec UpdateSpec) (*Statement, error) {
	rel, err := g.writeTarget(ctx, cat, spec.Table, Update)
	if err != nil {
		return nil, err
	}
	if len(spec.Set)+len(spec.SetExpressions) == 0 {
		return nil, refusal.New(refusal.InvalidArguments, "There is nothing to set.", "Give at least one column in set or set_expressions.")
	}
	params, err := safeParams(spec.Params)
	if err != nil {
		return nil, err
	}
	cond, err := g.condition(spec.Where, params, rel, spec.ConfirmFullTable)
	if err != nil {
		return nil, err
	}
	f := newFound()
	nWhere := 0
	if cond != nil {
		if err := cond.collect(f); err != nil {
			return nil, err
		}
		for n := range f.params {
			nWhere = max(nWhere, n)
		}
		for n := 1; n <= nWhere; n++ {
			if !f.params[n] {
				return nil, refusal.New(refusal.InvalidInput, fmt.Sprintf("The where uses $%d but not $%d.", nWhere, n),
					"Number the parameters of where first, without gaps; those of set_expressions come behind.")
			}
		}
	}
	var (
		set, bare []string
		columns   []string
		exprs     []*expression
		seen      = map[string]bool{}
		given     = len(params)
	)
	take := func(text string, isDefault bool) (string, error) {
		c, err := column(rel, text)
		if err != nil {
			return "", err
		}
		if seen[c.Name] {
			return "", refusal.New(refusal.InvalidArguments, fmt.Sprintf("The column %s is set twice.", QuoteIdent(c.Name)), "Set it once.")
		}
		seen[c.Name] = true
		columns = append(columns, c.Name)
		return QuoteIdent(c.Name), g.settable(rel, c, isDefault)
	}
	for _, sv := range spec.Set {
		name, err := take(sv.Column, false)
		if err != nil {
			return nil, err
		}
		value, err := safeParams([]json.RawMessage{sv.Value})
		if err != nil {
			return nil, err
		}
		params = append(params, value[0])
		item := fmt.Sprintf("%s = $%d", name, len(params))
		set, bare = append(set, item), append(bare, item)
	}
	if len(params) > maxParams {
		return nil, refusal.New(refusal.InvalidInput, fmt.Sprintf("The statement needs %d parameters; Postgres takes at most %d.", len(params), maxParams),
			"Send a list as one array parameter: `column = ANY($1)`.")
	}
	for _, se := range spec.SetExpressions {
		isDefault := strings.EqualFold(strings.TrimSpace(se.Expr), "default")
		name, err := take(se.Column, isDefault)
		if err != nil {
			return nil, err
		}
		if isDefault {
			set, bare = append(set, name+" = DEFAULT"), append(bare, name+" = DEFAULT")
			continue
		}
		e, err := parseValue(se.Column, se.Expr)
		if err != nil {
			return nil, err
		}
		if e == nil {
			return nil, refusal.New(refusal.InvalidInput, fmt.Sprintf("The set_expressions value of %s is empty.", name), `Write an SQL expression, or "NULL", or "DEFAULT".`)
		}
		if err := e.collect(f); err != nil {
			return nil, err
		}
		exprs = append(exprs, e)
		set, bare = append(set, name+" = "+e.line), append(bare, name+" = 1")
	}
	if err := checkParams(f.params, given); err != nil {
		return nil, err
	}
	v, err := g.judge(ctx, cat, f, writeMode, Name{Schema: rel.Schema, Name: rel.Name})
	if err != nil {
		return nil, err
	}
	v.addTarget(rel)
	head := "UPDATE " + QuoteName(rel.Schema, rel.Name) + " SET "
	s := &Statement{class: Update, sql: head + strings.Join(set, ", "), params: params, set: columns}
	skeleton := head + strings.Join(bare, ", ")
	setExprs := len(exprs)
	if cond != nil {
		s.sql += " WHERE " + cond.line
		s.where, s.nWhere, s.tested = cond.line, nWhere, restricted(cond.node, params, rel)
		skeleton += " WHERE true"
		exprs = append(exprs, cond)
	}
	isExpr := make([]bool, 0, len(spec.Set)+len(spec.SetExpressions))
	for range spec.Set {
		isExpr = append(isExpr, false)
	}
	for _, se := range spec.SetExpressions {
		isExpr = append(isExpr, !strings.EqualFold(strings.TrimSpace(se.Expr), "default"))
	}
	if setExprs > 0 || cond != nil {
		err := agree(s.sql, skeleton, exprs, func(n *pg.Node) []**pg.Node {
			u := n.GetUpdateStmt()
			if u == nil || len(u.TargetList) != len(isExpr) {
				return nil
			}
			var out []**pg.Node
			for i, t := range u.TargetList {
				if rt := t.GetResTarget(); isExpr[i] && rt != nil {
					out = append(out, &rt.Val)
				}
			}
			if cond != nil {
				out = append(out, &u.WhereClause)
			}
			return out
		})
		if err != nil {
			return nil, err
		}
	}
	for _, e := range exprs {
		if err := checkNumbers(e.what, e.tokens, v.facts.ServerVersion); err != nil {
			return nil, err
		}
	}
	where, err := g.whereAlone(ctx, cat, cond, rel, v, setExprs > 0)
	if err != nil {
		return nil, err
	}
	return g.finish(s, rel, v, where, f.subselect), nil
}

// whereAlone judges the condition of an UPDATE without its SET expressions: what they call has no part
// in which rows are chosen. The whole text was judged before, so this asks the catalog nothing new.
func (g *Guard) whereAlone(ctx context.Context, cat Catalog, cond *expression, rel Relation, whole *verdict, other bool) (*verdict, error) {
	if !other {
		return whole, nil
	}
	f := newFound()
	if cond != nil {
		if err := cond.collect(f); err != nil {
			return nil, err
		}
	}
	return g.judge(ctx, cat, f, writeMode, Name{Schema: rel.Schema, Name: rel.Name})
}

// Insert builds INSERT INTO target (columns) VALUES …, every value a parameter.
func (g *Guard) Insert(ctx context.Context, cat Catalog, spec InsertSpec) (*Statement, error) {
	rel, err := g.writeTarget(ctx, cat, spec.Table, Insert)
	if err != nil {
		return nil, err
	}
	switch {
	case len(spec.Columns) == 0:
		return nil, refusal.New(refusal.InvalidArguments, "There are no columns.", "Name the columns that the rows give values for.")
	case len(spec.Rows) == 0:
		return nil, refusal.New(refusal.InvalidArguments, "There are no rows.", "Give at least one row.")
	case len(spec.Rows)*len(spec.Columns) > maxParams:
		return nil, refusal.New(refusal.InvalidInput,
			fmt.Sprintf("%d rows of %d columns are %d parameters; Postgres takes at most %d.",
				len(spec.Rows), len(spec.Columns), len(spec.Rows)*len(spec.Columns), maxParams),
			fmt.Sprintf("Send at most %d rows at once.", maxParams/len(spec.Columns)))
	}
	var names, columns []string
	seen := map[string]bool{}
	for _, text := range spec.Columns {
		c, err := column(rel, text)
		if err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, refusal.New(refusal.InvalidArguments, fmt.Sprintf("The column %s is named twice.", QuoteIdent(c.Name)), "Name it once.")
		}
		seen[c.Name] = true
		if err := g.settable(rel, c, false); err != nil {
			return nil, err
		}
		columns, names = append(columns, c.Name), append(names, QuoteIdent(c.Name))
	}
	var sql strings.Builder
	fmt.Fprintf(&sql, "INSERT INTO %s (%s) VALUES ", QuoteName(rel.Schema, rel.Name), strings.Join(names, ", "))
	params := make([]json.RawMessage, 0, len(spec.Rows)*len(columns))
	for i, row := range spec.Rows {
		if len(row) != len(columns) {
			return nil, refusal.New(refusal.InvalidArguments,
				fmt.Sprintf("rows[%d] has %d values for %d columns.", i, len(row), len(columns)), "Give each row one value per column; null is a value.")
		}
		values, err := safeParams(row)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			sql.WriteString(", ")
		}
		sql.WriteByte('(')
		for j := range values {
			if j > 0 {
				sql.WriteString(", ")
			}
			fmt.Fprintf(&sql, "$%d", len(params)+j+1)
		}
		sql.WriteByte(')')
		params = append(params, values...)
	}
	v := newVerdict(&Facts{})
	v.masks = g.masks.text
	if g.masks.on() {
		if err := g.maskable(rel); err != nil {
			return nil, err
		}
	}
	v.addTarget(rel)
	s := &Statement{class: Insert, sql: sql.String(), params: params, columns: columns, rows: len(spec.Rows)}
	return g.finish(s, rel, v, nil, false), nil
}

// condition parses `where` and settles what no condition means. What the agent wrote is never left
// out: with the confirmation a condition that looks constant stands in the statement all the same, so
// a wrong verdict costs a confirmation and no row. See TestConfirmedConditionStays.
func (g *Guard) condition(where string, params []json.RawMessage, rel Relation, confirmed bool) (*expression, error) {
	cond, err := parseCondition(where)
	if err != nil {
		return nil, err
	}
	why := ""
	switch {
	case confirmed:
	case cond == nil:
		why = "The where is missing: the statement would change the whole table."
	case alwaysTrue(cond.node, params, rel):
		why = "The where is always true: the statement would change the whole table."
	}
	if why != "" {
		return nil, refusal.New(refusal.NoWhereClause, why,
			"Give a where that picks the rows, or confirm_full_table: true if every row is meant.")
	}
	return cond, nil
}

func (v *verdict) addTarget(rel Relation) { v.add(Name{Schema: rel.Schema, Name: rel.Name}, rel) }

// finish takes over what was judged: v of the whole text, where of the condition alone (nil for INSERT).
func (g *Guard) finish(s *Statement, rel Relation, v, where *verdict, subselect bool) *Statement {
	s.target = rel
	s.relations = v.relations
	s.volatile, s.facts = v.names(), v.sortedFacts()
	s.closure = v.oids()
	s.outside = v.outside
	s.mask = g.maskView(v, nil)
	if where != nil {
		s.unstable, s.elsewhere = where.unstable, v.outside || subselect
	}
	return s
}
