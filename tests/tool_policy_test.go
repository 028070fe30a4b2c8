package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// listed are the names that tools/list shows, in its order, each with its place in _meta.
func listed(t testing.TB, s *server) string {
	t.Helper()
	var list struct {
		Tools []struct {
			Name string            `json:"name"`
			Meta map[string]string `json:"_meta"`
		} `json:"tools"`
	}
	require.NoError(t, json.Unmarshal(s.request("tools/list", args{}).wait().Result, &list))
	var names []string
	for _, tool := range list.Tools {
		require.NotEmpty(t, tool.Meta["sw-postgres-mcp/group"], tool.Name)
		require.NotEmpty(t, tool.Meta["sw-postgres-mcp/tier"], tool.Name)
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// Of the places where it may stand the first one counts, and a tool that is turned off says how it is
// turned on.
func TestToolPolicy(t *testing.T) {
	t.Parallel()
	db := world(t)
	config := map[string]any{"tools": "none rows"}
	for _, c := range []struct {
		name string
		o    options
		want string
		says string
	}{
		{"setting", options{config: config}, "delete_rows insert_rows update_rows", "config.json"},
		{"flag over setting", options{config: config, args: []string{"--tools", "readonly"}}, "describe_schema explain_plan query", "--tools"},
		{"variable over flag", options{config: config, args: []string{"--tools", "readonly"}, env: map[string]string{"SW_TOOLS": "query"}}, "query", "SW_TOOLS"},
		{"exact list over all", options{config: config, args: []string{"--tools", "readonly"}, env: map[string]string{"SW_TOOLS": "none", "SW_ALLOWED_TOOLS": "execute_plan, query"}}, "execute_plan query", "SW_ALLOWED_TOOLS"},
	} {
		s := start(t, db, c.o)
		require.Equal(t, c.want, listed(t, s), c.name)
		require.Contains(t, s.log(), "tools: as ", c.name)
		for _, r := range matrix {
			if strings.Contains(c.want, r.tool) {
				continue
			}
			got := s.call(r.tool, r.sound())
			got.refused(t, refusal.ToolDisabled)
			require.Contains(t, string(got.text), "SW_TOOLS", "%s: %s does not say how it is turned on", c.name, r.tool)
		}
		require.Contains(t, s.log(), c.says, c.name)
		s.idle()
	}
	bad := runToEnd(t, db, options{args: []string{"--tools", "readonyl"}})
	require.Equal(t, 2, bad.code)
	require.Contains(t, bad.stderr, `did you mean "readonly"?`)
	printed := runToEnd(t, db, options{args: []string{"tools", "--tools", "default -ddl"}})
	require.Zero(t, printed.code)
	require.Regexp(t, `run_migration +migrations +ddl +no +the tier ddl is turned off`, printed.stdout)
}

// Where nothing is writable all eight tools are there, and those that write say so.
func TestNothingWritableIsSaid(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, options{config: map[string]any{"allowlist": map[string]any{"write": map[string]any{"schemas": []string{}}}}})
	require.Len(t, strings.Fields(listed(t, s)), 8)
	require.Equal(t, 5, strings.Count(string(s.request("tools/list", args{}).wait().Result), "nothing is writable"))
	got := s.call("delete_rows", args{"table": "app.item", "where": "id = 1", "reason": "t"})
	got.refused(t, refusal.TableNotWritable)
	require.Contains(t, string(got.text), "allowlist.write")
}
