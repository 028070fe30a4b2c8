package sqlguard

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// grammar is what the parser's tree is made of, by its descriptor: every kind of node ("SelectStmt"), every
// field of one ("SelectStmt.where_clause") and every value of an enumeration ("JOIN_LEFT").
type grammar struct {
	nodes  []string        // what a Node can be
	values []string        // of the enumerations of expressions, FROM and the statement kinds with sub-kinds
	known  map[string]bool // all of it
}

// enumerations whose every value a corpus file must hold. The others (kinds of objects, ALTER TABLE's
// sub-commands) belong to DDL, whose forms TestMigrationForms lists.
var enumerations = set(`A_Expr_Kind BoolExprType BoolTestType NullTestType SubLinkType MinMaxOp SQLValueFunctionOp XmlExprOp
XmlOptionType JoinType SetOperation GroupingSetKind LimitOption CTEMaterialize SortByDir SortByNulls CoercionForm JsonValueType
JsonFormatType JsonEncoding LockClauseStrength LockWaitPolicy TransactionStmtKind VariableSetKind OverridingKind
OnConflictAction DiscardMode DropBehavior OnCommitAction`)

func readGrammar() grammar {
	g := grammar{known: map[string]bool{}}
	node := (&pg.Node{}).ProtoReflect().Descriptor()
	kinds := node.Oneofs().Get(0).Fields()
	for i := range kinds.Len() {
		g.nodes = append(g.nodes, string(kinds.Get(i).Message().Name()))
	}
	file := node.ParentFile()
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		g.known[string(m.Name())] = true
		for j := range m.Fields().Len() {
			g.known[string(m.Name())+"."+string(m.Fields().Get(j).Name())] = true
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		for j := range e.Values().Len() {
			v := string(e.Values().Get(j).Name())
			if strings.HasSuffix(v, "_UNDEFINED") || e.Name() == "Token" {
				continue // protobuf's own, which is never set, and the scanner's
			}
			g.known[v] = true
			if enumerations[string(e.Name())] {
				g.values = append(g.values, v)
			}
		}
	}
	return g
}

// parts is what of the grammar one text holds; nothing where it is no SQL to the parser.
func parts(text string) map[string]bool {
	out := map[string]bool{}
	tree, err := pg.Parse(text)
	if err != nil {
		return out
	}
	visit(tree.ProtoReflect(), func(m protoreflect.Message) {
		name := string(m.Descriptor().Name())
		out[name] = true
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			out[name+"."+string(fd.Name())] = true
			if e := fd.Enum(); e != nil && !fd.IsList() {
				out[string(e.Values().ByNumber(v.Enum()).Name())] = true
			}
			return true
		})
	})
	return out
}

var word = regexp.MustCompile(`[A-Za-z_]+(\.[a-z_]+)?`)

// Each file covers something that no other names, and where that is a part of the grammar the text
// really holds it. No text is there twice.
func TestCorpusHeads(t *testing.T) {
	t.Parallel()
	g := readGrammar()
	for _, dir := range []string{"accept", "refuse"} {
		files := corpus(t, dir)
		covers, texts := map[string]string{}, map[string]string{}
		for _, c := range files {
			require.Empty(t, covers[c.covers], "%s covers what %s does", c.name, covers[c.covers])
			covers[c.covers] = c.name
			key := strings.ToLower(strings.Join(strings.Fields(c.sql), " "))
			if c.tight {
				key += " under allowlist.read"
			}
			require.True(t, strings.TrimSpace(c.sql) == "" || texts[key] == "", "%s is the statement of %s", c.name, texts[key])
			texts[key] = c.name
			has := parts(c.sql)
			for i, w := range word.FindAllString(c.covers, -1) {
				of, _, field := strings.Cut(w, ".")
				require.True(t, !field || !g.known[of] || g.known[w], "%s says that it covers %s, which the grammar does not have", c.name, w)
				if g.known[w] && (i == 0 && strings.ToUpper(w) != w || strings.ContainsAny(w, "._") || strings.HasSuffix(w, "Stmt")) {
					require.True(t, has[w], "%s says that it covers %s, which it does not hold", c.name, w)
				}
			}
		}
		require.GreaterOrEqual(t, len(files), 150, dir)
		t.Logf("testdata/%s: %d files", dir, len(files))
	}
}

// Every kind of node that the parser can make is in some file, or testdata/uncovered.txt says why not.
func TestCorpusCoversTheGrammar(t *testing.T) {
	t.Parallel()
	has := map[string]bool{}
	for _, dir := range []string{"accept", "refuse"} {
		for _, c := range corpus(t, dir) {
			for p := range parts(c.sql) {
				has[p] = true
			}
		}
	}
	g, excused := readGrammar(), uncovered(t)
	require.Greater(t, len(g.nodes), 200)
	var missing []string
	for _, name := range append(slices.Clone(g.nodes), g.values...) {
		_, listed := excused[name]
		switch {
		case has[name]:
			require.False(t, listed, "%s is covered: take it off testdata/uncovered.txt", name)
		case !listed:
			missing = append(missing, name)
		}
	}
	t.Logf("%d kinds of nodes, %d values of enumerations; in no file, with the reason:", len(g.nodes), len(g.values))
	for name, why := range excused {
		require.True(t, g.known[name], "testdata/uncovered.txt lists %s, which the grammar does not have", name)
		t.Logf("  %-28s %s", name, why)
	}
	require.Empty(t, missing, "in no file of testdata/{accept,refuse} and not on testdata/uncovered.txt")
}

// uncovered reads the list: sections of names, each below the line that gives its reason.
func uncovered(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/uncovered.txt")
	require.NoError(t, err)
	defer f.Close()
	out, why := map[string]string{}, ""
	for s := bufio.NewScanner(f); s.Scan(); {
		if reason, ok := strings.CutPrefix(s.Text(), "# "); ok {
			why = reason
			continue
		}
		for name := range strings.FieldsSeq(s.Text()) {
			require.NotEmpty(t, why, "%s has no reason", name)
			require.Empty(t, out[name], "%s is listed twice", name)
			out[name] = why
		}
	}
	return out
}

// Every statement kind of the grammar is refused by query, except the one that reads.
func TestEveryStatementKindIsRefused(t *testing.T) {
	t.Parallel()
	refused := map[string]bool{"SelectStmt": true}
	for _, c := range corpus(t, "refuse") {
		tree, err := pg.Parse(c.sql)
		if err != nil || len(tree.Stmts) != 1 {
			continue
		}
		m := tree.Stmts[0].Stmt.ProtoReflect()
		refused[string(m.WhichOneof(m.Descriptor().Oneofs().Get(0)).Message().Name())] = true
		for _, inner := range []string{"ReplicaIdentityStmt", "ReturnStmt"} { // which only stand inside others
			refused[inner] = refused[inner] || parts(c.sql)[inner]
		}
	}
	kinds, excused := 0, uncovered(t)
	for _, name := range readGrammar().nodes {
		if excused[name] == "" && strings.HasSuffix(name, "Stmt") && name != "RawStmt" {
			require.True(t, refused[name], "no file of testdata/refuse is a %s", name)
			kinds++
		}
	}
	require.Greater(t, kinds, 100)
	t.Logf("%d kinds of statements", kinds)
}
