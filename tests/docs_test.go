package tests

import (
	"encoding/json"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	initsql "github.com/jpka/sw-postgres-mcp/docker/init"
	"github.com/jpka/sw-postgres-mcp/internal/config"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// The documents that speak of the product's words. DECISIONS.md only has its links checked.
const (
	readme    = "README.md"
	reference = "docs/reference.md"
)

// The error codes: the same set in the code and in the reference, each with a meaning and, unless
// it never occurs, a next step.
func TestDocsErrorCodes(t *testing.T) {
	t.Parallel()
	table := docRows(docSection(t, docText(t, reference), "## Error codes"))
	require.Equal(t, errorCodes(), docColumn(t, table, 0), "docs/reference.md, Error codes, in the order of refusal.Codes()")
	raised := namesUsed(t, "refusal", "internal", "cmd")
	for _, cells := range table {
		require.Len(t, cells, 3, cells[0])
		require.NotEmpty(t, cells[1], cells[0])
		reserved := strings.HasPrefix(cells[1], "*reserved*")
		require.Equal(t, reserved, cells[2] == "", "%s: a next step, unless it is reserved", cells[0])
		require.Equal(t, !reserved, raised[refusalName(t, tickedText(t, cells[0]))], "%s: reserved means that nothing raises it", cells[0])
	}
}

func TestDocsWarningCodes(t *testing.T) {
	t.Parallel()
	table := docRows(docSection(t, docText(t, reference), "## Warning codes"))
	raised := namesUsed(t, "plan", "internal/writecore", "internal/tools")
	codes := warningCodes(t)
	require.Equal(t, slices.Sorted(maps.Keys(codes)), sortedCopy(docColumn(t, table, 0)))
	for _, cells := range table {
		reserved := strings.HasPrefix(cells[1], "*reserved*")
		require.Equal(t, !reserved, raised[codes[tickedText(t, cells[0])]], "%s: reserved means that nothing raises it", cells[0])
	}
}

// The page's codes: all it makes itself are documented; what is documented beyond them is a
// refusal of the core that it passes on.
func TestDocsPageCodes(t *testing.T) {
	t.Parallel()
	var documented []string
	for _, cells := range docRows(docSection(t, docText(t, reference), "## The approval page over HTTP")) {
		if len(cells) == 3 {
			require.Regexp(t, `^[45]\d\d$`, cells[0])
			documented = append(documented, tickedText(t, cells[1]))
		}
	}
	own := pageCodes(t)
	for _, code := range own {
		require.Contains(t, documented, code)
	}
	for _, code := range documented {
		require.Contains(t, slices.Concat(own, errorCodes()), code, "the page has no such code")
	}
}

// The routes: every address that the router knows is documented, and no other.
func TestDocsRoutes(t *testing.T) {
	t.Parallel()
	tree, _ := parseSource(t, sourceFile{path: "internal/approvalui/routes.go"})
	known := map[string]bool{}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "find" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && len(text) > 0 && text[0] == '/' {
					known[text] = true
				}
			case *ast.BinaryExpr:
				if lit, ok := n.Y.(*ast.BasicLit); ok && isIdent(n.X, "verb") {
					known["/api/plans/{token}/"+literalOf(t, lit)] = true
				}
			}
			return true
		})
	}
	// A prefix in the router is an address with a name behind it; "/" alone is the cut before a verb too.
	want := map[string]bool{}
	for path := range known {
		switch path {
		case "/static/":
			want["/static/…"] = true
		case "/plans/", "/api/plans/":
			want[path+"{token}"] = true
		default:
			want[path] = true
		}
	}
	documented := map[string]bool{}
	for _, cells := range docRows(docSection(t, docText(t, reference), "## The approval page over HTTP")) {
		if len(cells) == 2 {
			method, path, found := strings.Cut(tickedText(t, cells[0]), " ")
			require.True(t, found && (method == "GET" || method == "POST"), cells[0])
			documented[path] = true
		}
	}
	require.Equal(t, want, documented)
}

// The configuration: names, defaults and variables are the same in the code and in the reference.
func TestDocsConfigurationKeys(t *testing.T) {
	t.Parallel()
	table := docRows(docSection(t, docText(t, reference), "## Configuration"))
	documented := map[string]config.Key{}
	for _, cells := range table {
		require.Len(t, cells, 4, cells[0])
		require.NotEmpty(t, cells[3], cells[0])
		key := config.Key{Name: tickedText(t, cells[0]), Default: strings.Trim(cells[1], "`"), Env: []string{}}
		for env := range strings.SplitSeq(cells[2], ",") {
			if env = strings.TrimSpace(env); env != "" {
				key.Env = append(key.Env, tickedText(t, env))
			}
		}
		documented[key.Name] = key
	}
	want := map[string]config.Key{}
	for _, k := range config.Keys() {
		want[k.Name] = k
	}
	require.Len(t, table, len(want))
	require.Equal(t, want, documented)
}

// keyShape are the names of keys as a document writes them.
var keyShape = regexp.MustCompile("`((?:database|allowlist|write|query|migration|approval|approvalServer|audit|journal)\\.[A-Za-z.]+|callerId|tools|mask)`")

// wordShape are the words that could be a code or a variable.
var wordShape = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// No document speaks of a key, a code or a variable that does not exist.
func TestDocsNoUnknownWords(t *testing.T) {
	t.Parallel()
	words := map[string]bool{"ON_ERROR_STOP": true, "SW_POSTGRES_CONFIG": true, "SW_TEST_POSTGRES_URL": true, "SW_TEST_POSTGRES_BIN": true, "SW_TEST_POSTGRES_DOCKER": true, "XDG_RUNTIME_DIR": true}
	keys := map[string]bool{}
	for _, k := range config.Keys() {
		keys[k.Name] = true
		for _, env := range k.Env {
			words[env] = true
		}
	}
	for _, code := range slices.Concat(errorCodes(), slices.Collect(maps.Keys(warningCodes(t))), pageCodes(t)) {
		words[code] = true
	}
	for _, path := range []string{readme, reference, "SECURITY.md", "CONTRIBUTING.md"} {
		doc := docText(t, path)
		for _, m := range keyShape.FindAllStringSubmatch(doc, -1) {
			require.True(t, keys[m[1]], "%s: there is no key %s", path, m[1])
		}
		for _, word := range wordShape.FindAllString(doc, -1) {
			require.True(t, words[word], "%s: there is no code or variable %s", path, word)
		}
	}
	require.Regexp(t, keyShape, docText(t, readme))
	require.Regexp(t, wordShape, docText(t, readme))
}

// The tools: every argument with its type's name, required or not, as in the schema that clients get.
func TestDocsToolArguments(t *testing.T) {
	t.Parallel()
	doc := docText(t, reference)
	body := docText(t, readme)
	for _, tool := range tools.All(tools.Deps{}) {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		require.NoError(t, json.Unmarshal(tool.Schema, &schema))
		documented := map[string]string{}
		for _, cells := range docRows(docSection(t, doc, "### `"+tool.Name+"`")) {
			require.Len(t, cells, 4, "%s %s", tool.Name, cells[0])
			documented[tickedText(t, cells[0])] = cells[2]
		}
		want := map[string]string{}
		for name := range schema.Properties {
			want[name] = "no"
			if slices.Contains(schema.Required, name) {
				want[name] = "yes"
			}
		}
		require.Equal(t, want, documented, tool.Name)
		require.Contains(t, body, "| `"+tool.Name+"` |", "README.md, The eight tools")
	}
	require.Len(t, regexp.MustCompile("(?m)^### `").FindAllString(doc, -1), len(tools.All(tools.Deps{})), "a tool that does not exist")
}

// The audit table: columns and statuses as the SQL makes them.
func TestDocsAudit(t *testing.T) {
	t.Parallel()
	sql, err := initsql.Files.ReadFile("02_audit.sql")
	require.NoError(t, err)
	_, body, found := strings.Cut(string(sql), "CREATE TABLE IF NOT EXISTS mcp_audit.log (")
	require.True(t, found)
	var columns []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+) +(?:bigint|timestamptz|text|jsonb)\b`).FindAllStringSubmatch(body, -1) {
		columns = append(columns, m[1])
	}
	check := regexp.MustCompile(`(?s)log_status_known CHECK \(status IN\s*\((.*?)\)\)`).FindStringSubmatch(body)
	require.Len(t, check, 2)
	var statuses []string
	for _, m := range regexp.MustCompile(`'([a-z_]+)'`).FindAllStringSubmatch(check[1], -1) {
		statuses = append(statuses, m[1])
	}
	documented := docColumn(t, docRows(docSection(t, docText(t, reference), "## Audit")), 0)
	require.Equal(t, sortedCopy(slices.Concat(columns, statuses)), sortedCopy(documented))
}

// The commands: every one that the binary has, and no other.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	var commands []string
	for _, f := range sourceFiles(t, "cmd") {
		if f.test {
			continue
		}
		tree, _ := parseSource(t, f)
		ast.Inspect(tree, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok && isIdent(kv.Key, "Use") {
				name, _, _ := strings.Cut(literalOf(t, kv.Value), " ")
				commands = append(commands, name)
			}
			return true
		})
	}
	text := docSection(t, docText(t, reference), "## Command line")
	var documented []string
	for _, cells := range docRows(text) {
		if strings.HasPrefix(cells[0], "`") {
			words := strings.Fields(tickedText(t, cells[0]))
			documented = append(documented, words[len(words)-1]) // "approvals open" is the command open of approvals
		}
	}
	require.Equal(t, sortedCopy(commands), sortedCopy(append(documented, "sw-postgres-mcp")))
}

// The examples in README.md are JSON, name absolute paths, and are accepted.
func TestDocsExamples(t *testing.T) {
	t.Parallel()
	clients, configurations := 0, 0
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(docText(t, readme), -1) {
		var block struct {
			MCPServers map[string]clientEntry `json:"mcpServers"`
			Servers    map[string]clientEntry `json:"servers"`
			Database   json.RawMessage        `json:"database"`
		}
		require.NoError(t, json.Unmarshal([]byte(m[1]), &block), m[1])
		for _, list := range []map[string]clientEntry{block.MCPServers, block.Servers} {
			for name, entry := range list {
				clients++
				require.True(t, filepath.IsAbs(entry.Command), "%s: clients start the server elsewhere", name)
				require.True(t, filepath.IsAbs(entry.Env["SW_POSTGRES_CONFIG"]), name)
			}
		}
		if block.Database != nil {
			configurations++
			path := filepath.Join(t.TempDir(), "config.json")
			require.NoError(t, os.WriteFile(path, []byte(m[1]), 0o600))
			_, _, err := config.Load(path, func(string) (string, bool) { return "", false })
			require.NoError(t, err)
		}
	}
	require.Equal(t, 2, clients)
	require.Equal(t, 1, configurations)
	require.Contains(t, docText(t, readme), "claude mcp add --env SW_POSTGRES_CONFIG=/")
}

type clientEntry struct {
	Command string            `json:"command"`
	Env     map[string]string `json:"env"`
}

// config.example.json is a configuration that starts.
func TestDocsExampleConfiguration(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(filepath.Join("..", "config.example.json"), func(string) (string, bool) { return "", false })
	require.NoError(t, err)
}

// Every `make` target that a document names exists.
func TestDocsMakeTargets(t *testing.T) {
	t.Parallel()
	makefile := docText(t, "Makefile")
	named := map[string]bool{}
	for _, path := range []string{readme, reference, "CONTRIBUTING.md", "SECURITY.md", "DECISIONS.md"} {
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z-]*)").FindAllStringSubmatch(docText(t, path), -1) {
			named[m[1]] = true
			require.Regexp(t, `(?m)^`+m[1]+`\s*:`, makefile, "%s: make %s", path, m[1])
		}
	}
	require.Subset(t, slices.Collect(maps.Keys(named)), []string{"demo", "test", "setup", "build"})
}

// Links between the documents lead somewhere, headings included.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	paths := []string{readme, "SECURITY.md", "CONTRIBUTING.md", "DECISIONS.md"}
	more, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range more {
		paths = append(paths, "docs/"+filepath.Base(path))
	}
	links := 0
	for _, path := range paths {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(docText(t, path), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(path)), filepath.FromSlash(file)))
				_, err := os.Stat(filepath.Join("..", filepath.FromSlash(target)))
				require.NoError(t, err, "%s links to %s", path, m[1])
			}
			if anchor != "" {
				require.Contains(t, docAnchors(docText(t, target)), anchor, "%s links to %s", path, m[1])
			}
		}
	}
	require.NotZero(t, links)
}

// The contents at the top of the reference name every section, in order, and the longer parts of sections.
func TestDocsContents(t *testing.T) {
	t.Parallel()
	doc := docText(t, reference)
	top, _, found := strings.Cut(doc, "\n## ")
	require.True(t, found)
	var listed []string
	for _, m := range regexp.MustCompile(`\[([^\]]+)\]\(#[a-z0-9-]+\)`).FindAllStringSubmatch(top, -1) {
		listed = append(listed, m[1])
	}
	at := 0
	for _, m := range regexp.MustCompile(`(?m)^(##+) (.+)$`).FindAllStringSubmatch(doc, -1) {
		if i := slices.Index(listed, m[2]); i >= 0 {
			require.GreaterOrEqual(t, i, at, "%s is out of its order", m[2])
			at = i
		} else {
			require.NotEqual(t, "##", m[1], "the contents lack %s", m[2])
		}
	}
	require.NotZero(t, at)
}

// The tests that the README's tables name exist, as the targets do (TestDocsMakeTargets).
func TestDocsNamedTestsExist(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
		return err
	}))
	named := 0
	for _, path := range []string{readme, reference, "CONTRIBUTING.md", "SECURITY.md"} {
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(docText(t, path), -1) {
			require.True(t, there[name], "%s names %s", path, name)
			named++
		}
	}
	require.Greater(t, named, 30)
}
