package sqlguard

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// maxParams is the protocol's limit on parameters of one statement (a 16-bit count).
const maxParams = 65535

// call is one function call of the text.
type call struct {
	name    Name
	args    []*pg.Node
	settled bool // its result's type goes no further, see reg.go
	source  bool // it stands in FROM
}

// found is everything a tree names that must be judged. The walk is generic over the grammar's
// messages: a node that this package does not know is still searched.
type found struct {
	relations []Name // in the text's order, CTE names left out, without duplicates
	named     []Name // relations named inside literals ('x'::regclass): checked if they exist
	calls     []call
	operators []Name
	types     []Name
	fields    []attribute       // x.field: may be a function in attribute notation
	aliases   map[string][]Name // relations by the names that stand for them, at any depth
	others    map[string]bool   // names of sub-selects, CTEs and functions in FROM
	newer     string            // syntax that servers before Postgres 16 read as something else
	typeNames []string          // literals that name types
	tableoid  bool              // tableoid::regclass
	renames   bool              // something may give columns the name tableoid
	params    map[int]bool
	dynamic   string // a construct that turns values into relations, e.g. "a cast to regclass"
	writes    string // a data-modifying statement inside, e.g. "DELETE"
	into      bool
	subselect bool
	locking   bool
	err       error
	seen      map[string]bool
	skip      map[*pg.RangeVar]bool // relations that the caller checks itself
	roots     []proto.Message       // the trees
	top       *pg.SelectStmt        // of a read, the outermost SELECT

	settled     map[proto.Message]bool // values whose type goes no further, see reg.go
	sources     map[proto.Message]bool // calls in FROM
	searches    map[proto.Message]bool // casts that are the configuration of a text search
	columns     []attribute            // columns that are not settled, "*" for all
	mixed       string                 // a value of a reg* type that is not settled
	renamed     map[Name]bool          // relations with a list of column names behind their alias
	joins       map[string]bool        // names of joins
	joinRenames bool                   // some join has such a list
	inherits    map[Name]bool          // relations read with their children, that is without ONLY

	statistics []Name // existing statistics objects of DDL, which no node of the grammar tells from other names
}

func newFound() *found {
	return &found{
		params: map[int]bool{}, seen: map[string]bool{}, aliases: map[string][]Name{}, others: map[string]bool{},
		settled: map[proto.Message]bool{}, searches: map[proto.Message]bool{}, sources: map[proto.Message]bool{}, renamed: map[Name]bool{}, joins: map[string]bool{}, inherits: map[Name]bool{},
	}
}

// scope is the chain of CTE names visible at a point.
type scope struct {
	names map[string]bool
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

func (f *found) known(kind string, n Name) bool { return f.seen[kind+"\x00"+n.Schema+"\x00"+n.Name] }

func (f *found) first(kind string, n Name) bool {
	key := kind + "\x00" + n.Schema + "\x00" + n.Name
	if f.seen[key] {
		return false
	}
	f.seen[key] = true
	return true
}

func (f *found) addRelation(n Name) {
	if f.first("r", n) {
		f.relations = append(f.relations, n)
	}
}

func (f *found) addNamed(n Name) {
	if f.first("n", n) {
		f.named = append(f.named, n)
	}
}

func (f *found) addOperator(names []*pg.Node) {
	n, ok := f.name("operator", names)
	if ok && f.first("o", n) {
		f.operators = append(f.operators, n)
	}
}

// addEquals is for the forms that Postgres turns into "=" by name (parse_expr.c, parse_clause.c).
func (f *found) addEquals() { f.addOperator([]*pg.Node{pg.MakeStrNode("=")}) }

func (f *found) addType(n Name) {
	if f.first("t", n) {
		f.types = append(f.types, n)
	}
}

func (f *found) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// name reads a list of String nodes as a name.
func (f *found) name(what string, nodes []*pg.Node) (Name, bool) {
	parts := strs(nodes)
	switch len(parts) {
	case 1:
		return Name{Name: parts[0]}, true
	case 2:
		return Name{Schema: parts[0], Name: parts[1]}, true
	}
	f.fail(refusal.New(refusal.InvalidInput,
		fmt.Sprintf("The %s name %s has too many parts.", what, strings.Join(parts, ".")), "Write it as schema.name."))
	return Name{}, false
}

func strs(nodes []*pg.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if s := n.GetString_(); s != nil {
			out = append(out, s.Sval)
		}
	}
	return out
}

// rangeName is the name of a relation in the text.
func (f *found) rangeName(rv *pg.RangeVar) (Name, bool) {
	if rv.GetCatalogname() != "" {
		f.fail(refusal.New(refusal.InvalidTableName,
			fmt.Sprintf("The table name %s.%s.%s has three parts.", rv.Catalogname, rv.Schemaname, rv.Relname),
			"Write it as schema.table; the database is the one this server is connected to."))
		return Name{}, false
	}
	return Name{Schema: rv.GetSchemaname(), Name: rv.GetRelname()}, rv != nil
}

// add collects from a tree of the text.
func (f *found) add(root proto.Message) {
	f.roots = append(f.roots, root)
	f.walk(root.ProtoReflect(), nil)
}

// walk collects from one message and everything below it.
func (f *found) walk(m protoreflect.Message, sc *scope) {
	if !m.IsValid() || f.err != nil {
		return
	}
	f.settleBelow(m.Interface())
	switch n := m.Interface().(type) {
	case *pg.SelectStmt:
		sc = f.with(n.WithClause, sc)
		f.into = f.into || n.IntoClause != nil
		f.locking = f.locking || len(n.LockingClause) > 0
		f.children(m, sc, "with_clause", "into_clause")
		return
	case *pg.InsertStmt:
		f.writes = "INSERT"
		sc = f.with(n.WithClause, sc)
		f.children(m, sc, "with_clause")
		return
	case *pg.UpdateStmt:
		f.writes = "UPDATE"
		sc = f.with(n.WithClause, sc)
		f.children(m, sc, "with_clause")
		return
	case *pg.DeleteStmt:
		f.writes = "DELETE"
		sc = f.with(n.WithClause, sc)
		f.children(m, sc, "with_clause")
		return
	case *pg.MergeStmt:
		f.writes = "MERGE"
		sc = f.with(n.WithClause, sc)
		f.children(m, sc, "with_clause")
		return
	case *pg.RangeVar:
		name, ok := f.rangeName(n)
		cte := name.Schema == "" && sc.has(name.Name)
		f.standsFor(n, name, cte)
		if ok && !cte && !f.skip[n] {
			f.addRelation(name)
			if n.Inh {
				f.inherits[name] = true
			}
		}
		return // its alias is no sub-select's
	case *pg.Alias:
		f.others[n.Aliasname] = true
		f.renames = f.renames || contains(strs(n.Colnames), "tableoid")
	case *pg.CommonTableExpr:
		f.renames = f.renames || contains(strs(n.Aliascolnames), "tableoid")
	case *pg.ResTarget:
		f.renames = f.renames || n.Name == "tableoid"
	case *pg.RangeFunction, *pg.RangeTableFunc:
		f.renames = true
	case *pg.FuncCall:
		if name, ok := f.name("function", n.Funcname); ok {
			f.calls = append(f.calls, call{name: name, args: n.Args, settled: f.settled[n], source: f.sources[n]})
			f.nameArguments(name, n.Args)
			if regType(name) && len(n.Args) == 1 && !f.settled[n] {
				f.mixed = "a value of type " + name.Name
			}
		}
	case *pg.A_Expr:
		f.expr(n)
	case *pg.SubLink:
		f.subselect = true
		switch {
		case len(n.OperName) > 0:
			f.addOperator(n.OperName)
		case n.Testexpr != nil: // IN
			f.addEquals()
		}
	case *pg.CaseExpr:
		if n.Arg != nil {
			f.addEquals()
		}
	case *pg.JoinExpr:
		f.join(n)
		if n.IsNatural || len(n.UsingClause) > 0 {
			f.addEquals()
		}
	case *pg.SortBy:
		if len(n.UseOp) > 0 {
			f.addOperator(n.UseOp)
		}
	case *pg.ColumnRef:
		f.column(n)
		if parts := strs(n.Fields); len(parts) > 1 && len(parts) == len(n.Fields) {
			f.addField(attribute{parts[len(parts)-2], parts[len(parts)-1]})
		}
	case *pg.A_Indirection:
		for _, field := range strs(n.Indirection) {
			f.addField(attribute{field: field})
		}
	case *pg.JsonArrayConstructor, *pg.JsonArrayQueryConstructor, *pg.JsonObjectConstructor, *pg.JsonArrayAgg, *pg.JsonObjectAgg:
		f.newer = "an SQL/JSON constructor"
	case *pg.JsonIsPredicate:
		f.newer = "IS JSON"
	case *pg.ParamRef:
		if n.Number < 1 || n.Number > maxParams {
			f.fail(refusal.New(refusal.InvalidInput, fmt.Sprintf("There can be no parameter $%d.", n.Number),
				"Number parameters from $1 on, without gaps."))
			return
		}
		f.params[int(n.Number)] = true
	case *pg.Constraint:
		if n.Indexspace != "" {
			f.fail(formTablespace.refuse())
			return
		}
		for _, e := range n.Exclusions { // pairs of an index element and an operator's name
			if pair := e.GetList().GetItems(); len(pair) == 2 {
				f.addOperator(pair[1].GetList().GetItems())
			}
		}
	case *pg.SetToDefault:
		f.fail(refusal.New(refusal.InvalidInput, "DEFAULT stands where only an expression can.",
			`DEFAULT is taken alone, as the value of a column in set_expressions.`))
	case *pg.TypeCast:
		if t := n.TypeName; t != nil && len(t.ArrayBounds) == 0 {
			if name, ok := f.name("type", t.Names); ok && regType(name) {
				if !f.searches[n] {
					f.reg(name.Name, n.Arg)
				}
				if !f.settled[n] {
					f.mixed = "a value of type " + name.Name
				}
				f.children(m, sc, "type_name")
				return
			}
		}
	case *pg.TypeName:
		if name, ok := f.name("type", n.Names); ok {
			if regType(name) {
				f.dynamic = "a cast to " + name.Name
			}
			f.addType(name)
		}
	}
	f.children(m, sc)
}

func (f *found) children(m protoreflect.Message, sc *scope, skip ...string) {
	if _, ok := m.Interface().(*pg.Node); ok { // one of 250 kinds: do not try them all
		if fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); fd != nil && fd.Kind() == protoreflect.MessageKind {
			f.walk(m.Get(fd).Message(), sc)
		}
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Kind() != protoreflect.MessageKind || !m.Has(fd) || contains(skip, string(fd.Name())) {
			continue
		}
		v := m.Get(fd)
		if !fd.IsList() {
			f.walk(v.Message(), sc)
			continue
		}
		for j := range v.List().Len() {
			f.walk(v.List().Get(j).Message(), sc)
		}
	}
}

// visit calls see with a message and everything below it.
func visit(m protoreflect.Message, see func(protoreflect.Message)) {
	if !m.IsValid() {
		return
	}
	if _, ok := m.Interface().(*pg.Node); ok {
		if fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); fd != nil && fd.Kind() == protoreflect.MessageKind {
			visit(m.Get(fd).Message(), see)
		}
		return
	}
	see(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				visit(v.List().Get(i).Message(), see)
			}
		default:
			visit(v.Message(), see)
		}
		return true
	})
}

// with walks the CTEs of a statement and gives the scope of its body. Without RECURSIVE a CTE sees
// only those before it; with it all see each other (parse_cte.c).
func (f *found) with(w *pg.WithClause, sc *scope) *scope {
	if w == nil {
		return sc
	}
	inner := &scope{names: map[string]bool{}, outer: sc}
	if w.Recursive {
		for _, n := range w.Ctes {
			inner.names[n.GetCommonTableExpr().GetCtename()] = true
		}
	}
	for _, n := range w.Ctes {
		cte := n.GetCommonTableExpr()
		f.walk(cte.ProtoReflect(), inner)
		if !w.Recursive {
			// A new link, so that the CTEs before do not see it.
			inner = &scope{names: map[string]bool{cte.GetCtename(): true}, outer: inner}
		}
	}
	return inner
}

// expr collects the operators that an A_Expr stands for.
func (f *found) expr(n *pg.A_Expr) {
	var symbols []string
	switch n.Kind {
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		symbols = []string{"<", ">", "<=", ">="}
	default:
		f.addOperator(n.Name)
		return
	}
	for _, s := range symbols {
		f.addOperator([]*pg.Node{pg.MakeStrNode(s)})
	}
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}
