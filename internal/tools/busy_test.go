package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// Who waited for a connection in vain does not wait for one a second time, however the call goes on.
func TestABusyCatalogIsAskedOnce(t *testing.T) {
	t.Parallel()
	for tool, arguments := range map[string]string{
		"query":         `{"statement":"SELECT * FROM app.items","reason":"t"}`,
		"explain_plan":  `{"statement":"SELECT * FROM app.items","reason":"t"}`,
		"delete_rows":   `{"table":"app.items","where":"id = 1","reason":"t"}`,
		"update_rows":   `{"table":"app.items","set":{"name":"x"},"where":"id = 1","reason":"t"}`,
		"insert_rows":   `{"table":"app.items","columns":["name"],"rows":[["x"]],"reason":"t"}`,
		"run_migration": `{"statement":"ALTER TABLE app.items ADD COLUMN x integer","reason":"t"}`,
	} {
		b := setup(t)
		b.cat.broken = refusal.New(refusal.TooBusy, "All connections are in use.", "Try again.")
		_, err := b.tools[tool].Handle(t.Context(), tools.Call{Arguments: json.RawMessage(arguments)})
		require.True(t, refusal.Is(err, refusal.TooBusy), "%s: %v", tool, err)
		require.Equal(t, 1, b.cat.asked, tool)
	}
}
