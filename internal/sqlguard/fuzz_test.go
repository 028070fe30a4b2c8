package sqlguard

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

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
		if name := reservedName(d.WhereClause); name != "" {
			t.Fatalf("%q uses the name %s", where, name)
		}
	})
}

// reservedName gives a name of the tree that belongs to the statements built around it.
func reservedName(root proto.Message) string {
	found := ""
	note := func(names ...string) {
		for _, n := range names {
			if strings.HasPrefix(n, reservedPrefix) {
				found = n
			}
		}
	}
	visit(root.ProtoReflect(), func(m protoreflect.Message) {
		switch n := m.Interface().(type) {
		case *pg.ColumnRef:
			note(strs(n.Fields)...)
		case *pg.RangeVar:
			note(n.Relname, n.Schemaname)
		case *pg.Alias:
			note(append(strs(n.Colnames), n.Aliasname)...)
		case *pg.CommonTableExpr:
			note(append(strs(n.Aliascolnames), n.Ctename)...)
		case *pg.ResTarget:
			note(n.Name)
		case *pg.WindowDef:
			note(n.Name, n.Refname)
		}
	})
	return found
}

// FuzzSetExpression: what is accepted is one UPDATE of the target that sets the two columns that were
// meant, one of them to the text alone in brackets.
func FuzzSetExpression(f *testing.F) {
	for _, where := range lines(f, "testdata/where/accept.txt") {
		f.Add(where, "id = 1")
	}
	for _, line := range lines(f, "testdata/where/refuse.txt") {
		_, where, _ := strings.Cut(line, "\t")
		f.Add(where, "id = $1")
	}
	for _, expr := range []string{"DEFAULT", "default", "NULL", "status || $1", "'a', email = 'b'", "(SELECT max(name) FROM customers)", "1) WHERE (true"} {
		f.Add(expr, "")
	}
	g, cat := tightGuard(), newFake()
	f.Fuzz(func(t *testing.T, expr, where string) {
		s, err := g.Update(context.Background(), cat, UpdateSpec{
			Table: "customers", Where: where, Params: paramsFor(where + " " + expr),
			Set: []SetValue{{"status", []byte(`"x"`)}}, SetExpressions: []SetExpr{{"name", expr}},
		})
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
		u := tree.Stmts[0].Stmt.GetUpdateStmt()
		if u == nil || u.Relation.Relname != "customers" || u.FromClause != nil || u.ReturningList != nil || u.WithClause != nil ||
			u.WhereClause == nil || len(u.TargetList) != 2 {
			t.Fatalf("%q is not the UPDATE that was meant", s.SQL())
		}
		for i, column := range []string{"status", "name"} {
			if rt := u.TargetList[i].GetResTarget(); rt.GetName() != column || len(rt.Indirection) > 0 {
				t.Fatalf("%q does not set %s", s.SQL(), column)
			}
		}
		value := u.TargetList[1].GetResTarget().Val
		if value.GetSetToDefault() != nil {
			return
		}
		alone, err := pg.Parse("SELECT (" + expr + "\n)")
		if err != nil || len(alone.Stmts) != 1 || len(alone.Stmts[0].Stmt.GetSelectStmt().GetTargetList()) != 1 ||
			!sameTree(alone.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val, value) {
			t.Fatalf("%q does not set the expression alone: %v", s.SQL(), err)
		}
		if name := reservedName(value); name != "" {
			t.Fatalf("%q uses the name %s", expr, name)
		}
	})
}

// FuzzMigration: what is accepted is one statement of a kind that is taken, every relation it creates,
// changes or drops may be written, every other may be read, and none is left out.
func FuzzMigration(f *testing.F) {
	for _, sql := range slices.Concat(slices.Sorted(maps.Keys(migrationForms)), slices.Sorted(maps.Keys(migrationTargets)),
		slices.Sorted(maps.Keys(migrationFormsRefused))) {
		f.Add(sql)
	}
	for _, c := range corpus(f, "refuse") {
		f.Add(c.sql)
	}
	g, cat := tightGuard(), newFake()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := g.Migration(context.Background(), cat, text)
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
		node := tree.Stmts[0].Stmt
		switch node.Node.(type) {
		case *pg.Node_CreateStmt, *pg.Node_CreateTableAsStmt, *pg.Node_AlterTableStmt, *pg.Node_RenameStmt, *pg.Node_AlterObjectSchemaStmt,
			*pg.Node_DropStmt, *pg.Node_IndexStmt, *pg.Node_ViewStmt, *pg.Node_CreateEnumStmt, *pg.Node_AlterEnumStmt, *pg.Node_CommentStmt,
			*pg.Node_CreateSeqStmt, *pg.Node_AlterSeqStmt, *pg.Node_CreateDomainStmt, *pg.Node_AlterDomainStmt, *pg.Node_CreateStatsStmt,
			*pg.Node_CreateTrigStmt:
		default:
			t.Fatalf("%q is a %T", s.SQL(), node.Node)
		}
		d, checked := s.DDL(), map[string]bool{}
		for _, r := range append(append([]Target{}, d.Writes...), d.Creates...) {
			checked[r.Name] = true
			if !g.CanWrite(r.Schema, r.Name) && r.Kind != 'i' && r.Kind != 'I' {
				t.Fatalf("%q writes %s", s.SQL(), r)
			}
		}
		for _, r := range d.Reads {
			checked[r.Name] = true
			if !g.CanRead(r.Schema, r.Name) {
				t.Fatalf("%q reads %s", s.SQL(), r)
			}
		}
		ctes := map[string]bool{}
		visit(node.ProtoReflect(), func(m protoreflect.Message) {
			if c, ok := m.Interface().(*pg.CommonTableExpr); ok {
				ctes[c.Ctename] = true
			}
		})
		visit(node.ProtoReflect(), func(m protoreflect.Message) {
			if rv, ok := m.Interface().(*pg.RangeVar); ok && !checked[rv.Relname] && !ctes[rv.Relname] {
				t.Fatalf("%q names %s, which nothing checked", s.SQL(), rv.Relname)
			}
		})
		again, err := g.Migration(context.Background(), cat, s.SQL())
		if err != nil || again.SQL() != s.SQL() {
			t.Fatalf("%q does not read back: %v", s.SQL(), err)
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
