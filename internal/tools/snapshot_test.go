package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

var update = flag.Bool("update", false, "write the snapshots of the tools")

// What an agent sees of a tool is part of the contract: a change of it is a diff in a snapshot, and
// a tool without one fails.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"instructions.snap.txt": true}
	golden(t, "instructions.snap.txt", []byte(tools.Instructions+"\n"))
	for _, tool := range tools.All(tools.Deps{Limits: limits}) {
		name := tool.Name + ".snap.json"
		want[name] = true
		golden(t, name, snapshot(t, tool))
	}
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, want[f.Name()], "testdata/%s belongs to no tool", f.Name())
	}
}

// snapshot is the tool as tools/list shows it; a test of mcpserver holds the two equal.
func snapshot(t *testing.T, tool tools.Tool) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(map[string]any{
		"name": tool.Name, "title": tool.Title, "description": tool.Description, "inputSchema": tool.Schema,
		"_meta": map[string]any{"sw-postgres-mcp/group": tool.Group, "sw-postgres-mcp/tier": tool.Tier},
		"annotations": map[string]any{
			"title": tool.Title, "readOnlyHint": tool.Hints.ReadOnly, "destructiveHint": tool.Hints.Destructive,
			"idempotentHint": tool.Hints.Idempotent, "openWorldHint": tool.Hints.OpenWorld,
		},
	}))
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test ./internal/tools -update and review the diff")
	require.Equal(t, string(want), string(got))
}

func TestNamesAndHints(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range tools.All(tools.Deps{}) {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Title)
		require.NotEmpty(t, tool.Group)
		require.Contains(t, []string{"read", "write", "ddl"}, tool.Tier)
		require.False(t, tool.Hints.OpenWorld, "one database is a closed world")
		require.Equal(t, tool.Tier == "read", tool.Hints.ReadOnly, tool.Name)
		// Only the tool that commits may destroy: clients ask their user by this hint.
		require.Equal(t, tool.Name == "execute_plan", tool.Hints.Destructive, tool.Name)
		require.Less(t, len(tool.Description), 1500, tool.Name)
		require.NotContains(t, tool.Description, "\t")
	}
	require.Equal(t, []string{
		"describe_schema", "query", "explain_plan", "delete_rows", "insert_rows", "update_rows", "run_migration", "execute_plan",
	}, names)
}

func TestDescriptionsTeachTheWay(t *testing.T) {
	t.Parallel()
	for _, tool := range tools.All(tools.Deps{Limits: limits}) {
		if tool.Tier == "read" {
			continue
		}
		for _, word := range []string{"plan_token", "execute_plan", "person"} {
			require.Contains(t, tool.Name+tool.Description, word, tool.Name)
		}
		if tool.Name != "execute_plan" {
			require.Contains(t, tool.Description, "rolled back", tool.Name)
			require.Contains(t, tool.Description, "approval_url", tool.Name)
		}
	}
	for _, tool := range tools.All(tools.Deps{Limits: limits}) {
		if tool.Name == "insert_rows" {
			require.Contains(t, tool.Description, "no ON CONFLICT")
		}
		if tool.Name == "query" {
			require.Contains(t, tool.Description, "1,000 rows")
		}
		require.False(t, strings.Contains(tool.Description, "  "), tool.Name)
	}
}
