package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/mcpserver"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// stdio is held by the test that serves a stream: the library has one stdio session per process.
var stdio sync.Mutex

// client is a raw JSON-lines client.
type client struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *io.PipeReader
	lines  chan string
	served chan error
	stop   context.CancelFunc
	log    *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func connect(t *testing.T, all ...tools.Tool) *client {
	t.Helper()
	return connectWith(t, 0, all...)
}

func connectWith(t *testing.T, maxLine int, all ...tools.Tool) *client {
	t.Helper()
	stdio.Lock()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &client{t: t, in: inW, out: outR, lines: make(chan string, 1000), served: make(chan error, 1), stop: stop, log: &buffer{}}
	s := mcpserver.New(mcpserver.Options{
		Name: "test", Title: "Test", Version: "1", Instructions: "read me", Tools: all, MaxLine: maxLine,
		Logger: slog.New(slog.NewTextHandler(c.log, nil)),
	})
	go func() { c.served <- s.Serve(ctx, inR, outW); _ = outW.Close() }()
	go func() {
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				close(c.lines)
				return
			}
			c.lines <- line
		}
	}()
	t.Cleanup(func() {
		stop()
		_ = inW.Close()
		_ = outR.Close()
		stdio.Unlock()
	})
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		_, err := io.WriteString(c.in, l+"\n")
		require.NoError(c.t, err)
	}
}

// answer is the next line out; every one must be a JSON-RPC message.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *client) next() answer {
	c.t.Helper()
	select {
	case l, ok := <-c.lines:
		require.True(c.t, ok, "the stream ended")
		var a answer
		require.NoError(c.t, json.Unmarshal([]byte(l), &a), l)
		require.Equal(c.t, "2.0", a.JSONRPC, l)
		return a
	case <-time.After(20 * time.Second):
		c.t.Fatal("no answer within 20 s")
		return answer{}
	}
}

// silent requires that nothing but the answer to a ping comes, which is then behind everything
// that was sent before it.
func (c *client) silent() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"still there","method":"ping"}`)
	a := c.next()
	require.Equal(c.t, `"still there"`, string(a.ID), "%s %v", a.Result, a.Error)
}

func (c *client) initialize(version string) string {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version))
	var r struct{ ProtocolVersion, Instructions string }
	require.NoError(c.t, json.Unmarshal(c.next().Result, &r))
	require.Equal(c.t, "read me", r.Instructions)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r.ProtocolVersion
}

type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

func (a answer) tool(t *testing.T) toolResult {
	t.Helper()
	require.Nil(t, a.Error)
	var r toolResult
	require.NoError(t, json.Unmarshal(a.Result, &r))
	require.Len(t, r.Content, 1)
	require.Equal(t, "text", r.Content[0].Type)
	return r
}

func call(id, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

// echo answers with the bytes of its arguments.
func echo() tools.Tool {
	return tool("echo", func(_ context.Context, c tools.Call) (json.RawMessage, error) {
		return json.Marshal(map[string]string{"got": string(c.Arguments)})
	})
}

func tool(name string, h func(context.Context, tools.Call) (json.RawMessage, error)) tools.Tool {
	return tools.Tool{
		Name: name, Title: strings.ToUpper(name), Description: "a tool", Handle: h,
		Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Hints:  tools.Hints{ReadOnly: true},
	}
}
