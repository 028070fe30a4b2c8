package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/jpka/sw-postgres-mcp"

// arrow is what one package may import outside of its own test files: packages of this module, and
// foreign modules. A foreign entry also allows what lies below it.
type arrow struct {
	own     []string
	foreign []string
}

const (
	pgxModule    = "github.com/jackc/pgx/v5"
	testcontains = "github.com/testcontainers/testcontainers-go"
)

// arrows are the architecture: they point down only, siblings do not import each other, and each
// key library has one home. A package without a row here fails the test, so that a new one gets
// its place on purpose. cmd knows everyone and is the only one that may.
var arrows = map[string]arrow{
	"docker/init":             {},
	"internal/refusal":        {},
	"internal/strictjson":     {foreign: []string{"github.com/go-json-experiment/json/jsontext"}},
	"internal/toolpolicy":     {own: []string{"internal/strictjson"}},
	"internal/wire":           {own: []string{"internal/refusal"}},
	"internal/sqlguard":       {own: []string{"internal/refusal", "internal/strictjson", "internal/wire"}, foreign: []string{"github.com/pganalyze/pg_query_go/v5", "google.golang.org/protobuf"}},
	"internal/writecore/plan": {own: []string{"internal/refusal", "internal/strictjson"}},
	"internal/audit":          {own: []string{"internal/refusal", "internal/wire"}},
	"internal/postgres":       {own: []string{"internal/refusal", "internal/sqlguard", "internal/wire"}, foreign: []string{pgxModule, "github.com/jackc/pgerrcode", "golang.org/x/sync"}},
	"internal/writecore":      {own: []string{"internal/audit", "internal/refusal", "internal/sqlguard", "internal/toolpolicy", "internal/wire", "internal/writecore/plan"}},
	"internal/ask":            {own: []string{"internal/refusal", "internal/strictjson", "internal/writecore/plan"}},
	"internal/tools":          {own: []string{"internal/ask", "internal/refusal", "internal/sqlguard", "internal/strictjson", "internal/toolpolicy", "internal/wire", "internal/writecore", "internal/writecore/plan"}},
	"internal/mcpserver":      {own: []string{"internal/ask", "internal/refusal", "internal/tools"}, foreign: []string{"github.com/mark3labs/mcp-go"}},
	"internal/approvalui":     {own: []string{"internal/refusal", "internal/writecore/plan"}},
	"internal/runtimedir":     {},
	"internal/pinhash":        {foreign: []string{"golang.org/x/crypto/argon2"}},
	"internal/config":         {own: []string{"internal/pinhash", "internal/sqlguard", "internal/strictjson", "internal/toolpolicy"}, foreign: []string{"github.com/spf13/viper"}},
	"internal/pgtemp":         {own: []string{"docker/init"}, foreign: []string{pgxModule, "golang.org/x/sys"}},
	"internal/pgtemp/dockerpg": {
		own:     []string{"docker/init", "internal/pgtemp"},
		foreign: []string{testcontains},
	},
	"internal/demo": {own: []string{"docker/init", "internal/pgtemp"}, foreign: []string{pgxModule}},
	"cmd/sw-postgres-mcp": {
		own: []string{
			"docker/init", "internal/approvalui", "internal/ask", "internal/audit", "internal/config", "internal/demo", "internal/mcpserver",
			"internal/pgtemp", "internal/pinhash", "internal/postgres", "internal/refusal", "internal/runtimedir", "internal/sqlguard", "internal/strictjson",
			"internal/toolpolicy",
			"internal/tools", "internal/wire", "internal/writecore", "internal/writecore/plan",
		},
		foreign: []string{"github.com/spf13/cobra", "golang.org/x/sys", "golang.org/x/sync", "golang.org/x/term"},
	},
}

// testsOnly are foreign modules that also the test files of only one package may import: what they
// speak to has one home, and tests go through that home as everybody does.
var testsOnly = map[string][]string{
	testcontains:                             {"internal/pgtemp/dockerpg"},
	"github.com/mark3labs/mcp-go":            {"internal/mcpserver", "tests"},
	"github.com/modelcontextprotocol/go-sdk": {"tests"},
	"github.com/pganalyze/pg_query_go/v5":    {"internal/sqlguard"},
}

// sourceFile is one Go file of the module.
type sourceFile struct {
	path string // relative to the module, with slashes
	dir  string
	test bool
}

// sourceFiles lists every Go file below the given directories, whatever its build tags.
func sourceFiles(t *testing.T, below ...string) []sourceFile {
	t.Helper()
	var out []sourceFile
	for _, top := range below {
		err := filepath.WalkDir(filepath.Join("..", filepath.FromSlash(top)), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") {
				return nil
			}
			rel, err := filepath.Rel("..", path)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			out = append(out, sourceFile{path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go")})
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the directory %s is gone", top)
		}
		require.NoError(t, err)
	}
	require.NotEmpty(t, out)
	return out
}

// importsOf reads the import paths of one file.
func importsOfFile(t *testing.T, f sourceFile) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", filepath.FromSlash(f.path)), nil, parser.ImportsOnly)
	require.NoError(t, err)
	var out []string
	for _, spec := range tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		out = append(out, path)
	}
	return out
}

func pathBelow(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// foreign tells whether an import path is neither of this module nor of the standard library.
func foreignPath(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".") && !pathBelow(path, modulePath)
}

// The arrows of the architecture, read from every file of every platform.
func TestImportsArrows(t *testing.T) {
	t.Parallel()
	for _, f := range sourceFiles(t, "cmd", "internal", "docker") {
		if f.test {
			continue
		}
		may, known := arrows[f.dir]
		if !known {
			t.Errorf("%s: the package has no row in arrows; give it its place", f.path)
			continue
		}
		for _, path := range importsOfFile(t, f) {
			if pathBelow(path, modulePath) {
				own := strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/")
				if !slices.Contains(may.own, own) {
					t.Errorf("%s imports %s: there is no such arrow", f.path, own)
				}
			}
			if foreignPath(path) && !slices.ContainsFunc(may.foreign, func(root string) bool { return pathBelow(path, root) }) {
				t.Errorf("%s imports %s, whose home is elsewhere", f.path, path)
			}
		}
	}
}

// The table itself: no cycle, nobody knows cmd, and no row for a package that does not exist.
func TestImportsTable(t *testing.T) {
	t.Parallel()
	dirs := map[string]bool{}
	for _, f := range sourceFiles(t, "cmd", "internal", "docker") {
		dirs[f.dir] = dirs[f.dir] || !f.test
	}
	const visiting, done = 1, 2
	seen := map[string]int{}
	var walk func(string)
	walk = func(pkg string) {
		if seen[pkg] == visiting {
			t.Errorf("arrows: %s is in a cycle", pkg)
		}
		if seen[pkg] != 0 {
			return
		}
		seen[pkg] = visiting
		for _, to := range arrows[pkg].own {
			if _, known := arrows[to]; !known || strings.HasPrefix(to, "cmd/") {
				t.Errorf("arrows: %s may import %s, which has no row or is cmd", pkg, to)
			}
			walk(to)
		}
		seen[pkg] = done
	}
	for _, pkg := range slices.Sorted(maps.Keys(arrows)) {
		require.True(t, dirs[pkg], "arrows: there is no package %s", pkg)
		walk(pkg)
	}
}

func TestImportsOfTestFiles(t *testing.T) {
	t.Parallel()
	for _, f := range sourceFiles(t, "cmd", "internal", "docker", "tests") {
		if !f.test {
			continue
		}
		for _, path := range importsOfFile(t, f) {
			for root, homes := range testsOnly {
				if pathBelow(path, root) && !slices.Contains(homes, f.dir) {
					t.Errorf("%s imports %s; only %v may, also in tests", f.path, path, homes)
				}
			}
		}
	}
}

// Packages that judge, and never touch the outside: what they say about a text must not depend on
// a file, the network or the environment.
func TestImportsOfPurePackages(t *testing.T) {
	t.Parallel()
	pure := []string{"internal/refusal", "internal/toolpolicy", "internal/wire", "internal/strictjson", "internal/sqlguard", "internal/writecore/plan", "internal/audit"}
	outside := []string{"os", "net", "syscall", "unsafe", "database/sql", "plugin"}
	for _, f := range sourceFiles(t, pure...) {
		if f.test || !slices.Contains(pure, f.dir) {
			continue
		}
		for _, path := range importsOfFile(t, f) {
			if f.dir == "internal/writecore/plan" && strings.HasPrefix(filepath.Base(f.path), "journal") && (path == "os" || path == "syscall") {
				continue // the journal's file, and nothing else of the system
			}
			require.False(t, slices.ContainsFunc(outside, func(root string) bool { return pathBelow(path, root) }), "%s imports %s", f.path, path)
		}
	}
}

// What the shipped binary links, as the go command sees it: nothing that is there for tests only.
func TestImportsOfTheShippedBinary(t *testing.T) {
	t.Parallel()
	linked := linkedPackages(t, "./cmd/sw-postgres-mcp")
	require.Contains(t, linked, modulePath+"/internal/writecore", "the list of dependencies is not that of the server")
	for _, path := range linked {
		for _, root := range []string{
			"testing", testcontains, "github.com/stretchr/testify", "github.com/chromedp", "pgregory.net/rapid",
			"go.uber.org/goleak", "github.com/rogpeppe/go-internal", "github.com/google/go-cmp", "github.com/moby", "github.com/docker",
			"net/http/httptest", "net/http/pprof", "expvar", modulePath + "/internal/pgtemp/dockerpg", modulePath + "/tests",
		} {
			require.False(t, pathBelow(path, root), "the shipped binary links %s", path)
		}
	}
}

// deps asks the go command for everything a package links.
func linkedPackages(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath", pkg)
	cmd.Dir = ".."
	cmd.Env = os.Environ()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list: %s", stderr.String())
	var paths []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath string }
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return paths
		}
		require.NoError(t, err)
		paths = append(paths, p.ImportPath)
	}
}
