package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func TestDefinitionsDifference(t *testing.T) {
	t.Parallel()
	def := func(oid uint32, hashes string, changed bool) plan.Definition {
		return plan.Definition{OID: oid, Name: "app." + hashes[:1], Hashes: hashes, Changed: changed}
	}
	list := func(d ...plan.Definition) []plan.Definition { return d }
	was := list(def(1, "a.b.c.d", true), def(2, "x.y.z.w", false))
	for name, c := range map[string]struct {
		was, now []plan.Definition
		want     string
	}{
		"the same":                      {was, was, ""},
		"in another order":              {was, list(was[1], was[0]), ""},
		"columns":                       {was, list(def(1, "q.b.c.d", true)), "the columns of app.q, their types, defaults or generated expressions, or a function in them"},
		"triggers":                      {was, list(def(1, "a.q.c.d", true)), "the triggers of app.a, or a function that they run"},
		"rules":                         {was, list(was[0], def(2, "x.y.q.w", false)), "the rules or policies of app.x, or a function in them"},
		"keys":                          {was, list(def(1, "a.b.c.q", true)), "what the foreign keys of app.a do"},
		"the first of them":             {was, list(def(1, "a.q.c.q", true)), "the triggers of app.a, or a function that they run"},
		"more aspects than then":        {was, list(def(1, "a.b.c.d.e", true)), "the definition of app.a"},
		"one is not written any more":   {was, list(was[0]), ""},
		"one more is locked":            {was, list(was[0], was[1], def(3, "k.k.k.k", false)), ""},
		"one more takes rows":           {was, list(was[0], was[1], def(3, "k.k.k.k", true)), "where the rows go (app.k takes some now)"},
		"nothing known of before":       {nil, was, "how app.a makes its values (nothing is known of how it did)"},
		"a migration has none":          {nil, nil, ""},
		"none now (nothing is written)": {was, nil, ""},
	} {
		require.Equal(t, c.want, plan.DefinitionsDifference(c.was, c.now), name)
	}
}
