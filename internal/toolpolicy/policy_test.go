package toolpolicy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

const (
	all  = "describe_schema query explain_plan delete_rows insert_rows update_rows run_migration execute_plan"
	read = "describe_schema query explain_plan"
)

func shown(p toolpolicy.Policy) string {
	var out []string
	for _, r := range toolpolicy.Table() {
		if on, why := p.Shows(r.Tool); on {
			out = append(out, r.Tool)
		} else if why == "" {
			panic("hidden without a reason")
		}
	}
	return strings.Join(out, " ")
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"":                                 all,
		" , ,\t":                           all,
		"default":                          all,
		"all":                              all,
		"none":                             "",
		"readonly":                         read,
		"read":                             all,
		"-read":                            "delete_rows insert_rows update_rows run_migration execute_plan",
		"-write":                           read + " run_migration",
		"-ddl":                             strings.Replace(all, "run_migration ", "", 1),
		"-write -ddl":                      read,
		"-write,-ddl":                      read,
		"none read":                        read,
		"none,ddl":                         "run_migration",
		"none write":                       "delete_rows insert_rows update_rows execute_plan",
		"readonly rows":                    read + " delete_rows insert_rows update_rows",
		"readonly rows plans":              read + " delete_rows insert_rows update_rows execute_plan",
		"readonly rows plans -delete_rows": read + " insert_rows update_rows execute_plan",
		"readonly -delete_rows rows":       read + " insert_rows update_rows", // a tool's word counts more, wherever it stands
		"-rows insert_rows":                read + " insert_rows run_migration execute_plan",
		"-write rows":                      read + " delete_rows insert_rows update_rows run_migration",
		"rows -write":                      read + " delete_rows insert_rows update_rows run_migration", // a group's word counts more than its tier's
		"-rows rows":                       all,
		"rows -rows":                       read + " run_migration execute_plan",
		"-ddl ddl":                         all,
		"-run_migration run_migration":     all,
		"run_migration -run_migration":     strings.Replace(all, "run_migration ", "", 1),
		"query":                            "query",
		"query explain_plan":               "query explain_plan",
		"query,query":                      "query",
		"execute_plan, delete_rows":        "delete_rows execute_plan",
		"tool:query":                       "query",
		"group:query":                      all,
		"none group:query":                 "query explain_plan",
		"none tier:read":                   read,
		"-group:query":                     "describe_schema delete_rows insert_rows update_rows run_migration execute_plan",
		"-query":                           "describe_schema explain_plan delete_rows insert_rows update_rows run_migration execute_plan",
		"-tool:query":                      "describe_schema explain_plan delete_rows insert_rows update_rows run_migration execute_plan",
		"none query":                       "query",
		"default query":                    all,
		"query -delete_rows":               strings.Replace(all, "delete_rows ", "", 1), // not names alone: the base is the default
		"query ddl":                        all,
		"-delete_rows default":             all, // a base forgets what stands before it
		"none default":                     all,
		"default none":                     "",
		"rows none schema":                 "describe_schema",
		"readonly -schema":                 "query explain_plan",
		"readonly -query":                  "describe_schema explain_plan",
		"readonly migrations":              read + " run_migration",
		"none schema query plans":          "describe_schema query execute_plan",
		"none migrations -run_migration":   "",
		"-schema -group:query -plans":      "delete_rows insert_rows update_rows run_migration",
		"-schema,\n-plans":                 "query explain_plan delete_rows insert_rows update_rows run_migration",
		"-rows -migrations -plans":         read,
	} {
		p, err := toolpolicy.Parse(spec)
		require.NoError(t, err, spec)
		require.Equal(t, want, shown(p), "%q", spec)
	}
}

func TestMistakesAreSaid(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"quary":             `"quary" is neither a tool, a group nor a tier; did you mean "query"?`,
		"-delete_row":       `did you mean "-delete_rows"?`,
		"Query":             `did you mean "query"?`,
		"migration":         `did you mean "migrations"?`,
		"read-only":         `did you mean "readonly"?`,
		"default,ddd":       `did you mean "ddl"?`,
		"-none":             `"-none" takes nothing away`,
		"-default":          `takes nothing away`,
		"--write":           `"--write"`,
		"+write":            `"+write"`,
		"*":                 `"*" is neither`,
		"group:insert_rows": `"group:insert_rows"`,
		"tier:rows":         `"tier:rows"`,
		"tool:rows":         `"tool:rows"`,
		"unclassified":      `"unclassified"`,
		"query;ddl":         `"query;ddl"`,
		"-":                 `"-"`,
	} {
		_, err := toolpolicy.Parse(spec)
		require.ErrorContains(t, err, want, spec)
	}
	for list, want := range map[string]string{
		"query, rows":   `"rows" is no tool's name`,
		"-query":        `"-query" is no tool's name`,
		"default":       `"default" is no tool's name`,
		"query explain": `"explain"`,
	} {
		_, err := toolpolicy.Exact(list)
		require.ErrorContains(t, err, want, list)
	}
}

func TestExact(t *testing.T) {
	t.Parallel()
	p, err := toolpolicy.Exact("query, describe_schema")
	require.NoError(t, err)
	require.Equal(t, "describe_schema query", shown(p))
	p, err = toolpolicy.Exact("")
	require.NoError(t, err)
	require.Empty(t, shown(p))
}

// A tool without a row is shown by no base, tier or group.
func TestUnclassified(t *testing.T) {
	t.Parallel()
	require.Equal(t, toolpolicy.Unclassified, toolpolicy.Of("new_tool").Tier)
	for _, spec := range []string{"", "all", "default", "read write ddl", "schema query rows migrations plans", "query"} {
		p, err := toolpolicy.Parse(spec)
		require.NoError(t, err)
		on, why := p.Shows("new_tool")
		require.False(t, on, spec)
		require.NotEmpty(t, why)
	}
}

func TestEveryGroupHasItsSentence(t *testing.T) {
	t.Parallel()
	named := map[toolpolicy.Group]bool{}
	for _, g := range toolpolicy.Groups() {
		require.NotEmpty(t, g.Label)
		require.True(t, strings.HasSuffix(g.Sentence, "."), g.Sentence)
		named[g.Group] = true
	}
	for _, r := range toolpolicy.Table() {
		require.True(t, named[r.Group], r.Tool)
	}
}

// Whatever the words and their order: the last word about the tool itself decides; without one the last
// about its group; without one the last about its tier; else the base. Written once more, another way.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	words := []string{"default", "none", "readonly"}
	for _, w := range []string{
		"read", "write", "ddl", "schema", "group:query", "rows", "migrations", "plans",
		"describe_schema", "tool:query", "explain_plan", "delete_rows", "insert_rows", "update_rows", "run_migration", "execute_plan",
	} {
		words = append(words, w, "-"+w)
	}
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(t, "spec")
		p, err := toolpolicy.Parse(strings.Join(spec, rapid.SampledFrom([]string{",", " ", ", "}).Draw(t, "sep")))
		require.NoError(t, err)
		rest, base := spec, "default"
		for i, w := range spec {
			if slices.Contains([]string{"default", "none", "readonly"}, w) {
				rest, base = spec[i+1:], w
			}
		}
		namesOnly := !slices.ContainsFunc(spec, func(w string) bool {
			return strings.HasPrefix(w, "-") || toolpolicy.Of(strings.TrimPrefix(w, "tool:")).Tier == toolpolicy.Unclassified
		})
		for _, r := range toolpolicy.Table() {
			want := base == "default" && !namesOnly || base == "readonly" && r.Tier == toolpolicy.Read
			for _, name := range []string{string(r.Tier), "group:" + string(r.Group), string(r.Group), "tool:" + r.Tool, r.Tool} {
				if name == "query" && r.Tool != "query" {
					continue // the bare word is the tool
				}
				for _, w := range rest {
					if strings.TrimPrefix(w, "-") == name {
						want = !strings.HasPrefix(w, "-")
					}
				}
			}
			got, why := p.Shows(r.Tool)
			require.Equal(t, want, got, fmt.Sprint(spec, " ", r.Tool, ": ", why))
		}
	})
}
