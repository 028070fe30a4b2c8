package approvalui_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A card names the role whose rights decide: that of migrations where it is one.
func TestCardsSayWhoseRightsCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows, migration := b.add(cascade()), b.add(dropColumn())
	_, body, _ := b.ask("GET", "/api/plans", "")
	want := map[string]string{string(rows.Token): "writer", string(migration.Token): "migrator"}
	for _, v := range body["plans"].([]any) {
		c := v.(map[string]any)
		as := want[c["plan_token"].(string)]
		require.Equal(t, as, c["runs_as"])
		require.Contains(t, c["render"].(map[string]any)["details"], map[string]any{"label": "Runs as", "value": as})
	}
	require.Len(t, body["plans"], 2)
}
