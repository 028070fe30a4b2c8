package sqlguard

import (
	"context"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// The fuzzer runs its targets in worker processes, so a death of the C parser is a finding and not
// the end of the run.

// FuzzRead: never a fault; what is accepted is one SELECT over readable relations, and what goes out
// is accepted again as itself.
func FuzzRead(f *testing.F) {
	for _, dir := range []string{"accept", "refuse"} {
		for _, c := range corpus(f, dir) {
			f.Add(c.sql)
		}
	}
	g, cat := tightGuard(), newFake()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := g.Read(context.Background(), cat, text, nil)
		if err != nil {
			if _, ok := refusal.As(err); !ok {
				t.Fatalf("a fault: %v", err)
			}
			return
		}
		for _, r := range s.Relations() {
			if !g.CanRead(r.Schema, r.Name) {
				t.Fatalf("reads %s", r)
			}
		}
		tree, err := pg.Parse(s.SQL())
		if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
			t.Fatalf("%q is not one SELECT: %v", s.SQL(), err)
		}
		again, err := g.Read(context.Background(), cat, s.SQL(), nil)
		if err != nil || again.SQL() != s.SQL() {
			t.Fatalf("%q does not read back: %v", s.SQL(), err)
		}
	})
}

// FuzzWhere: what is accepted is one DELETE of the target and nothing else, whose condition is the
// text alone in brackets.
func FuzzWhere(f *testing.F) {
	for _, where := range lines(f, "testdata/where/accept.txt") {
		f.Add(where)
	}
	for _, line := range lines(f, "testdata/where/refuse.txt") {
		_, where, _ := strings.Cut(line, "\t")
		f.Add(where)
	}
	g, cat := tightGuard(), newFake()
	f.Fuzz(func(t *testing.T, where string) {
		s, err := g.Delete(context.Background(), cat, DeleteSpec{Table: "customers", Where: where, Params: paramsFor(where)})
		if err != nil {
			if _, ok := refusal.As(err); !ok {
				t.Fatalf("a fault: %v", err)
			}
			return
		}
		tree, err := pg.Parse(s.SQL())
		if err != nil || len(tree.Stmts) != 1 {
			t.Fatalf("%q is not one statement: %v", s.SQL(), err)
		}
		d := tree.Stmts[0].Stmt.GetDeleteStmt()
		if d == nil || d.Relation.Relname != "customers" || d.UsingClause != nil || d.ReturningList != nil || d.WithClause != nil || d.WhereClause == nil {
			t.Fatalf("%q is not the DELETE that was meant", s.SQL())
		}
		alone, err := pg.Parse("SELECT 1 FROM t WHERE (" + where + "\n)")
		if err != nil || len(alone.Stmts) != 1 || !sameTree(alone.Stmts[0].Stmt.GetSelectStmt().WhereClause, d.WhereClause) {
			t.Fatalf("%q is not the condition alone: %v", s.SQL(), err)
		}
	})
}

// FuzzName: a name that is read is written back as itself.
func FuzzName(f *testing.F) {
	for _, s := range []string{"a", "A.b", `"a.b"."c""d"`, `U&"x"`, "a.b.c", " x ", "ü", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseName(text)
		if err != nil {
			return
		}
		again, err := ParseName(n.String())
		if err != nil || again != n {
			t.Fatalf("%q became %q became %v: %v", text, n.String(), again, err)
		}
	})
}
