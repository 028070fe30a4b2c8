package sqlguard

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// A text that Postgres or this package would refuse for its length alone is refused by its tokens, before it
// is parsed. What only looks like a long list is taken.
func TestLongListsAreCountedBeforeParsing(t *testing.T) {
	t.Parallel()
	items := func(n int) string { return strings.TrimSuffix(strings.Repeat("1, ", n), ", ") }
	for name, text := range map[string]string{
		"select":       "select " + items(maxTargets+1),
		"sub-select":   "select 1 from (select " + items(maxTargets+1) + ") s",
		"behind union": "values (1), (2) union all select " + items(maxTargets+1),
		"from":         "select 1 from customers" + strings.Repeat(", orders", maxTargets+1),
		"group by":     "select 1 from customers group by " + items(maxTargets+1),
		"order by":     "select 1 from customers order by " + items(maxTargets+1),
		"joins":        "select 1 from customers" + strings.Repeat(" cross join orders", maxJoins+1),
		"in where":     "select 1 from customers where exists (select " + items(maxTargets+1) + ")",
		"broken":       "select (] " + items(maxTargets+1),
	} {
		_, err := scan("statement", text)
		require.Error(t, err, name)
		requireCode(t, refusal.InvalidInput, err)
		cat := newFake()
		_, err = openGuard().Read(context.Background(), cat, text, nil)
		requireCode(t, refusal.InvalidInput, err)
		require.Zero(t, cat.asked, name)
	}
	for name, text := range map[string]string{
		"select":           "select " + items(maxTargets),
		"select and order": "select " + items(maxTargets-1) + " from customers order by " + items(maxTargets-1),
		"in":               "select 1, id in (" + items(20_000) + ") from customers",
		"array":            "select array[" + items(20_000) + "], 1",
		"call":             "select concat(" + items(1_000) + "), concat(" + items(1_000) + ")",
		"values":           "values " + strings.TrimSuffix(strings.Repeat("(1), ", 20_000), ", "),
		"union of values":  "select 1 union values " + strings.TrimSuffix(strings.Repeat("(1), ", 20_000), ", "),
		"from values":      "select 1 from (values " + strings.TrimSuffix(strings.Repeat("(1), ", 20_000), ", ") + ") v, customers",
		"closing":          ")))" + items(10),
	} {
		_, err := scan("statement", text)
		require.NoError(t, err, name)
	}
}
