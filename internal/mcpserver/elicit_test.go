package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	questions "github.com/jpka/sw-postgres-mcp/internal/ask" // ask is another helper here
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// asker asks one question and gives back what came.
func asker() tools.Tool {
	return tool("asker", func(ctx context.Context, c tools.Call) (json.RawMessage, error) {
		got, err := c.Client.Ask(ctx, questions.Question{ID: "q", Way: questions.Form, Message: "Sure?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
		failed := err != nil && ctx.Err() == nil
		return json.Marshal(map[string]any{"got": string(got), "failed": failed})
	})
}

// A question goes out under an id of its own, its answer comes back byte for byte, and whatever else
// answers to that id is dropped: nothing of it reaches the library, which would answer it under the id of
// an unrelated call.
func TestElicitationOnTheWire(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"a result":              {`"result":{"action":"accept","content":{"n":9007199254740993,"n":1}}`, `{"got":"{\"action\":\"accept\",\"content\":{\"n\":9007199254740993,\"n\":1}}","failed":false}`},
		"an error":              {`"error":{"code":-32601,"message":"Method not found"}`, `{"got":"","failed":true}`},
		"a result and an error": {`"result":{"action":"accept"},"error":{"code":1,"message":"x"}`, `{"got":"","failed":true}`},
		"null":                  {`"result":null`, `{"got":"null","failed":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, asker(), echo())
			s.initialize("2025-06-18")
			s.send(call("1", "asker", `{}`))
			q := s.next()
			require.Equal(t, "elicitation/create", q.Method)
			require.JSONEq(t, `{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, string(q.Params))
			require.True(t, strings.HasPrefix(string(q.ID), `"`), "an id that clients count up to would meet theirs: %s", q.ID)
			s.send(
				`{"jsonrpc":"2.0","id":"sw-question-77","result":{"action":"accept"}}`, // another question
				`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`,                // the call's own id
				`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"late"}}`,
				`{"jsonrpc":"2.0","id":null,"result":{}}`,
				`{"jsonrpc":"2.0","id":`+string(q.ID)+`,`+c.answer+`}`,
				`{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":{"action":"decline"}}`,
			)
			s.afterStrays(t, c.want, "1")
			s.send(`{"jsonrpc":"2.0","id":`+string(q.ID)+`,"error":{"code":1,"message":"later still"}}`, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":{}}`)
			s.silent()
		})
	}
}

// afterStrays reads until the call is answered. The library answers strays that are not for a question
// of this server as it likes (lines_test.go); here it matters that the call gets its own answer.
func (c *client) afterStrays(t *testing.T, want, id string) {
	t.Helper()
	for {
		a := c.next()
		if string(a.ID) == id && a.Error == nil {
			require.JSONEq(t, want, a.tool(t).Content[0].Text)
			return
		}
		require.NotEqual(t, id, string(a.ID), "an error under the id of the call")
	}
}

// A call that its client cancels withdraws its question, by the question's id, before it is answered.
func TestElicitationIsWithdrawn(t *testing.T) {
	c := connect(t, asker())
	c.initialize("2025-11-25")
	c.send(call("1", "asker", `{}`))
	q := c.next()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	note := c.next()
	require.Equal(t, "notifications/cancelled", note.Method)
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	require.NoError(t, json.Unmarshal(note.Params, &params))
	require.Equal(t, string(q.ID), string(params.RequestID))
	require.Equal(t, "1", string(c.next().ID))
	c.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{"action":"accept"}}`)
	c.silent()
}

// Many questions at once are matched by their ids, in whatever order they are answered.
func TestElicitationManyAtOnce(t *testing.T) {
	c := connect(t, asker())
	c.initialize("2025-11-25")
	const n = 30
	for i := range n {
		c.send(call("\"c"+string(rune('a'+i))+"\"", "asker", `{}`))
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = string(c.next().ID)
	}
	for i := n - 1; i >= 0; i-- {
		c.send(`{"jsonrpc":"2.0","id":` + ids[i] + `,"result":{"of":` + ids[i] + `}}`)
	}
	seen := map[string]bool{}
	for range n {
		seen[c.next().tool(t).Content[0].Text] = true
	}
	require.Len(t, seen, n, "each call has another answer")
}

// What a client declared in its handshake holds for its calls, whatever requests of 2026-07-28 on the
// same stream say of themselves; those are taken by their own word, each.
func TestElicitationWays(t *testing.T) {
	way := tool("way", func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		if c.Client == nil {
			return json.RawMessage(`{"way":"nobody"}`), nil
		}
		return json.Marshal(map[string]any{"way": c.Client.Way, "name": c.Client.Name, "later": c.Client.Ask == nil, "answers": len(c.Client.Answers)})
	})
	request := func(version, meta, more string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"way","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `",` + meta + `}` + more + `}}`
	}
	const forms = `"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`
	c := connect(t, way)
	for _, agreed := range []string{"", "2025-11-25", "2025-03-26"} {
		legacy := `{"way":"nobody"}`
		if agreed != "" {
			c.initialize(agreed) // declares nothing
			legacy = `{"way":0,"name":"t","later":false,"answers":0}`
		}
		for _, step := range []struct{ line, want string }{
			{call("1", "way", `{}`), legacy},
			{request("2026-07-28", forms, ``), `{"way":1,"name":"x","later":true,"answers":0}`},
			{call("1", "way", `{}`), legacy},
			{request("2025-11-25", forms, `,"inputResponses":{"a":{"action":"accept"}}`), legacy},
			{request("2026-07-28", `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}`, `,"inputResponses":{"a":{"action":"accept"}},"requestState":"forged"`), `{"way":2,"name":"","later":true,"answers":1}`},
			{request("2026-07-28", `"io.modelcontextprotocol/clientCapabilities":{}`, `,"inputResponses":{}`), `{"way":0,"name":"","later":true,"answers":0}`},
		} {
			c.send(step.line)
			require.JSONEq(t, step.want, c.next().tool(t).Content[0].Text, step.line)
		}
	}
}
