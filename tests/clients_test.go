//go:build clients && unix

package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// nodeClients is where the pinned packages are. Not to have them, or no Node.js, is a failure that says
// how to get them, and no skip.
var nodeClients = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("../scripts/setup-clients.sh", "--check")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the MCP clients are needed: run `make setup-clients`: %w\n%s", err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
})

// realClient is one client that people use, as something to start the server through.
type realClient struct {
	name    string
	version string // of the protocol, which it agrees on with this server
	through func(t *testing.T) (command []string, env map[string]string)
}

func node(pkg, mode string) func(t *testing.T) ([]string, map[string]string) {
	return func(t *testing.T) ([]string, map[string]string) {
		t.Helper()
		dir, err := nodeClients()
		require.NoError(t, err)
		driver, err := filepath.Abs("clients/driver.mjs")
		require.NoError(t, err)
		return []string{"node", driver, pkg, mode}, map[string]string{"SW_TEST_CLIENTS": dir}
	}
}

func inGo(library, mode string) func(t *testing.T) ([]string, map[string]string) {
	return func(t *testing.T) ([]string, map[string]string) {
		t.Helper()
		self, err := os.Executable()
		require.NoError(t, err)
		return []string{self, mode}, map[string]string{"SW_TEST_DRIVER": library}
	}
}

// realClients speak every version of the protocol that there is, each by code of its own time where
// that can be had.
var realClients = []realClient{
	{name: "TypeScript SDK 1.7", version: "2024-11-05", through: node("sdk-2024-11-05", "-")},
	{name: "TypeScript SDK 1.12", version: "2025-03-26", through: node("sdk-2025-03-26", "-")},
	{name: "TypeScript SDK 1.17", version: "2025-06-18", through: node("sdk-2025-06-18", "-")},
	{name: "TypeScript SDK 1.32", version: "2025-11-25", through: node("@modelcontextprotocol/sdk", "-")},
	{name: "TypeScript client 2.4, handshake", version: "2025-11-25", through: node("@modelcontextprotocol/client", "legacy")},
	{name: "TypeScript client 2.4", version: "2026-07-28", through: node("@modelcontextprotocol/client", "auto")},
	{name: "mcp-go 2024-11-05", version: "2024-11-05", through: inGo("mcp-go", "2024-11-05")},
	{name: "mcp-go 2025-03-26", version: "2025-03-26", through: inGo("mcp-go", "2025-03-26")},
	{name: "mcp-go 2025-06-18", version: "2025-06-18", through: inGo("mcp-go", "2025-06-18")},
	{name: "mcp-go, handshake", version: "2025-11-25", through: inGo("mcp-go", "legacy")},
	{name: "mcp-go", version: "2026-07-28", through: inGo("mcp-go", "auto")},
	{name: "Go SDK", version: "2026-07-28", through: inGo("go-sdk", "auto")},
}

// eachClient runs f with each client on the same database.
func eachClient(t *testing.T, db *pgtemp.DB, o options, f func(t *testing.T, c realClient, s *server)) {
	t.Helper()
	for _, c := range realClients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mine := o
			command, env := c.through(t)
			mine.through, mine.env = command, env
			f(t, c, start(t, db, mine))
		})
	}
}

// old tells whether a version knows no structuredContent.
func (c realClient) old() bool { return c.version < "2025-06-18" }

// tell calls a tool with options for the client. The structure of the answer is not looked at.
func (s *server) tell(tool string, a args, client args) *pending {
	s.t.Helper()
	p := map[string]any{"name": tool, "client": client}
	if a != nil {
		p["arguments"] = a
	}
	return s.request("tools/call", p)
}

// result is what the client hands to its program for a tool call.
func result(t testing.TB, m message) (text string, structured json.RawMessage, isError bool) {
	t.Helper()
	require.Nil(t, m.Error, "%+v", m.Error)
	var r struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	require.NoError(t, json.Unmarshal(m.Result, &r))
	require.Len(t, r.Content, 1)
	return r.Content[0].Text, r.StructuredContent, r.IsError
}

// worked requires a success, with structuredContent exactly where the version has it (field case 83).
func (c realClient) worked(t testing.TB, m message, into any) {
	t.Helper()
	text, structured, isError := result(t, m)
	require.False(t, isError, text)
	if c.old() {
		require.Empty(t, structured)
	} else {
		require.JSONEq(t, text, string(structured))
	}
	if into != nil {
		require.NoError(t, json.Unmarshal([]byte(text), into))
	}
}

// refused requires {code, message, hint} as text and nothing beside it, which no client hides.
func (c realClient) refused(t testing.TB, m message, code refusal.Code) refusal.Error {
	t.Helper()
	text, structured, isError := result(t, m)
	require.True(t, isError, text)
	require.Empty(t, structured)
	var e refusal.Error
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	require.Equal(t, code, e.Code, text)
	return e
}

// Field cases 76, 77, 82 and 83: each client agrees on a version, sees the eight tools, and does each kind of
// call through its own checks of the answers.
func TestClientsDoTheWholeJob(t *testing.T) {
	t.Parallel()
	db := world(t)
	eachClient(t, db, options{}, func(t *testing.T, c realClient, s *server) {
		var info struct{ ProtocolVersion, Instructions string }
		require.NoError(t, json.Unmarshal(s.request("client/info", nil).wait().Result, &info))
		require.Equal(t, c.version, info.ProtocolVersion)
		require.Contains(t, info.Instructions, "plan_token")

		var list struct {
			Tools []struct {
				Name        string
				InputSchema json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(s.request("tools/list", nil).wait().Result, &list))
		require.Len(t, list.Tools, 8)

		ask := func(tool string, a args) message { return s.tell(tool, a, nil).wait() }
		var read struct{ Rows []map[string]any }
		c.worked(t, ask("query", args{"statement": "SELECT 9007199254740993::int8 AS big, 0.1::numeric(20,10) AS exact, $1::text AS said", "params": []any{"ü"}, "reason": "t"}), &read)
		require.Equal(t, map[string]any{"big": "9007199254740993", "exact": "0.1000000000", "said": "ü"}, read.Rows[0])
		c.worked(t, ask("describe_schema", args{"table": "app.parent"}), nil)
		c.worked(t, ask("describe_schema", nil), nil)
		c.worked(t, ask("explain_plan", args{"statement": "SELECT * FROM app.parent", "reason": "t"}), nil)
		c.refused(t, ask("query", args{"statement": "DELETE FROM app.item", "reason": "t"}), refusal.NotSelect)
		c.refused(t, ask("query", args{"statement": "SELECT 1", "limit": "5", "reason": "t"}), refusal.InvalidArguments)
		c.refused(t, ask("delete_rows", args{"table": "app.item", "reason": "t"}), refusal.NoWhereClause)

		// A free plan, with what some models send: lists and objects as text.
		var p preview
		c.worked(t, ask("insert_rows", args{"table": "app.item", "columns": `["name","doc"]`, "rows": `[["` + c.name + `",{"k":[1,null]}]]`, "reason": "t"}), &p)
		require.Equal(t, "previewed", p.Status)
		params, err := json.Marshal(p.Params)
		require.NoError(t, err)
		var e executed
		c.worked(t, ask("execute_plan", args{"plan_token": p.Token, "statement": p.Statement, "params": string(params)}), &e)
		require.Equal(t, "executed", e.Status)
		require.EqualValues(t, 1, e.Affected)
		c.refused(t, ask("execute_plan", args{"plan_token": p.Token, "statement": p.Statement, "params": p.Params}), refusal.UsedToken)
		c.worked(t, ask("update_rows", args{"table": "app.item", "set": `{"qty":1}`, "where": "name = $1", "params": `["` + c.name + `"]`, "reason": "t"}), &p)
		c.worked(t, ask("execute_plan", args{"plan_token": p.Token, "statement": p.Statement, "params": p.Params}), &e)
		c.worked(t, ask("delete_rows", args{"table": "app.item", "where": "name = $1", "params": []any{c.name}, "reason": "t"}), &p)
		c.worked(t, ask("execute_plan", args{"plan_token": p.Token, "statement": p.Statement, "params": p.Params}), &e)
		require.EqualValues(t, 1, e.Affected)
		m := s.tell("no_such_tool", args{}, nil).wait()
		require.NotNil(t, m.Error)
		require.Contains(t, m.Error.Message, "no_such_tool")
		s.noClientErrors()
	})
}

// noClientErrors requires that the client's library met nothing that it does not understand.
func (s *server) noClientErrors() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		if n.Method == "client/error" {
			s.t.Errorf("the client complains: %s", n.Params)
		}
	}
}

// progressed counts the progress notifications of one call that the client passed on.
func (s *server) progressed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.notes {
		if m.Method == "notifications/progress" {
			n++
		}
	}
	return n
}

// Field case 81: a call that waits for a person tells so, ends in what the person decides, can be cancelled, and
// one that the client gave up commits nothing until it is made again.
func TestClientsWait(t *testing.T) {
	t.Parallel()
	db := world(t)
	var clients atomic.Int32
	eachClient(t, db, options{}, func(t *testing.T, c realClient, s *server) {
		n := clients.Add(1)
		migration := func(i int) preview {
			var p preview
			c.worked(t, s.tell("run_migration", args{"statement": fmt.Sprintf("CREATE TABLE app.made_%d_%d (id integer)", n, i), "reason": "t"}, nil).wait(), &p)
			require.Equal(t, "awaiting_approval", p.Status)
			return p
		}
		there := func(i int) bool {
			return number(t, db, "SELECT count(*) FROM pg_class WHERE relname = $1", fmt.Sprintf("made_%d_%d", n, i)) == 1
		}
		// Approved while it waits, with progress on the way.
		p := migration(1)
		call := s.tell("execute_plan", p.echo(), args{"progress": true})
		eventually(t, "progress is told", func() bool { return s.progressed() > 0 })
		require.False(t, call.answered())
		s.approve(p.Token)
		var e executed
		c.worked(t, call.wait(), &e)
		require.Equal(t, "executed", e.Status)
		require.True(t, there(1))

		// Rejected while it waits.
		p = migration(2)
		call = s.tell("execute_plan", p.echo(), nil)
		s.call0(c)
		s.reject(p.Token, "not today")
		require.Contains(t, c.refused(t, call.wait(), refusal.PlanRejected).Message, "not today")
		s.noClientErrors()

		// The client gives up, and a person approves what nobody waits for any more.
		for i, give := range []func(p preview) *pending{
			func(p preview) *pending { return s.tell("execute_plan", p.echo(), args{"timeout": 1000}) },
			func(p preview) *pending {
				call := s.tell("execute_plan", p.echo(), args{"progress": true})
				before := s.progressed()
				eventually(t, "it waits", func() bool { return s.progressed() > before })
				call.cancel()
				return call
			},
		} {
			p = migration(3 + i)
			m := give(p).wait()
			require.NotNil(t, m.Error, "%s", m.Result)
			s.call0(c)
			s.approve(p.Token)
			s.call0(c)
			require.False(t, there(3+i), "it committed for a client that had left")
			c.worked(t, s.tell("execute_plan", p.echo(), nil).wait(), &e)
			require.True(t, there(3+i))
		}
	})
}

// call0 is a call behind whatever was sent before it.
func (s *server) call0(c realClient) {
	s.t.Helper()
	c.worked(s.t, s.tell("query", args{"statement": "SELECT 1", "reason": "t"}, nil).wait(), nil)
}

// A cancelled statement ends in the database too.
func TestClientsCancelAQuery(t *testing.T) {
	t.Parallel()
	db := world(t)
	eachClient(t, db, patient(), func(t *testing.T, c realClient, s *server) {
		for _, how := range []args{{"timeout": 1500}, {}} {
			call := s.tell("query", args{"statement": "SELECT pg_sleep(80)", "reason": "t"}, how)
			eventually(t, "the query runs", func() bool { return s.running("FETCH") > 0 || call.answered() })
			if how["timeout"] == nil {
				call.cancel()
			}
			m := call.wait()
			require.NotNil(t, m.Error, "%s", m.Result)
			eventually(t, "the statement is gone", func() bool { return s.running("") == 0 })
			s.call0(c)
		}
	})
}

// Tables as resources and the prompts, as each client shows them.
func TestClientsReadResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	db := world(t)
	db.Exec(t, `CREATE TABLE app."Odd / Näme%" (id integer); GRANT SELECT ON app."Odd / Näme%" TO readonly`)
	o := options{config: map[string]any{"allowlist": map[string]any{
		"read": map[string]any{"schemas": []string{"app"}}, "write": map[string]any{"schemas": []string{"app"}},
	}}}
	eachClient(t, db, o, func(t *testing.T, c realClient, s *server) {
		var list struct{ Resources []struct{ URI, Name string } }
		require.NoError(t, json.Unmarshal(s.request("resources/list", args{}).wait().Result, &list))
		uris := map[string]string{}
		for _, r := range list.Resources {
			require.NotContains(t, r.URI, "secret", "the read allowlist hides it")
			uris[r.Name] = r.URI
		}
		require.Contains(t, uris, "app.parent")
		var templates struct {
			ResourceTemplates []struct{ URITemplate string }
		}
		require.NoError(t, json.Unmarshal(s.request("resources/templates/list", args{}).wait().Result, &templates))
		require.Len(t, templates.ResourceTemplates, 1)
		require.Equal(t, "postgres://schema/{schema}/{table}", templates.ResourceTemplates[0].URITemplate)
		for _, name := range []string{"app.parent", "app.parents", `app."Odd / Näme%"`, `app."Mixed Case"`} {
			uri := uris[name]
			var out struct {
				Contents []struct{ URI, Text, MIMEType string }
			}
			m := s.request("resources/read", args{"uri": uri}).wait()
			require.Nil(t, m.Error, "%s: %+v", uri, m.Error)
			require.NoError(t, json.Unmarshal(m.Result, &out))
			require.Len(t, out.Contents, 1)
			require.Equal(t, uri, out.Contents[0].URI)
			text, _, _ := result(t, s.tell("describe_schema", args{"table": name}, nil).wait())
			require.JSONEq(t, text, out.Contents[0].Text, "a resource is what describe_schema answers")
		}
		missing := -32002
		if c.version == "2026-07-28" {
			missing = -32602
		}
		for uri, hint := range map[string]string{
			"postgres://schema/app/parnet":    "app.parent",
			"postgres://schema/secret/hidden": "secret.hidden",
			"postgres://other":                "postgres://schema/{schema}/{table}",
		} {
			m := s.request("resources/read", args{"uri": uri}).wait()
			require.NotNil(t, m.Error, "%s: %s", uri, m.Result)
			require.Equal(t, missing, m.Error.Code, "%+v", m.Error)
			require.Contains(t, m.Error.Message, hint)
		}
		var prompts struct{ Prompts []struct{ Name string } }
		require.NoError(t, json.Unmarshal(s.request("prompts/list", args{}).wait().Result, &prompts))
		require.Len(t, prompts.Prompts, 2)
		m := s.request("prompts/get", args{"name": "review_migration", "arguments": args{"statement": "DROP TABLE app.parent"}}).wait()
		require.Nil(t, m.Error)
		require.Contains(t, string(m.Result), "DROP TABLE app.parent")
		m = s.request("prompts/get", args{"name": "review_migration"}).wait()
		require.NotNil(t, m.Error, "%s", m.Result)
		require.Equal(t, -32602, m.Error.Code)
		m = s.request("completion/complete", args{"ref": args{"type": "ref/prompt", "name": "safe_bulk_change"}, "argument": args{"name": "table", "value": "pare"}}).wait()
		require.Nil(t, m.Error)
		require.Contains(t, string(m.Result), `"parent"`)
		s.noClientErrors()
	})
}
