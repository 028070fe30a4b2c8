package sqlguard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// deadly are shapes that kill the C parser, or fill it, when they are long enough. n counts repeats.
var deadly = map[string]func(n int) string{
	"plus":      func(n int) string { return "1" + strings.Repeat("+1", n) },
	"cast":      func(n int) string { return "1" + strings.Repeat("::int", n) },
	"subscript": func(n int) string { return "a" + strings.Repeat("[1]", n) },
	"field":     func(n int) string { return "(a)" + strings.Repeat(".b", n) },
	"union":     func(n int) string { return "(select 1" + strings.Repeat(" union select 1", n) + ")" },
	"values":    func(n int) string { return "(values (1)" + strings.Repeat(" union all values (1)", n) + ")" },
	"table":     func(n int) string { return "(table t" + strings.Repeat(" union all table t", n) + ")" },
	"paren":     func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
	"sublink":   func(n int) string { return strings.Repeat("(select ", n) + "1" + strings.Repeat(")", n) },
	"not":       func(n int) string { return strings.Repeat("not ", n) + "true" },
	"minus":     func(n int) string { return strings.Repeat("- ", n) + "1" },
	"is null":   func(n int) string { return "a" + strings.Repeat(" is null", n) },
	"isnull":    func(n int) string { return "a" + strings.Repeat(" isnull", n) },
	"collate":   func(n int) string { return "a" + strings.Repeat(` collate "C"`, n) },
	"time zone": func(n int) string { return "a" + strings.Repeat(" at time zone b", n) },
	"join":      func(n int) string { return "(select 1 from t" + strings.Repeat(" cross join t", n) + ")" },
	"join on": func(n int) string {
		return "(select 1 from " + strings.Repeat("t join ", n) + "t" + strings.Repeat(" on true", n) + ")"
	},
	"case":       func(n int) string { return strings.Repeat("case when a then ", n) + "1" + strings.Repeat(" end", n) },
	"func":       func(n int) string { return strings.Repeat("f(", n) + "1" + strings.Repeat(")", n) },
	"array":      func(n int) string { return strings.Repeat("array[", n) + "1" + strings.Repeat("]", n) },
	"in":         func(n int) string { return "a" + strings.Repeat(" in (1)", n) },
	"between":    func(n int) string { return "a" + strings.Repeat(" between 1 and 2", n) },
	"like":       func(n int) string { return "a" + strings.Repeat(" like b escape c", n) },
	"operator":   func(n int) string { return "a" + strings.Repeat(" operator(pg_catalog.+) b", n) },
	"unary":      func(n int) string { return strings.Repeat("@ ", n) + "b" },
	"any":        func(n int) string { return "a" + strings.Repeat(" = any(b)", n) },
	"json":       func(n int) string { return "a" + strings.Repeat("->'b'", n) },
	"distinct":   func(n int) string { return "a" + strings.Repeat(" is distinct from b", n) },
	"and nested": func(n int) string { return strings.Repeat("a and (b or (", n) + "c" + strings.Repeat("))", n) },
	"and not":    func(n int) string { return "a" + strings.Repeat(" and not b", n) },
	"or and":     func(n int) string { return "a" + strings.Repeat(" or b and c", n) },
	"with": func(n int) string {
		return "(" + strings.Repeat("with a as (", n) + "select 1" + strings.Repeat(") select 1", n) + ")"
	},
	"from": func(n int) string { return strings.Repeat("(select * from ", n) + "t" + strings.Repeat(") x", n) },
	"grouping": func(n int) string {
		return "(select 1 group by " + strings.Repeat("grouping sets(", n) + "a" + strings.Repeat(")", n) + ")"
	},
	"bounds":     func(n int) string { return "a::int" + strings.Repeat("[]", n) },
	"comment":    func(n int) string { return strings.Repeat("/*", n) + strings.Repeat("*/", n) + "1" },
	"open":       func(n int) string { return strings.Repeat("/*", n) },
	"quotes":     func(n int) string { return "'" + strings.Repeat("'", 2*n) + "'" },
	"continued":  func(n int) string { return "'a'" + strings.Repeat("\n'a'", n) },
	"semicolons": func(n int) string { return "1" + strings.Repeat(";", n) },
	"overlaps":   func(n int) string { return "(a,b)" + strings.Repeat(" overlaps (a,b)", n) },
	"is json":    func(n int) string { return "a" + strings.Repeat(" is json", n) },
}

// flatShapes stay flat however long they are.
var flatShapes = map[string]bool{
	"comment": true, "quotes": true, "continued": true, "semicolons": true, "bounds": true, "field": true, "or and": true,
}

const (
	deadlyEnv = "SQLGUARD_DEADLY"
	control   = "control" // the child parses without measuring
	killing   = 8000      // repeats that kill in a stack of 1 MiB; about 45,000 kill in the usual 8 MiB
)

// TestDeadlyChild is the child of TestMeasureKeepsTheParserAlive: it gives one shape in several
// lengths to every entry point. It does nothing by itself.
func TestDeadlyChild(t *testing.T) {
	shape := os.Getenv(deadlyEnv)
	if shape == "" {
		return
	}
	if shape == control {
		_, err := pg.Parse("select " + deadly["plus"](killing))
		fmt.Println("deadly child: alive", err)
		return
	}
	ctx, g, cat := context.Background(), openGuard(), newFake()
	for _, n := range []int{maxBrackets - 5, maxDeepTokens - 10, killing} { // what the limits let through, and what kills
		text := deadly[shape](n)
		_, err := g.Read(ctx, cat, "select "+text, nil)
		mustRefuseOrPass(t, err)
		if n == killing { // refused behind the scanner, which every entry point has in common
			_, err := scan("text", text)
			require.True(t, err != nil || flatShapes[shape], "%d repeats reach the parser", n)
			continue
		}
		_, err = g.Delete(ctx, cat, DeleteSpec{Table: "customers", Where: text})
		mustRefuseOrPass(t, err)
		_, err = g.Delete(ctx, cat, DeleteSpec{Table: text, Where: "id = 1"})
		mustRefuseOrPass(t, err)
		if n > maxBrackets {
			_, err = g.Update(ctx, cat, UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{Column: "name", Expr: text}}})
			mustRefuseOrPass(t, err)
			_, err = g.Migration(ctx, cat, "create table zz (a int default "+text+")")
			mustRefuseOrPass(t, err)
		}
	}
	fmt.Println("deadly child: alive")
}

func mustRefuseOrPass(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		_, ok := refusal.As(err)
		require.True(t, ok, "a fault, not a refusal: %v", err)
	}
}

// TestMeasureKeepsTheParserAlive runs in child processes, since a dead parser takes its process with
// it. The child has a stack of 1 MiB, an eighth of the usual, so the limits have room.
func TestMeasureKeepsTheParserAlive(t *testing.T) {
	t.Parallel()
	run := func(shape string) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", `ulimit -s 1024; exec "$0" -test.run '^TestDeadlyChild$' -test.timeout 5m`, os.Args[0])
		cmd.Env = append(os.Environ(), deadlyEnv+"="+shape)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(control)
	require.Error(t, err, "without measuring it must die, else this test proves nothing: %.500s", out)
	require.NotContains(t, out, "alive")
	for shape := range deadly {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			out, err := run(shape)
			require.NoError(t, err, "%.2000s", out)
			require.Contains(t, out, "deadly child: alive")
		})
	}
}

func TestLongChainNamesTheWayOut(t *testing.T) {
	t.Parallel()
	text := "1" + strings.Repeat("+1", 30_000) // 60 kB
	_, err := openGuard().Read(context.Background(), newFake(), "select "+text, nil)
	requireCode(t, refusal.InvalidInput, err)
	r, _ := refusal.As(err)
	require.Contains(t, r.Hint, "= ANY($1)")
}

func TestBytesRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"select 'a\x00b'", "select '\xff'", "select 1" + strings.Repeat(" ", 1<<20)} {
		_, err := openGuard().Read(context.Background(), newFake(), text, nil)
		requireCode(t, refusal.InvalidInput, err)
		_, err = openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: text})
		requireCode(t, refusal.InvalidInput, err)
		_, err = openGuard().Migration(context.Background(), newFake(), text)
		requireCode(t, refusal.InvalidInput, err)
	}
}

// The scanner's time is the square of the number of block comments.
func TestCommentsAreCountedBeforeScanning(t *testing.T) {
	t.Parallel()
	ctx, g, cat := context.Background(), openGuard(), newFake()
	for name, comments := range map[string]string{
		"many":       strings.Repeat("/**/", 1<<18-100),
		"apart":      strings.Repeat("/* a */ ", 100_000),
		"nested":     strings.Repeat("/*", 100_000) + strings.Repeat("*/", 100_000),
		"open":       strings.Repeat("/*", 500_000),
		"in literal": "'" + strings.Repeat("/*", maxComments+1) + "'",
	} {
		for _, call := range []func() error{
			func() error { _, err := g.Read(ctx, cat, "select 1 "+comments, nil); return err },
			func() error {
				_, err := g.Delete(ctx, cat, DeleteSpec{Table: "customers", Where: "id = 1 " + comments})
				return err
			},
			func() error { _, err := g.Migration(ctx, cat, comments+"drop table app.t"); return err },
			func() error {
				_, err := g.Update(ctx, cat, UpdateSpec{Table: "customers", Where: "id = 1", SetExpressions: []SetExpr{{"name", "'x'" + comments}}})
				return err
			},
		} {
			began := time.Now()
			requireCode(t, refusal.InvalidInput, call())
			require.Less(t, time.Since(began), time.Minute, name) // tens of minutes without the bound
		}
	}
	for _, comments := range []string{
		strings.Repeat("/**/", maxComments), strings.Repeat("-- a line\n", 20_000), strings.Repeat("/*", maxComments) + strings.Repeat(" */", maxComments),
	} {
		_, err := g.Read(ctx, cat, comments+"select 1", nil)
		require.NoError(t, err)
	}
}

func TestLongListsAreFine(t *testing.T) {
	t.Parallel()
	list := "1" + strings.Repeat(", 1", 20_000)
	_, err := openGuard().Read(context.Background(), newFake(), "select id from customers where id in ("+list+")", nil)
	require.NoError(t, err)
	ors := "id = 1" + strings.Repeat(" or id = 2", 900)
	d, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: ors})
	require.NoError(t, err)
	require.Equal(t, ors, d.Where())
}

func TestParams(t *testing.T) {
	t.Parallel()
	d, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{
		Table: "customers", Where: "id = $1 and tenant_id = $2",
		Params: []json.RawMessage{json.RawMessage("9007199254740993"), json.RawMessage("7")},
	})
	require.NoError(t, err)
	require.Equal(t, []json.RawMessage{json.RawMessage(`"9007199254740993"`), json.RawMessage("7")}, d.Params())
	for where, n := range map[string]int{"id = $1": 0, "id = 1": 1, "id = $1 and id = $1": 2, "id = $2": 2, "id = $1 or id = $3": 3} {
		params := make([]json.RawMessage, n)
		for i := range params {
			params[i] = json.RawMessage("1")
		}
		_, err := openGuard().Delete(context.Background(), newFake(), DeleteSpec{Table: "customers", Where: where, Params: params})
		requireCode(t, refusal.InvalidInput, err)
	}
}
