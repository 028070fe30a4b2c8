package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/jpka/sw-postgres-mcp/internal/ask"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// workers is how many tool calls run at once. The core lets at most eight execute_plan calls wait
// for a person, so waiting calls never fill the pool.
const workers = 64

// Options make a Server. Logger must not write to the stream that Serve answers on.
type Options struct {
	Name, Title, Version string
	// Instructions are handed to every client for its agent.
	Instructions string
	Tools        []tools.Tool
	// Resources are the tables as resources; nil offers none.
	Resources Resources
	Prompts   []tools.Prompt
	// MaxLine is the longest message that is read, in bytes with its newline; 0 = MaxLine.
	MaxLine int
	Logger  *slog.Logger // nil discards
}

// Server answers MCP clients with a fixed set of tools.
type Server struct {
	mcp   *server.MCPServer
	log   *slog.Logger
	calls calls
	asked questions
	hello atomic.Pointer[hello] // nil before the handshake
	max   int
	// resources bounds how many of them are looked at at once.
	resources chan struct{}
}

// New makes a server. It serves nothing yet.
func New(o Options) *Server {
	s := &Server{log: o.Logger, max: o.MaxLine, resources: make(chan struct{}, resourcesAtOnce)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(func(_ context.Context, id any, r *mcp.CallToolRequest) {
		// The library does not tell a handler which request it serves; Header is ours on stdio.
		r.Header = map[string][]string{callHeader: {callKey(id)}}
	})
	hooks.AddAfterInitialize(s.greeted)
	hooks.AddOnError(func(_ context.Context, id any, _ mcp.MCPMethod, _ any, _ error) {
		s.calls.forget(callKey(id))
	})
	hidden := map[string]bool{}
	for _, t := range o.Tools {
		hidden[t.Name] = t.Hidden != ""
	}
	// Not the library's tool filter: to a call of what it filters it answers an error of the protocol, and
	// the agent should read how the tool is turned on.
	hooks.AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, r *mcp.ListToolsResult) {
		r.Tools = slices.DeleteFunc(r.Tools, func(t mcp.Tool) bool { return hidden[t.Name] })
	})
	options := []server.ServerOption{
		server.WithTitle(o.Title),
		server.WithInstructions(o.Instructions),
		server.WithToolCapabilities(false),
		server.WithHooks(hooks),
	}
	if o.Resources != nil {
		c := completer{s, o.Resources}
		options = append(options, server.WithResourceCapabilities(false, false), server.WithCompletions(),
			server.WithResourceCompletionProvider(c), server.WithPromptCompletionProvider(c))
	}
	if len(o.Prompts) > 0 {
		options = append(options, server.WithPromptCapabilities(false))
	}
	s.mcp = server.NewMCPServer(o.Name, o.Version, options...)
	for _, t := range o.Tools {
		s.mcp.AddTool(describe(t), s.handler(t))
	}
	if o.Resources != nil {
		s.addResources(o.Resources, hooks)
	}
	s.addPrompts(o.Prompts)
	return s
}

// describe is a tool as tools/list shows it. A literal, never mcp.NewTool: that one makes the
// whole list unanswerable when a raw schema is set.
func describe(t tools.Tool) mcp.Tool {
	return mcp.Tool{
		Name:           t.Name,
		Title:          t.Title,
		Description:    t.Description,
		RawInputSchema: t.Schema,
		Meta:           &mcp.Meta{AdditionalFields: map[string]any{metaPrefix + "group": t.Group, metaPrefix + "tier": t.Tier}},
		Annotations: mcp.ToolAnnotation{
			Title:           t.Title,
			ReadOnlyHint:    &t.Hints.ReadOnly,
			DestructiveHint: &t.Hints.Destructive,
			IdempotentHint:  &t.Hints.Idempotent,
			OpenWorldHint:   &t.Hints.OpenWorld,
		},
	}
}

// metaPrefix stands before the keys of a tool's _meta (MCP specification, basic, "_meta").
const metaPrefix = "sw-postgres-mcp/"

// callHeader carries a call's key from the library's hook to its handler.
const callHeader = "Sw-Call"

type streamKey struct{}

// handler wraps a tool so that neither an error nor a panic of it reaches the library, which would
// send the raw text of both to the client. See TestPanicDoesNotLeak.
func (s *Server) handler(t tools.Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		ctx, done, wanted := s.calls.start(ctx, r.Header.Get(callHeader))
		defer done()
		if !wanted {
			return failure(gone()), nil
		}
		defer func() {
			if p := recover(); p != nil {
				ref := reference()
				s.log.Error("a tool panicked", "tool", t.Name, "reference", ref, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				result = failure(internal(ref))
			}
		}()
		call := tools.Call{Arguments: r.Params.RawArguments, Client: s.clientOf(ctx, r)}
		if p := progressOf(ctx, r); p != nil {
			defer p.end()
			call.Progress = p.send
		}
		object, err := t.Handle(ctx, call)
		if err == nil {
			result, err = success(object, server.RequestProtocolVersion(ctx))
		}
		if err != nil {
			result = s.failed(ctx, t.Name, err)
		}
		return result, nil
	}
}

// failed renders an error of a tool.
func (s *Server) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	if w, ok := errors.AsType[*ask.Wanted](err); ok {
		return wanted(w.Question)
	}
	if e, ok := refusal.As(err); ok {
		return failure(e)
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		s.log.Debug("a call was cancelled", "tool", tool)
		return failure(gone())
	}
	ref := reference()
	s.log.Error("a tool failed", "tool", tool, "reference", ref, "error", err)
	return failure(internal(ref))
}

// progressOf returns the way to the client's progress display, nil if it asked for none.
func progressOf(ctx context.Context, r mcp.CallToolRequest) *progress {
	out, ok := ctx.Value(streamKey{}).(*lineWriter)
	if !ok || r.Params.Meta == nil {
		return nil
	}
	switch token := r.Params.Meta.ProgressToken.(type) {
	case string, float64: // MCP, "Progress": a token is a string or an integer
		return &progress{out: out, token: token}
	}
	return nil
}

// Serve answers one client until it leaves (nil), ctx ends (nil) or the streams fail for another
// reason. It returns when the last call has ended; calls are cancelled as soon as it stops reading.
// A call that ignores its context holds it up: the caller needs a watchdog.
//
// The library keeps the session of stdio in one package variable, so a process serves one client.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Only a failed write tells that the client stopped reading; the library logs it and goes on.
	w := &lineWriter{out: out, onError: func(error) { cancel() }, rewrite: withCode}
	stdio := server.NewStdioServer(s.mcp)
	server.WithErrorLogger(log.New(logLines{s.log}, "", 0))(stdio)
	server.WithWorkerPoolSize(workers)(stdio)
	server.WithQueueSize(queueSize)(stdio)
	server.WithStdioContextFunc(func(ctx context.Context) context.Context {
		return context.WithValue(ctx, streamKey{}, w)
	})(stdio)

	guard := newLineGuard(in, w, &s.calls, s.max)
	guard.asked = &s.asked
	err := stdio.Listen(ctx, guard, w)
	if broken := w.failure(); broken != nil {
		if clientLeft(broken) {
			return nil
		}
		return fmt.Errorf("writing to the client: %w", broken)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("reading from the client: %w", err)
	}
	return nil
}

// logLines gives the library's log lines to slog.
type logLines struct{ log *slog.Logger }

func (l logLines) Write(p []byte) (int, error) {
	l.log.Warn("mcp: " + strings.TrimSpace(string(p)))
	return len(p), nil
}

// Handle answers one message outside any stream. It is for tests and tools that need an answer
// without a client.
func (s *Server) Handle(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	response := s.mcp.HandleMessage(ctx, message)
	if response == nil {
		return nil, nil
	}
	out, err := json.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("marshalling the answer: %w", err)
	}
	return withCode(out), nil
}
