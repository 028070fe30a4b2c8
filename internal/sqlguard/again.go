package sqlguard

import (
	"context"
	"encoding/json"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Again checks a statement that an earlier process built and gave to the agent, with all its params,
// as if it were asked for anew: the text is taken apart into what Insert, Update, Delete or Migration
// take, goes through them, and must come out as the same bytes. Whole-table writes pass, since the
// plan that this text belongs to was made with their confirmation.
//
// What none of them would build is INVALID_INPUT; everything else is their refusals. See
// TestAgainIsTheSameStatement.
func (g *Guard) Again(ctx context.Context, cat Catalog, text string, params []json.RawMessage) (*Statement, error) {
	node, line, tokens, err := parseStatement(text)
	if err != nil {
		return nil, err
	}
	var s *Statement
	switch {
	case node.GetDeleteStmt() != nil:
		s, err = g.deleteAgain(ctx, cat, node.GetDeleteStmt(), tokens, params)
	case node.GetUpdateStmt() != nil:
		s, err = g.updateAgain(ctx, cat, node.GetUpdateStmt(), tokens, params)
	case node.GetInsertStmt() != nil:
		s, err = g.insertAgain(ctx, cat, node.GetInsertStmt(), params)
	default:
		s, err = g.Migration(ctx, cat, text)
	}
	if err != nil {
		return nil, err
	}
	if s.sql != line || len(s.params) != len(params) {
		return nil, notOurs()
	}
	return s, nil
}

func notOurs() error {
	return refusal.New(refusal.InvalidInput, "This is not a statement as a preview of this server writes it.",
		"Give back the statement exactly as in the preview's reply, or preview again.")
}

func (g *Guard) deleteAgain(ctx context.Context, cat Catalog, d *pg.DeleteStmt, tokens []token, params []json.RawMessage) (*Statement, error) {
	if d.Relation == nil {
		return nil, notOurs()
	}
	_, where := cutWhere(tokens)
	return g.Delete(ctx, cat, DeleteSpec{
		Table: QuoteName(d.Relation.Schemaname, d.Relation.Relname), Where: oneLine(where), Params: params, ConfirmFullTable: true,
	})
}

func (g *Guard) updateAgain(ctx context.Context, cat Catalog, u *pg.UpdateStmt, tokens []token, params []json.RawMessage) (*Statement, error) {
	at := slices.IndexFunc(tokens, func(t token) bool { return t.kind == pg.Token_SET })
	if u.Relation == nil || at < 0 {
		return nil, notOurs()
	}
	set, where := cutWhere(tokens[at+1:])
	spec := UpdateSpec{
		Table: QuoteName(u.Relation.Schemaname, u.Relation.Relname), Where: oneLine(where), ConfirmFullTable: true,
	}
	items := splitAt(set, pg.Token_ASCII_44)
	plain := boundValues(u, len(items), len(params))
	given := len(params) - plain
	spec.Params = params[:given]
	for i, item := range items {
		if len(item) < 3 || item[1].kind != pg.Token_ASCII_61 {
			return nil, notOurs()
		}
		if i < plain {
			spec.Set = append(spec.Set, SetValue{Column: item[0].text, Value: params[given+i]})
		} else {
			spec.SetExpressions = append(spec.SetExpressions, SetExpr{Column: item[0].text, Expr: oneLine(item[2:])})
		}
	}
	return g.Update(ctx, cat, spec)
}

// boundValues is how many of the first items are plain values: parameters in order, the last of which
// is the last of all.
func boundValues(u *pg.UpdateStmt, items, params int) int {
	if len(u.TargetList) != items || items == 0 {
		return 0
	}
	number := func(i int) int { return int(u.TargetList[i].GetResTarget().GetVal().GetParamRef().GetNumber()) }
	first := number(0)
	n := params - first + 1
	if first == 0 || n < 1 || n > items {
		return 0
	}
	for i := range n {
		if number(i) != first+i {
			return 0
		}
	}
	return n
}

func (g *Guard) insertAgain(ctx context.Context, cat Catalog, ins *pg.InsertStmt, params []json.RawMessage) (*Statement, error) {
	width := len(ins.Cols)
	if ins.Relation == nil || width == 0 || len(params)%width != 0 {
		return nil, notOurs()
	}
	spec := InsertSpec{Table: QuoteName(ins.Relation.Schemaname, ins.Relation.Relname), Rows: slices.Collect(slices.Chunk(params, width))}
	for _, c := range ins.Cols {
		spec.Columns = append(spec.Columns, QuoteIdent(c.GetResTarget().GetName()))
	}
	return g.Insert(ctx, cat, spec)
}

// cutWhere parts tokens at the statement's own WHERE; those of sub-selects and FILTER stand in brackets.
func cutWhere(tokens []token) (before, behind []token) {
	parts := splitAt(tokens, pg.Token_WHERE)
	if len(parts) < 2 {
		return tokens, nil
	}
	return parts[0], tokens[len(parts[0])+1:]
}

// splitAt parts tokens at those of a kind that stand outside all brackets.
func splitAt(tokens []token, kind pg.Token) [][]token {
	var out [][]token
	depth, start := 0, 0
	for i, t := range tokens {
		switch t.kind {
		case pg.Token_ASCII_40, pg.Token_ASCII_91:
			depth++
		case pg.Token_ASCII_41, pg.Token_ASCII_93:
			depth--
		case kind:
			if depth == 0 {
				out = append(out, tokens[start:i])
				start = i + 1
			}
		}
	}
	return append(out, tokens[start:])
}
