//go:build clients && unix

package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// inspect runs the MCP Inspector's command line once and returns what it prints, and its exit code.
func inspect(t *testing.T, db *pgtemp.DB, args ...string) (out, said string, code int) {
	t.Helper()
	dir, err := nodeClients()
	require.NoError(t, err)
	server, _ := command(t, db, options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector-cli/build")
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(at, "cli.js"), "--cli", server.Path}, args...)...)
	cmd.Env = append(slices.Clone(server.Env), "HOME="+t.TempDir())
	cmd.Dir = at // it looks for its own package.json from where it is started
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		require.NotNil(t, cmd.ProcessState, "%v", err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// What a developer tries first.
func TestClientsInspector(t *testing.T) {
	t.Parallel()
	db := world(t)
	for name, c := range map[string]struct {
		args  []string
		holds string
		code  int
	}{
		"tools/list":                     {[]string{"--method", "tools/list"}, "run_migration", 0},
		"a query":                        {[]string{"--method", "tools/call", "--tool-name", "query", "--tool-arg", "statement=SELECT 7 AS seven", "reason=trying"}, `\"seven\":7`, 0},
		"a list as JSON":                 {[]string{"--method", "tools/call", "--tool-name", "query", "--tool-arg", "statement=SELECT $1::int AS a, $2::text AS b", "params=[1,\"x\"]", "reason=trying"}, `\"a\":1,\"b\":\"x\"`, 0},
		"a preview":                      {[]string{"--method", "tools/call", "--tool-name", "insert_rows", "--tool-arg", "table=app.item", "columns=[\"name\"]", "rows=[[\"x\"]]", "reason=trying"}, "previewed", 0},
		"a refusal is a result":          {[]string{"--method", "tools/call", "--tool-name", "query", "--tool-arg", "statement=DROP TABLE app.item", "reason=trying"}, "NOT_SELECT", 0},
		"resources/list":                 {[]string{"--method", "resources/list"}, "postgres://schema/app/parent", 0},
		"resources/templates/list":       {[]string{"--method", "resources/templates/list"}, "postgres://schema/{schema}/{table}", 0},
		"resources/read":                 {[]string{"--method", "resources/read", "--uri", "postgres://schema/app/parent"}, "primaryKey", 0},
		"a resource that is not":         {[]string{"--method", "resources/read", "--uri", "postgres://schema/app/parnet"}, "Did you mean app.parent?", 1},
		"prompts/list":                   {[]string{"--method", "prompts/list"}, "safe_bulk_change", 0},
		"prompts/get":                    {[]string{"--method", "prompts/get", "--prompt-name", "review_migration", "--prompt-args", "statement=DROP TABLE app.item"}, "DROP TABLE app.item", 0},
		"a prompt without its arguments": {[]string{"--method", "prompts/get", "--prompt-name", "review_migration"}, "is required", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, said, code := inspect(t, db, c.args...)
			require.Equal(t, c.code, code, "%s%s", out, said)
			if code != 0 {
				require.Contains(t, said, c.holds)
				return
			}
			require.Contains(t, out, c.holds)
			require.True(t, json.Valid([]byte(out)), out)
		})
	}
}

// Field case 82, on the wire: each version that there ever was is agreed on, an unknown one gets our newest,
// structuredContent goes to those that know it, and the era without a handshake is served by the same process.
func TestClientsProtocolVersions(t *testing.T) {
	t.Parallel()
	db := world(t)
	for asked, agreed := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", // its era has no handshake: see below
		"9999":       "2025-11-25", "1.0": "2025-11-25", "2099-01-01": "2025-11-25", "nonsense": "2025-11-25",
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			s := start(t, db, options{silent: true})
			var hello struct{ ProtocolVersion string }
			require.NoError(t, json.Unmarshal(s.initialize(asked, map[string]any{}), &hello))
			require.Equal(t, agreed, hello.ProtocolVersion)
			c := realClient{version: agreed}
			c.worked(t, s.tell("query", args{"statement": "SELECT 1", "reason": "t"}, nil).wait(), nil)

			modern := args{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": args{"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": args{}}
			m := s.request("tools/call", args{"name": "query", "arguments": args{"statement": "SELECT 1", "reason": "t"}, "_meta": modern}).wait()
			realClient{version: "2026-07-28"}.worked(t, m, nil)
			modern["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
			m = s.request("tools/list", args{"_meta": modern}).wait()
			require.NotNil(t, m.Error)
			require.Equal(t, -32022, m.Error.Code)
			s.call0(c)
		})
	}
}
