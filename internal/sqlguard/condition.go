package sqlguard

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// expression is one piece of agent text that stands inside a statement built here: a WHERE condition
// or the value of a SET.
type expression struct {
	what   string // for messages
	line   string // what goes out
	tokens []token
	node   *pg.Node // as parsed alone, in brackets
}

// parseCondition parses `where` alone, in brackets. Empty text (also only comments) gives nil.
func parseCondition(text string) (*expression, error) {
	return parseAlone("where", text, "SELECT 1 FROM t WHERE (", ")", func(s *pg.SelectStmt) (*pg.Node, func()) {
		return s.WhereClause, func() { s.WhereClause = nil }
	}, "SELECT 1 FROM t")
}

// parseValue parses the value of a SET alone, in brackets.
func parseValue(column, text string) (*expression, error) {
	return parseAlone(fmt.Sprintf("set_expressions[%s]", column), text, "SELECT (", ") FROM t",
		func(s *pg.SelectStmt) (*pg.Node, func()) {
			if len(s.TargetList) != 1 {
				return nil, func() {}
			}
			rt := s.TargetList[0].GetResTarget()
			return rt.GetVal(), func() { rt.Val = pg.MakeAConstIntNode(1, 0) }
		}, "SELECT 1 FROM t")
}

func parseAlone(what, text, before, after string, take func(*pg.SelectStmt) (*pg.Node, func()), skeleton string) (*expression, error) {
	line, tokens, err := clean(what, text, false)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, nil
	}
	for _, t := range tokens {
		if t.kind == pg.Token_ASCII_59 {
			return nil, refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s holds a semicolon.", what), "Send one expression.")
		}
	}
	if err := checkReserved(what, tokens); err != nil {
		return nil, err
	}
	stmt, err := parseOne(what, before+line+after)
	if err != nil {
		return nil, err
	}
	bare, err := parseOne(what, skeleton)
	if err != nil {
		return nil, err
	}
	// Brackets in the text must not pair with ours: without ours it must be the same.
	open, err := parseOne(what, strings.TrimSuffix(before, "(")+line+strings.TrimPrefix(after, ")"))
	if err != nil || !sameTree(stmt, open) {
		return nil, notOneExpression(what)
	}
	sel := stmt.GetSelectStmt()
	if sel == nil {
		return nil, notOneExpression(what)
	}
	node, cut := take(sel)
	if node == nil {
		return nil, notOneExpression(what)
	}
	node = proto.Clone(node).(*pg.Node)
	cut()
	if !sameTree(stmt, bare) {
		return nil, notOneExpression(what)
	}
	return &expression{what: what, line: line, tokens: tokens, node: node}, nil
}

func notOneExpression(what string) error {
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s is more than one expression.", what),
		"Send one SQL expression, without clauses around it.")
}

// collect gathers what the expression names. Sub-selects may read, nothing else.
func (e *expression) collect(f *found) error {
	f.add(e.node)
	switch {
	case f.err != nil:
		return f.err
	case f.writes != "":
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s holds %s.", e.what, article(f.writes)), "Sub-selects may only read.")
	case f.locking:
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("The %s locks rows.", e.what), "Leave FOR UPDATE out; the rows that are changed get locked.")
	case f.into:
		return notOneExpression(e.what)
	}
	return nil
}

// agree checks that inside the finished statement the expressions are what they are alone and that
// all the rest is what this package wrote. parts gives the places of the expressions in a statement;
// skeleton is the statement with harmless values in their place.
func agree(sql, skeleton string, exprs []*expression, parts func(*pg.Node) []**pg.Node) error {
	if _, err := scan("statement", sql); err != nil {
		return err
	}
	built, err := parseOne("statement", sql)
	if err != nil {
		// Alone in brackets it parsed: it is not an expression that may stand without them.
		return notOneExpression(names(exprs))
	}
	bare, err := parseOne("statement", skeleton)
	if err != nil {
		return fmt.Errorf("parsing the skeleton: %w", err)
	}
	got, want := parts(built), parts(bare)
	if len(got) != len(exprs) || len(want) != len(exprs) {
		return notOneExpression(names(exprs))
	}
	for i, e := range exprs {
		if *got[i] == nil || !sameTree(*got[i], e.node) {
			return notOneExpression(e.what)
		}
		*got[i] = nil
		*want[i] = nil
	}
	if !sameTree(built, bare) {
		return notOneExpression(names(exprs))
	}
	return nil
}

func names(exprs []*expression) string {
	if len(exprs) == 1 {
		return exprs[0].what
	}
	return "where or a SET expression"
}
