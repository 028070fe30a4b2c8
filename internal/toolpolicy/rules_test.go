package toolpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, schema, table string
		want                   bool
	}{
		{"app.payments", "app", "payments", true},
		{"App.Payments", "app", "payments", true},
		{`app."Payments"`, "app", "payments", false},
		{`app."Payments"`, "app", "Payments", true},
		{"app.payments", "app", "payments_old", false},
		{"app.payments*", "app", "payments_old", true},
		{"app.*", "app", "anything", true},
		{"app.*", "apple", "anything", false},
		{"*.payments", "other", "payments", true},
		{"*.*", "a", "b", true},
		{`app."*"`, "app", "x", false},
		{`app."*"`, "app", "*", true},
		{`app."a.b"`, "app", "a.b", true},
		{`app."say ""hi"""`, "app", `say "hi"`, true},
		{`app."a/b"`, "app", "a/b", true},
		{"app.a*", "app", "a/b", true},
		{`app."a[b]"`, "app", "a[b]", true},
		{`app."back\slash"`, "app", `back\slash`, true},
		{"app.größe", "app", "größe", true},
	} {
		p, err := toolpolicy.ParsePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		require.Equal(t, c.want, p.Matches(c.schema, c.table), "%s %s.%s", c.pattern, c.schema, c.table)
	}
	for _, bad := range []string{"", "payments", "a.b.c", ".b", "a.", `a."b`, `a."b"c`, `a"b".c`, "a.b c", "a.[bc]", "a.b?", `a.b\`, "*"} {
		_, err := toolpolicy.ParsePattern(bad)
		require.Error(t, err, bad)
	}
}

func TestTheFirstRuleCounts(t *testing.T) {
	t.Parallel()
	pattern := func(text string) []toolpolicy.Pattern {
		p, err := toolpolicy.ParsePattern(text)
		require.NoError(t, err)
		return []toolpolicy.Pattern{p}
	}
	rules := toolpolicy.Rules{
		{Tables: pattern("app.payments"), Operations: []toolpolicy.Operation{toolpolicy.Delete}, Deny: true},
		{Tables: pattern("app.pay*"), AlwaysAsk: true},
		{Tables: pattern("*.*"), Operations: []toolpolicy.Operation{toolpolicy.Migration}, Deny: true},
	}
	for _, c := range []struct {
		table string
		op    toolpolicy.Operation
		want  int
	}{
		{"payments", toolpolicy.Delete, 1},
		{"payments", toolpolicy.Update, 2},
		{"payslips", toolpolicy.Delete, 2},
		{"orders", toolpolicy.Delete, 0},
		{"orders", toolpolicy.Migration, 3},
		{"payments", toolpolicy.Migration, 2},
	} {
		number, rule := rules.For(c.op, toolpolicy.Name{Schema: "app", Table: c.table})
		require.Equal(t, c.want, number, c.table)
		require.Equal(t, c.want == 0, rule == nil)
	}
}

// A rule for any of a table's names is one for the table; of several the first in the list counts, whichever
// name it is for.
func TestRulesOverSeveralNames(t *testing.T) {
	t.Parallel()
	var rules toolpolicy.Rules
	for _, text := range []string{"app.root", "app.leaf", "*.*"} {
		p, err := toolpolicy.ParsePattern(text)
		require.NoError(t, err)
		rules = append(rules, toolpolicy.Rule{Tables: []toolpolicy.Pattern{p}})
	}
	name := func(table string) toolpolicy.Name { return toolpolicy.Name{Schema: "app", Table: table} }
	for want, names := range map[int][]toolpolicy.Name{
		1: {name("leaf"), name("mid"), name("root")}, 2: {name("leaf"), name("mid")}, 3: {name("mid")}, 0: nil,
	} {
		n, rule := rules.For(toolpolicy.Delete, names...)
		require.Equal(t, want, n)
		require.Equal(t, want == 0, rule == nil)
	}
}
