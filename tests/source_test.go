package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func parseSource(t *testing.T, f sourceFile) (*ast.File, *token.FileSet) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filepath.Join("..", filepath.FromSlash(f.path)), nil, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	return tree, set
}

// ends matches SQL that ends a transaction for good, at the beginning of a statement.
var endsTx = regexp.MustCompile(`(?i)(?:^|;)\s*(?:COMMIT|END|PREPARE\s+TRANSACTION)\b(?:\s*(?:;|$|WORK|TRANSACTION|AND|PREPARED|'))`)

// S01, S02: what a preview sends holds no COMMIT. The one COMMIT of the core is a variable; nothing
// that Preview or Recheck can reach mentions it, and no other text in the package is one.
func TestSourcePreviewCannotReachCommit(t *testing.T) {
	t.Parallel()
	const pkg = "internal/writecore"
	funcs := map[string][]*ast.FuncDecl{}
	var commits []string // the variables whose value holds a COMMIT
	for _, f := range sourceFiles(t, pkg) {
		if f.test || f.dir != pkg {
			continue
		}
		tree, set := parseSource(t, f)
		for _, d := range tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				funcs[d.Name.Name] = append(funcs[d.Name.Name], d)
				for _, lit := range txEndings(d) {
					t.Errorf("%s: a literal that ends a transaction, %s; it must be the variable commit", set.Position(lit.Pos()), lit.Value)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && len(txEndings(v)) > 0 {
						for _, n := range v.Names {
							commits = append(commits, n.Name)
						}
					}
				}
			}
		}
	}
	require.Equal(t, []string{"commit"}, commits, "the one COMMIT of the core")
	require.Contains(t, reachableNames(t, funcs, "Execute"), "commit", "the walk does not see what it should")
	for _, root := range []string{"Preview", "Recheck", "RecordExpired", "Refused", "Approve", "Reject"} {
		require.NotContains(t, reachableNames(t, funcs, root), "commit", "%s can reach the COMMIT", root)
	}
	sql, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "sql", "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, sql)
	for _, path := range sql {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotRegexp(t, `(?i)\bCOMMIT\b|\bPREPARE\s+TRANSACTION\b`, string(text), path)
	}
}

// endings are the string literals below n that are SQL which ends a transaction for good.
func txEndings(n ast.Node) []*ast.BasicLit {
	var out []*ast.BasicLit
	ast.Inspect(n, func(n ast.Node) bool {
		// What is compared with a command tag, and the name of a step, is no SQL that goes out.
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
			return false
		}
		if c, ok := n.(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"add", "result"}, sel.Sel.Name) {
				for _, arg := range c.Args {
					if _, name := arg.(*ast.BasicLit); !name {
						out = append(out, txEndings(arg)...)
					}
				}
				return false
			}
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && endsTx.MatchString(text) {
				out = append(out, lit)
			}
		}
		return true
	})
	return out
}

// mentions collects every name that root's body holds, and those of every function of the package
// with one of these names, and so on. It follows names, not types, so it sees too much, never too
// little.
func reachableNames(t *testing.T, funcs map[string][]*ast.FuncDecl, root string) map[string]bool {
	t.Helper()
	require.Contains(t, funcs, root)
	seen := map[string]bool{}
	todo := []string{root}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, f := range funcs[name] {
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
					seen[id.Name] = true
					todo = append(todo, id.Name)
				}
				return true
			})
		}
	}
	return seen
}

// S02: agent text never goes out by the simple protocol, which runs many statements: an
// "insert …; commit" in a preview would survive its ROLLBACK. In the package that speaks to
// Postgres the pipeline is the only way out, from two places. pgx sends the simple protocol from Exec
// and Query without arguments, from pgconn's Exec, and in its simple mode.
func TestSourceNoSimpleProtocol(t *testing.T) {
	t.Parallel()
	const pkg = "internal/postgres"
	// One file sends and executes, the other only lets the server describe parameters.
	waysOut := []string{"internal/postgres/flush.go", "internal/postgres/params.go"}
	// Not Query and Prepare: these are names of our own. A pgx Query would need an Acquire or an
	// Exec mode, and a Prepare executes nothing.
	forbidden := []string{"Exec", "ExecParams", "ExecPrepared", "ExecBatch", "QueryRow", "SendBatch", "CopyFrom", "CopyTo", "QueryExecModeSimpleProtocol"}
	var pipelines []string
	for _, f := range sourceFiles(t, pkg) {
		if f.test || f.dir != pkg {
			continue
		}
		tree, set := parseSource(t, f)
		ast.Inspect(tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch name := sel.Sel.Name; {
			case name == "StartPipeline":
				pipelines = append(pipelines, f.path)
			case slices.Contains(forbidden, name) && !isIdent(sel.X, "pgerrcode"):
				t.Errorf("%s: %s may speak the simple protocol; use Session.Flush", set.Position(n.Pos()), name)
			case name == "Query" && isIdent(sel.X, "pgproto3"):
				t.Errorf("%s: a simple Query message", set.Position(n.Pos()))
			}
			return true
		})
	}
	slices.Sort(pipelines)
	require.Equal(t, waysOut, pipelines, "the ways to the server")
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// S19: stdout is the protocol's. Nothing outside cmd knows it, and nothing ends the process or
// takes a signal but cmd.
func TestSourceStdoutBelongsToCmd(t *testing.T) {
	t.Parallel()
	banned := map[string][]string{
		"fmt":    {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
		"os":     {"Stdout", "Stdin", "Exit"},
		"log":    {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Default"},
		"signal": {"Notify", "NotifyContext", "Ignore"},
	}
	for _, f := range sourceFiles(t, "internal", "docker") {
		if f.test {
			continue
		}
		tree, set := parseSource(t, f)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(banned[x.Name], n.Sel.Name) {
					t.Errorf("%s: %s.%s; only cmd may", set.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			case *ast.CallExpr:
				if isIdent(n.Fun, "print") || isIdent(n.Fun, "println") {
					t.Errorf("%s: the builtin prints to stderr, past every log", set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// longFiles may hold more than maxLines, each for a reason.
var longFiles = map[string]string{}

// maxLines is where a file has become two; the aim is 400.
const maxLines = 500

func TestSourceFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, f := range sourceFiles(t, "cmd", "internal", "docker") {
		if f.test {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(f.path)))
		require.NoError(t, err)
		lines := strings.Count(string(text), "\n")
		_, listed := longFiles[f.path]
		switch {
		case lines > maxLines && !listed:
			t.Errorf("%s has %d lines; split it, or list it in longFiles with a reason", f.path, lines)
		case lines <= maxLines && listed:
			t.Errorf("%s is listed in longFiles and has only %d lines", f.path, lines)
		}
	}
}

// SQL is sent with its comments, to databases of any encoding: a character beyond ASCII in it is an error
// (22P05) where the encoding of the database has no such character.
func TestSourceSQLIsASCII(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, top := range []string{"cmd", "internal", "docker"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".sql") || strings.Contains(path, "testdata") {
				return err
			}
			seen++
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				if strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII }) {
					t.Errorf("%s:%d: %s", path, i+1, line)
				}
			}
			return nil
		}))
	}
	require.Greater(t, seen, 20)
}

// Every package says what it is for: the comment is the first thing its next reader sees.
func TestSourcePackageComments(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for _, f := range sourceFiles(t, "cmd", "internal", "docker") {
		if f.test {
			continue
		}
		tree, _ := parseSource(t, f)
		said[f.dir] += tree.Doc.Text()
	}
	for dir, text := range said {
		require.NotEmpty(t, strings.TrimSpace(text), "%s has no package comment", dir)
	}
}

// testName is the name of a test in a text; "TestS07" alone, and a name with "…" behind it, stand for
// every test that begins so.
var testName = regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark)[A-Z]\w*)(…)?`)

// Every test that a comment or a document names exists: a safety rule that points at no test is a
// promise that nothing holds.
func TestSourceNamedTestsExist(t *testing.T) {
	t.Parallel()
	defined := map[string]bool{}
	named := map[string][]string{} // a name as written, and where
	look := func(where, text string) {
		for _, m := range testName.FindAllString(text, -1) {
			named[m] = append(named[m], where)
		}
	}
	for _, f := range sourceFiles(t, "cmd", "internal", "docker", "tests") {
		tree, set := parseSource(t, f)
		for _, group := range tree.Comments {
			for _, c := range group.List {
				look(set.Position(c.Pos()).String(), c.Text)
			}
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				if v, isVar := d.(*ast.GenDecl); isVar { // what is named so and is no test
					ast.Inspect(v, func(n ast.Node) bool {
						if s, ok := n.(*ast.ValueSpec); ok {
							for _, id := range s.Names {
								defined[id.Name] = true
							}
						}
						return true
					})
				}
				continue
			}
			defined[fn.Name.Name] = true
		}
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docker/init/*.sql", "internal/*/*.sql", "internal/*/*/*.sql", "internal/*/*.sh"} {
		paths, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			look(path, string(text))
		}
	}
	require.Greater(t, len(named), 50, "the walk does not see what it should")
	group := regexp.MustCompile(`^TestS\d\d$`)
	for name, places := range named {
		prefix, some := strings.CutSuffix(name, "…")
		some = some || group.MatchString(name)
		found := defined[prefix]
		for have := range defined {
			found = found || some && strings.HasPrefix(have, prefix)
		}
		if !found {
			t.Errorf("there is no test %s; it is named in %s", name, strings.Join(places, ", "))
		}
	}
}

// sentencesIn are the packages whose refusals are all in words of their own. In the others some of
// the text is Postgres'.
var sentencesIn = []string{"internal/approvalui", "internal/mcpserver", "internal/sqlguard", "internal/tools", "internal/writecore", "internal/writecore/plan"}

// What a refusal says and what it advises are sentences: agents show them to people as they are.
func TestSourceRefusalsAreSentences(t *testing.T) {
	t.Parallel()
	// A capital, a number, a quote or a placeholder; or the name of an argument, a function, a tool.
	begins := regexp.MustCompile("^(?:[A-Z0-9\"'$%]|[a-z]+[_(\\[.]|nextval )")
	seen := 0
	for _, f := range sourceFiles(t, sentencesIn...) {
		if f.test || !slices.Contains(sentencesIn, f.dir) {
			continue
		}
		tree, set := parseSource(t, f)
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "New" || !isIdent(sel.X, "refusal") {
				return true
			}
			for _, arg := range call.Args[1:] {
				seen++
				if text, ok := edgeOf(t, arg, true); ok && !begins.MatchString(text) {
					t.Errorf("%s: %q does not begin as a sentence does", set.Position(arg.Pos()), text)
				}
				// A text that ends with a placeholder ends with what stands there.
				if text, ok := edgeOf(t, arg, false); ok && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "%s") {
					t.Errorf("%s: %q does not end with a full stop", set.Position(arg.Pos()), text)
				}
			}
			return true
		})
	}
	require.Greater(t, seen, 100, "the walk does not see what it should")
}

// edgeOf is the literal at the beginning or at the end of a text: of a literal itself, of a sum, of
// what Sprintf formats. ok is false where a variable stands.
func edgeOf(t *testing.T, e ast.Expr, first bool) (text string, ok bool) {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		return literalOf(t, e), true
	case *ast.BinaryExpr:
		if first {
			return edgeOf(t, e.X, first)
		}
		return edgeOf(t, e.Y, first)
	case *ast.CallExpr:
		if sel, is := e.Fun.(*ast.SelectorExpr); is && sel.Sel.Name == "Sprintf" {
			return edgeOf(t, e.Args[0], first)
		}
	}
	return "", false
}
