package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// document reads one file of the module.
func docText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
	require.NoError(t, err)
	return string(text)
}

// section is what stands below a heading, up to the next of the same or a higher level.
func docSection(t *testing.T, doc, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(doc, "\n"+heading+"\n")
	require.True(t, found, "there is no heading %q", heading)
	level := strings.IndexByte(heading, ' ')
	for _, line := range strings.SplitAfter(rest, "\n") {
		if n := strings.IndexByte(line, ' '); n > 0 && n <= level && strings.Trim(line[:n], "#") == "" {
			head, _, _ := strings.Cut(rest, "\n"+line)
			return head
		}
	}
	return rest
}

// rows are the cells of the tables in a text, without their heads.
func docRows(text string) [][]string {
	var out [][]string
	head := true
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			head = true
			continue
		}
		if strings.HasPrefix(line, "|---") {
			head = false
			continue
		}
		if head {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, cells)
	}
	return out
}

// ticked is the text of a cell that is one piece of code.
func tickedText(t *testing.T, cell string) string {
	t.Helper()
	require.Regexp(t, "^`[^`]+`$", cell)
	return strings.Trim(cell, "`")
}

func docColumn(t *testing.T, table [][]string, i int) []string {
	t.Helper()
	require.NotEmpty(t, table)
	var out []string
	for _, cells := range table {
		out = append(out, tickedText(t, cells[i]))
	}
	return out
}

func sortedCopy(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}

func errorCodes() []string {
	var out []string
	for _, c := range refusal.Codes() {
		out = append(out, string(c))
	}
	return out
}

// goName finds the constant of a code in internal/refusal.
func refusalName(t *testing.T, code string) string {
	t.Helper()
	tree, _ := parseSource(t, sourceFile{path: "internal/refusal/refusal.go"})
	name := ""
	ast.Inspect(tree, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Value == strconv.Quote(code) {
				name = v.Names[0].Name
			}
		}
		return true
	})
	require.NotEmpty(t, name, code)
	return name
}

var codeShape = regexp.MustCompile(`^[A-Z]+(?:_[A-Z]+)*$`)

// namesUsed are the names X that some package below uses as pkg.X.
func namesUsed(t *testing.T, pkg string, below ...string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range sourceFiles(t, below...) {
		if f.test {
			continue
		}
		tree, _ := parseSource(t, f)
		ast.Inspect(tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isIdent(sel.X, pkg) {
				out[sel.Sel.Name] = true
			}
			return true
		})
	}
	return out
}

// warningCodes are the constants Warn… of the package plan: value to name.
func warningCodes(t *testing.T) map[string]string {
	t.Helper()
	tree, _ := parseSource(t, sourceFile{path: "internal/writecore/plan/types.go"})
	out := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Warn") && len(v.Values) == 1 {
			out[literalOf(t, v.Values[0])] = v.Names[0].Name
		}
		return true
	})
	require.NotEmpty(t, out)
	return out
}

func literalOf(t *testing.T, x ast.Expr) string {
	t.Helper()
	lit, ok := x.(*ast.BasicLit)
	require.True(t, ok)
	text, err := strconv.Unquote(lit.Value)
	require.NoError(t, err)
	return text
}

// pageCodes are the codes that the page's own code makes: the second field of a problem, and what
// is assigned to a Code.
func pageCodes(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	take := func(x ast.Expr) {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text := literalOf(t, lit); codeShape.MatchString(text) {
				found[text] = true
			}
		}
	}
	for _, f := range sourceFiles(t, "internal/approvalui") {
		if f.test {
			continue
		}
		tree, _ := parseSource(t, f)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if isIdent(n.Type, "problem") && len(n.Elts) > 1 {
					take(n.Elts[1])
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Code" && i < len(n.Rhs) {
						take(n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	require.NotEmpty(t, found)
	return slices.Sorted(maps.Keys(found))
}

// anchors are the headings of a document as forges name them.
func docAnchors(doc string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(doc, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	return out
}

// versionConst is the release as cmd has it. The package cannot be imported, so its source is read.
func versionConst(t *testing.T) string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "cmd", "sw-postgres-mcp", "version.go"), nil, 0)
	require.NoError(t, err)
	version := ""
	ast.Inspect(tree, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "version" && len(v.Values) == 1 {
			version = literalOf(t, v.Values[0])
		}
		return true
	})
	require.Regexp(t, `^\d+\.\d+\.\d+$`, version)
	return version
}
