package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/mcpserver"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

func TestProtocolVersions(t *testing.T) {
	for asked, want := range map[string]struct {
		agreed     string
		structured bool
	}{
		"2024-11-05": {"2024-11-05", false},
		"2025-03-26": {"2025-03-26", false},
		"2025-06-18": {"2025-06-18", true},
		"2025-11-25": {"2025-11-25", true},
		"2026-07-28": {"2025-11-25", true}, // its era has no handshake; see the modern request below
		"9999":       {"2025-11-25", true},
		"":           {"2025-03-26", false},
	} {
		t.Run(asked, func(t *testing.T) {
			c := connect(t, echo(), refuser())
			require.Equal(t, want.agreed, c.initialize(asked))
			c.send(call("1", "echo", `{}`))
			r := c.next().tool(t)
			require.JSONEq(t, `{"got":"{}"}`, r.Content[0].Text)
			if want.structured {
				require.JSONEq(t, r.Content[0].Text, string(r.StructuredContent))
			} else {
				require.Nil(t, r.StructuredContent)
			}
			c.send(call("2", "refuser", `{}`))
			r = c.next().tool(t)
			require.True(t, r.IsError)
			require.Nil(t, r.StructuredContent)
			require.Equal(t, `{"code":"NOT_SELECT","message":"No.","hint":"Try again."}`, r.Content[0].Text)
		})
	}
	t.Run("modern request", func(t *testing.T) {
		c := connect(t, echo())
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		r := c.next().tool(t)
		require.JSONEq(t, r.Content[0].Text, string(r.StructuredContent))
	})
}

func refuser() tools.Tool {
	return tool("refuser", func(context.Context, tools.Call) (json.RawMessage, error) {
		return nil, fmt.Errorf("wrapped: %w", refusal.New(refusal.NotSelect, "No.", "Try again."))
	})
}

func TestListShowsEverything(t *testing.T) {
	t.Parallel()
	s := mcpserver.New(mcpserver.Options{Name: "n", Version: "1", Tools: []tools.Tool{echo()}})
	out, err := s.Handle(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","title":"ECHO","description":"a tool","_meta":{"sw-postgres-mcp/group":"","sw-postgres-mcp/tier":""},
		"inputSchema":{"type":"object","properties":{},"additionalProperties":false},
		"annotations":{"title":"ECHO","readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}}]}}`, string(out))
	out, err = s.Handle(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	require.NoError(t, err)
	require.Nil(t, out)
}

// S20: whatever a tool dies of, the client sees a reference and the log sees the cause.
func TestPanicDoesNotLeak(t *testing.T) {
	c := connect(t,
		tool("panics", func(context.Context, tools.Call) (json.RawMessage, error) { panic("secret boom") }),
		tool("nils", func(context.Context, tools.Call) (json.RawMessage, error) { panic(nil) }),
		tool("fails", func(context.Context, tools.Call) (json.RawMessage, error) { return nil, errors.New("secret fault") }),
		tool("empty", func(context.Context, tools.Call) (json.RawMessage, error) { return nil, nil }),
		tool("broken", func(context.Context, tools.Call) (json.RawMessage, error) {
			return json.RawMessage(`{"secret":NaN}`), nil
		}),
		tool("list", func(context.Context, tools.Call) (json.RawMessage, error) { return json.RawMessage(`[1]`), nil }),
	)
	for i, name := range []string{"panics", "nils", "fails", "empty", "broken", "list"} {
		c.send(call(fmt.Sprint(i), name, `{}`))
		a := c.next()
		require.NotContains(t, string(a.Result), "secret")
		r := a.tool(t)
		require.True(t, r.IsError)
		require.Nil(t, r.StructuredContent)
		var e refusal.Error
		require.NoError(t, json.Unmarshal([]byte(r.Content[0].Text), &e))
		require.Equal(t, refusal.InternalError, e.Code)
		require.NotEmpty(t, e.Hint)
		ref := e.Message[strings.LastIndex(e.Message, " ")+1:]
		require.Contains(t, c.log.String(), strings.TrimSuffix(ref, "."))
	}
	require.Contains(t, c.log.String(), "secret boom")
	require.Contains(t, c.log.String(), "secret fault")
	c.silent()
}

func TestArgumentsKeepTheirBytes(t *testing.T) {
	c := connect(t, echo())
	for i, arguments := range []string{
		`{"a":9007199254740993,"b":1.10,"c":0.1000000000000000000001,"a":1}`,
		`{"z":1,"a":"\u0000\ud83d\ude00"}`,
		`null`, `[1]`, `"x"`, `5`,
	} {
		c.send(call(fmt.Sprint(i), "echo", arguments))
		var got struct{ Got string }
		require.NoError(t, json.Unmarshal([]byte(c.next().tool(t).Content[0].Text), &got))
		require.Equal(t, arguments, got.Got)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
	require.JSONEq(t, `{"got":""}`, c.next().tool(t).Content[0].Text)
}

func TestTextThatIsNotUTF8(t *testing.T) {
	c := connect(t,
		tool("bad", func(context.Context, tools.Call) (json.RawMessage, error) {
			return json.RawMessage("{\"a\":\"x\xff\x00y\"}"), nil
		}),
		tool("bad2", func(context.Context, tools.Call) (json.RawMessage, error) {
			return json.RawMessage("{\"a\":\"x\xffy\"}"), nil
		}),
		tool("worse", func(context.Context, tools.Call) (json.RawMessage, error) {
			return nil, refusal.New(refusal.QueryFailed, "x\xff\x00<script>\u2028", "")
		}))
	c.send(call("1", "bad", `{}`)) // a raw NUL is not JSON
	require.True(t, c.next().tool(t).IsError)
	c.send(call("2", "bad2", `{}`))
	require.Equal(t, "{\"a\":\"x\ufffdy\"}", c.next().tool(t).Content[0].Text)
	c.send(call("3", "worse", `{}`))
	var e refusal.Error
	require.NoError(t, json.Unmarshal([]byte(c.next().tool(t).Content[0].Text), &e))
	require.Equal(t, "x\ufffd\x00<script>\u2028", e.Message)
}

func TestProgress(t *testing.T) {
	late := make(chan func(string), 1)
	c := connect(t, tool("slow", func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		if c.Progress == nil {
			return json.RawMessage(`{"progress":false}`), nil
		}
		c.Progress("one")
		c.Progress("two")
		late <- c.Progress
		return json.RawMessage(`{"progress":true}`), nil
	}))
	with := func(token string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{},"_meta":{"progressToken":` + token + `}}}`
	}
	for _, token := range []string{`"tok"`, `17`} {
		c.send(with(token))
		for i, want := range []string{"one", "two"} {
			a := c.next()
			require.Equal(t, "notifications/progress", a.Method)
			require.JSONEq(t, fmt.Sprintf(`{"progressToken":%s,"progress":%d,"message":%q}`, token, i+1, want), string(a.Params))
		}
		require.JSONEq(t, `{"progress":true}`, c.next().tool(t).Content[0].Text)
		(<-late)("too late: the call has been answered")
		c.silent()
	}
	for _, token := range []string{`null`, `{}`, `true`} {
		c.send(with(token))
		require.JSONEq(t, `{"progress":false}`, c.next().tool(t).Content[0].Text)
	}
	c.send(call("1", "slow", `{}`))
	require.JSONEq(t, `{"progress":false}`, c.next().tool(t).Content[0].Text)
}

// S17: a cancel is never lost, also one that comes right behind its call or while that is queued.
func TestS17CancelIsNeverLost(t *testing.T) {
	ran := make(chan string, 1000)
	c := connect(t, tool("wait", func(ctx context.Context, c tools.Call) (json.RawMessage, error) {
		ran <- string(c.Arguments)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"user"}}`
	}
	for i := range 50 {
		for _, id := range []string{fmt.Sprint(i), fmt.Sprintf(`"s%d"`, i)} {
			c.send(call(id, "wait", `{}`), cancel(id))
			a := c.next() // without the registry this waits for ever
			require.Equal(t, id, string(a.ID))
			require.True(t, a.tool(t).IsError)
		}
	}
	// Fill every worker, queue one more, cancel that one: it must not run.
	for len(ran) > 0 {
		<-ran
	}
	for i := range 64 {
		c.send(call(fmt.Sprint(1000+i), "wait", `{}`))
	}
	for range 64 {
		<-ran
	}
	c.send(call("5000", "wait", `{"queued":1}`), cancel("5000"), cancel("1000"))
	got := map[string]bool{string(c.next().ID): true, string(c.next().ID): true}
	require.Equal(t, map[string]bool{"1000": true, "5000": true}, got)
	require.Empty(t, ran, "a call that was cancelled in the queue ran")
	// Unknown ids and odd ones are harmless.
	c.send(cancel("12345"), cancel("null"), cancel("{}"), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
	c.silent()
}

// S17: the client leaves while calls run: their contexts end and Serve returns.
func TestS17LeavingClient(t *testing.T) {
	started := make(chan struct{})
	c := connect(t, tool("wait", func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}))
	c.send(call("1", "wait", `{}`))
	<-started
	require.NoError(t, c.in.Close())
	require.NoError(t, within(t, c.served))
}

// S21: calls that wait do not starve the others, nor do they mix lines.
func TestS21WaitingCalls(t *testing.T) {
	release := make(chan struct{})
	c := connect(t, echo(), tool("wait", func(ctx context.Context, c tools.Call) (json.RawMessage, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return json.RawMessage(`{"x":"` + strings.Repeat("y", 100_000) + `"}`), nil
	}))
	for i := range 60 {
		c.send(call(fmt.Sprint(i), "wait", `{}`))
	}
	c.send(call("999", "echo", `{}`))
	require.Equal(t, "999", string(c.next().ID))
	close(release)
	seen := map[string]bool{}
	for range 60 {
		seen[string(c.next().ID)] = true
	}
	require.Len(t, seen, 60)
}

func TestWriteFailure(t *testing.T) {
	stdio.Lock()
	defer stdio.Unlock()
	s := mcpserver.New(mcpserver.Options{Name: "n", Version: "1"})
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n") }()
	err := s.Serve(t.Context(), r, failing{})
	require.ErrorContains(t, err, "disk full")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// What goes over the wire is what the snapshots of the tools say, in every era of the protocol.
func TestToolsListIsTheSnapshots(t *testing.T) {
	t.Parallel()
	all := tools.All(tools.Deps{Limits: tools.Limits{QueryRows: 1000}})
	s := mcpserver.New(mcpserver.Options{Name: "n", Version: "1", Tools: all})
	for _, params := range []string{`{}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`} {
		out, err := s.Handle(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`))
		require.NoError(t, err)
		var list struct {
			Result struct{ Tools []json.RawMessage }
		}
		require.NoError(t, json.Unmarshal(out, &list))
		require.Len(t, list.Result.Tools, len(all))
		for _, entry := range list.Result.Tools {
			var name struct{ Name string }
			require.NoError(t, json.Unmarshal(entry, &name))
			want, err := os.ReadFile(filepath.Join("..", "tools", "testdata", name.Name+".snap.json"))
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(entry))
		}
	}
}
