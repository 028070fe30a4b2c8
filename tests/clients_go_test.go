//go:build clients && unix

package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The two Go libraries as clients. The test program runs itself as the client, so that it stands between
// the harness and the server as driver.mjs does for TypeScript: see that file for what is spoken.

func init() {
	drivers["mcp-go"] = func(args []string) int { return drive(args, dialMCPGo) }
	drivers["go-sdk"] = func(args []string) int { return drive(args, dialSDK) }
}

// driven is a connected client. do returns what the library made of the answer.
type driven struct {
	info  map[string]any
	do    func(ctx context.Context, method string, params json.RawMessage, token int) (any, error)
	close func() error
}

// dial connects a client to the program; progress gets what the library passes on. mode is a protocol
// version to ask for, "legacy", or "auto".
type dial func(mode string, command []string, progress func(any)) (*driven, error)

// drive does what comes in on stdin until it ends. The first argument is the mode, the rest the program.
func drive(args []string, connect dial) int {
	var mu sync.Mutex
	say := func(m map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		m["jsonrpc"] = "2.0"
		line, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.Write(append(line, '\n'))
	}
	d, err := connect(args[0], args[1:], func(p any) { say(map[string]any{"method": "notifications/progress", "params": p}) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "connecting:", err)
		return 1
	}
	running := map[string]context.CancelFunc{}
	var calls sync.WaitGroup
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method == "notifications/cancelled" {
			var p struct{ RequestID json.RawMessage }
			_ = json.Unmarshal(m.Params, &p)
			if cancel := running[string(p.RequestID)]; cancel != nil {
				cancel()
			}
			continue
		}
		var how struct {
			Client struct {
				Timeout  int
				Progress bool
			}
		}
		_ = json.Unmarshal(m.Params, &how)
		ctx, cancel := context.WithCancel(context.Background())
		if how.Client.Timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(how.Client.Timeout)*time.Millisecond)
		}
		running[string(m.ID)] = cancel
		token := 0
		if how.Client.Progress {
			_ = json.Unmarshal(m.ID, &token)
		}
		calls.Go(func() {
			var result any = d.info
			var err error
			if m.Method != "client/info" {
				result, err = d.do(ctx, m.Method, m.Params, token)
			}
			if err != nil {
				say(map[string]any{"id": m.ID, "error": errorOf(ctx, err)})
				return
			}
			say(map[string]any{"id": m.ID, "result": result})
		})
	}
	for _, cancel := range running {
		cancel()
	}
	calls.Wait()
	if err := d.close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing:", err)
		return 1
	}
	return 0
}

// errorOf is a library's error as one of the protocol; -32001 is a timeout, as in TypeScript.
func errorOf(ctx context.Context, err error) map[string]any {
	if ctx.Err() != nil {
		code := -1
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			code = -32001
		}
		return map[string]any{"code": code, "message": err.Error()}
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return map[string]any{"code": e.Code, "message": e.Message, "data": e.Data}
	}
	code := -1
	for c, of := range map[int]error{mcp.RESOURCE_NOT_FOUND: mcp.ErrResourceNotFound, mcp.INVALID_PARAMS: mcp.ErrInvalidParams, mcp.INTERNAL_ERROR: mcp.ErrInternalError} {
		if errors.Is(err, of) {
			code = c
		}
	}
	return map[string]any{"code": code, "message": err.Error()}
}

func dialMCPGo(mode string, command []string, progress func(any)) (*driven, error) {
	stdio := transport.NewStdioWithOptions(command[0], os.Environ(), command[1:], transport.WithCommandStderrWriter(os.Stderr))
	if err := stdio.Start(context.Background()); err != nil {
		return nil, err
	}
	var options []client.ClientOption
	var ask mcp.InitializeRequest
	ask.Params.ClientInfo = mcp.Implementation{Name: "tests", Version: "1"}
	switch mode {
	case "auto":
	case "legacy":
		options = append(options, client.WithLegacyProtocolOnly()) //nolint:staticcheck // what clients of that time do
	default:
		options = append(options, client.WithProtocolVersion(mode))
		ask.Params.ProtocolVersion = mode
	}
	c := client.NewClient(stdio, options...)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			progress(n.Params.AdditionalFields)
		}
	})
	if err := c.Start(context.Background()); err != nil {
		return nil, err
	}
	hello, err := c.Initialize(context.Background(), ask)
	if err != nil {
		return nil, err
	}
	d := &driven{close: c.Close, info: map[string]any{
		"protocolVersion": c.ProtocolVersion(), "instructions": hello.Instructions, "capabilities": hello.Capabilities,
	}}
	d.do = func(ctx context.Context, method string, raw json.RawMessage, token int) (any, error) {
		switch method {
		case "tools/list":
			return c.ListTools(ctx, mcp.ListToolsRequest{})
		case "tools/call":
			var r mcp.CallToolRequest
			var p struct {
				Name      string
				Arguments json.RawMessage
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, err
			}
			r.Params.Name = p.Name
			if p.Arguments != nil {
				r.Params.Arguments = p.Arguments
			}
			if token != 0 {
				r.Params.Meta = &mcp.Meta{ProgressToken: token}
			}
			return c.CallTool(ctx, r)
		case "resources/list":
			return c.ListResources(ctx, mcp.ListResourcesRequest{})
		case "resources/templates/list":
			return c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		case "resources/read":
			var r mcp.ReadResourceRequest
			return with(raw, &r.Params, func() (any, error) { return c.ReadResource(ctx, r) })
		case "prompts/list":
			return c.ListPrompts(ctx, mcp.ListPromptsRequest{})
		case "prompts/get":
			var r mcp.GetPromptRequest
			return with(raw, &r.Params, func() (any, error) { return c.GetPrompt(ctx, r) })
		case "completion/complete":
			var r mcp.CompleteRequest
			return with(raw, &r.Params, func() (any, error) { return c.Complete(ctx, r) })
		}
		return nil, fmt.Errorf("this driver does not know %s", method)
	}
	return d, nil
}

// with decodes params and goes on.
func with(raw json.RawMessage, params any, next func() (any, error)) (any, error) {
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, err
	}
	return next()
}

func dialSDK(_ string, command []string, progress func(any)) (*driven, error) {
	c := sdk.NewClient(&sdk.Implementation{Name: "tests", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress(r.Params) },
	})
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
	s, err := c.Connect(context.Background(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	hello := s.InitializeResult()
	d := &driven{info: map[string]any{"protocolVersion": hello.ProtocolVersion, "instructions": hello.Instructions, "capabilities": hello.Capabilities}}
	d.close = func() error {
		if err := s.Close(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	}
	d.do = func(ctx context.Context, method string, raw json.RawMessage, token int) (any, error) {
		switch method {
		case "tools/list":
			return s.ListTools(ctx, nil)
		case "tools/call":
			var p struct {
				Name      string
				Arguments json.RawMessage
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, err
			}
			call := &sdk.CallToolParams{Name: p.Name}
			if p.Arguments != nil {
				call.Arguments = p.Arguments
			}
			if token != 0 {
				call.SetProgressToken(token)
			}
			return s.CallTool(ctx, call)
		case "resources/list":
			return s.ListResources(ctx, nil)
		case "resources/templates/list":
			return s.ListResourceTemplates(ctx, nil)
		case "resources/read":
			p := &sdk.ReadResourceParams{}
			return with(raw, p, func() (any, error) { return s.ReadResource(ctx, p) })
		case "prompts/list":
			return s.ListPrompts(ctx, nil)
		case "prompts/get":
			p := &sdk.GetPromptParams{}
			return with(raw, p, func() (any, error) { return s.GetPrompt(ctx, p) })
		case "completion/complete":
			p := &sdk.CompleteParams{}
			return with(raw, p, func() (any, error) { return s.Complete(ctx, p) })
		}
		return nil, fmt.Errorf("this driver does not know %s", method)
	}
	return d, nil
}
