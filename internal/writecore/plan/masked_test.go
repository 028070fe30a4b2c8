package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// By whatever way a row becomes JSON, a masked value does not.
func TestRowsAsJSONAreMasked(t *testing.T) {
	t.Parallel()
	row := plan.Row{
		{Column: "id", Value: json.RawMessage("1")},
		{Column: "mail", Value: json.RawMessage(`"secret"`), Masked: json.RawMessage(`"hash:00"`)},
		{Column: "gone", Value: json.RawMessage(`"secret"`), Masked: json.RawMessage("null")},
	}
	for _, v := range []any{row, []plan.Row{row}, plan.Change{Key: row, Before: row, After: row}, map[string]any{"rows": []plan.Row{row}}} {
		out, err := json.Marshal(v)
		require.NoError(t, err)
		require.NotContains(t, string(out), "secret")
		require.Contains(t, string(out), `{"id":1,"mail":"hash:00","gone":null}`)
	}
}
