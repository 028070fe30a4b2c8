//go:build clients && unix

package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// A tool that is turned off is not in any client's list, and a program that calls it anyway is told how it
// is turned on.
func TestClientsSeeThePolicy(t *testing.T) {
	t.Parallel()
	eachClient(t, world(t), options{args: []string{"--tools", "default -ddl -delete_rows"}}, func(t *testing.T, _ realClient, s *server) {
		names := listed(t, s)
		require.ElementsMatch(t, []string{"describe_schema", "execute_plan", "explain_plan", "insert_rows", "query", "update_rows"}, strings.Fields(names))
		for _, r := range matrix {
			if strings.Contains(names, r.tool) {
				continue
			}
			text, structured, isError := result(t, s.tell(r.tool, r.sound(), nil).wait())
			require.True(t, isError, text)
			require.Empty(t, structured)
			require.Contains(t, text, `"code":"`+string(refusal.ToolDisabled)+`"`)
			require.Contains(t, text, "SW_TOOLS", "%s does not say how it is turned on", r.tool)
		}
	})
}
