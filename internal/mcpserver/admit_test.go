package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// S21, S17: however many calls a client sends at once, a cancel is read, a ping is answered, and the end
// of its stream ends them all.
func TestS21TooManyCalls(t *testing.T) {
	started := make(chan struct{}, 1000)
	c := connect(t, echo(), tool("wait", func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	// What the library answers by itself is not counted for ever.
	for i := range 400 {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":[1]}`, i), call(fmt.Sprint(i), "nope", `{}`))
		require.NotNil(t, c.next().Error)
		require.NotNil(t, c.next().Error)
		// A call of the modern era without what that era asks for.
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"m%d","method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01"}}}`, i))
		require.NotNil(t, c.next().Error)
	}
	const most = 160
	for i := range most {
		c.send(call(fmt.Sprint(i), "wait", `{}`))
	}
	for range 64 {
		<-started
	}
	for i := range 50 {
		c.send(call(fmt.Sprint(1000+i), "echo", `{}`))
		a := c.next()
		require.Equal(t, fmt.Sprint(1000+i), string(a.ID))
		r := a.tool(t)
		require.True(t, r.IsError)
		require.Contains(t, r.Content[0].Text, "TOO_BUSY")
		require.Empty(t, r.StructuredContent)
	}
	// A refusal is no answer to the open call of the same id.
	for range 50 {
		c.send(call("0", "echo", `{}`))
		require.Contains(t, c.next().tool(t).Content[0].Text, "TOO_BUSY")
	}
	c.silent() // a ping is answered
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
	require.Equal(t, "0", string(c.next().ID))
	c.send(call("2000", "echo", `{}`)) // there is room for one again
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.Equal(t, "1", string(c.next().ID))
	require.NoError(t, c.in.Close())
	require.NoError(t, within(t, c.served))
}

// S17, S21: some JSON writers (PHP's) escape the slash in a method's name: such a call is counted and
// cancelled like any other. One without an id runs nothing and is not queued.
func TestS17EscapedMethods(t *testing.T) {
	c := connect(t, tool("wait", func(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	escaped := func(line string) string { return strings.ReplaceAll(line, `/`, `\/`) }
	for i := range 50 {
		c.send(escaped(call(fmt.Sprint(i), "wait", `{}`)),
			escaped(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)))
		require.True(t, c.next().tool(t).IsError) // a call that nobody noted waits for ever
	}
	for range 64 {
		c.send(escaped(call("1", "wait", `{}`)))
	}
	for range 1000 {
		c.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait","arguments":{}}}`)
	}
	c.send(call("2", "wait", `{}`)) // were the queue full, this would run on the loop that reads
	c.silent()
}
