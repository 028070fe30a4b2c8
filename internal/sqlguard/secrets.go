package sqlguard

import (
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Settings with a dot in their names are the applications' own, and some hold keys for views and policies to
// use. A text that asks for one by a name that says so is refused, and so is one whose name cannot be seen.
// What views, policies and functions do with them is the database owner's matter. See TestSettings.

var secretWords = strings.Fields("secret passw pwd token key credential jwt dsn conninfo private salt cert")

// settings judges the calls of current_setting that stand in the agent's own text.
func (g *Guard) settings(f *found, v *verdict) error {
	for _, c := range f.calls {
		if c.name.Name != "current_setting" || len(c.args) == 0 {
			continue
		}
		for _, r := range inSchema(v.facts.Functions[c.name], c.name) {
			if r.Schema != "pg_catalog" || g.allowsFunction(r) {
				continue
			}
			name, ok := nameLiteral(c.args[0])
			if ok && !secretSetting(name) {
				continue
			}
			what := "a setting that is not named by a literal, so it could be one that holds a secret"
			if ok {
				what = "the setting " + shown(name) + ", which by its name holds a secret"
			}
			return refusal.New(refusal.FunctionNotAllowed, fmt.Sprintf("The text asks for %s.", what),
				"Write the name of a harmless setting as a literal, or ask the operator to add current_setting to query.allowFunctions.")
		}
	}
	return nil
}

func secretSetting(name string) bool {
	_, own, ok := strings.Cut(fold(name), ".")
	if !ok {
		return false // Postgres' own are shown to those who may see them
	}
	for _, w := range secretWords {
		if strings.Contains(own, w) {
			return true
		}
	}
	return false
}
