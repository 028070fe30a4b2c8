package sqlguard

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// The different names of a text are bounded before the catalog is asked about any, and counting them is
// no work of its own.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	many := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		most int
		text func(n int) string
	}{
		"tables":          {maxRelations, func(n int) string { return "select 1 from customers" + many(n, ", t%d") }},
		"names in values": {maxRelations, func(n int) string { return "select coalesce(null" + many(n, ", 't%d'::regclass") + ")" }},
		"names in calls":  {maxRelations, func(n int) string { return "select coalesce(null" + many(n, ", to_regclass('t%d')") + ")" }},
		"functions":       {maxFunctions, func(n int) string { return "select coalesce(null" + many(n, ", f%d(1, 2)") + ")" }},
		"casts":           {maxFunctions, func(n int) string { return "select coalesce(null" + many(n, ", f%d(1)") + ")" }},
		"types": {maxTypes + maxFunctions, func(n int) string {
			return "select * from json_to_recordset('[]') as x(a int" + many(n, ", b%d t%[1]d") + ")"
		}},
		"operators":  {maxOperators, func(n int) string { return "select 1" + many(n, " operator(s%d.+) 1") }},
		"attributes": {maxFunctions, func(n int) string { return "select coalesce(null" + many(n, ", c.x%d") + ") from customers c" }},
	} {
		for _, n := range []int{c.most + 1, 5_000} {
			text := c.text(n)
			for _, g := range []*Guard{openGuard(), tightGuard()} {
				cat := newFake()
				_, err := g.Read(context.Background(), cat, text, nil)
				require.Error(t, err, name)
				requireCode(t, refusal.InvalidInput, err)
				if name != "attributes" { // which are asked about after the columns are known
					require.Zero(t, cat.asked, "%s: %v", name, err)
				}
			}
		}
	}
	for _, text := range []string{
		"select coalesce(null" + strings.Repeat(", 'orders'::regclass::oid", 900) + ")", "select coalesce(null" + strings.Repeat(", abs(1)", 5_000) + ")",
		"select coalesce(null" + strings.Repeat(", c.name", 5_000) + ") from customers c", "select coalesce(null" + strings.Repeat(", 'int'::regtype::oid", 900) + ")",
		"select coalesce(null" + many(190, ", 'int[%d]'::regtype::oid") + ")",
	} {
		_, err := tightGuard().Read(context.Background(), newFake(), text, nil)
		require.NoError(t, err)
	}
}
