package mcpserver

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// lineWriter lets one whole message through at a time. The library locks its own responses, but
// not what is written beside them (progress here, later elicitation), and a stream in which two
// lines mix is the end of the session.
type lineWriter struct {
	mu      sync.Mutex
	out     io.Writer
	err     error
	onError func(error)
	onLine  func([]byte)        // gets each line of the library before it goes out
	rewrite func([]byte) []byte // what goes out in place of a line of the library
}

// Write implements io.Writer for whole lines of the library.
func (w *lineWriter) Write(p []byte) (int, error) {
	line := p
	if w.rewrite != nil {
		line = w.rewrite(p)
	}
	if n, err := w.write(line, w.onLine); err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

func (w *lineWriter) write(p []byte, before func([]byte)) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	if before != nil {
		before(p)
	}
	n, err := w.out.Write(p)
	if err != nil {
		// A broken stream stays broken: half a line may be out already.
		w.err = err
		if w.onError != nil {
			w.onError(err)
		}
	}
	return n, err
}

// failure returns the error that broke the stream, nil while it is whole.
func (w *lineWriter) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// send writes v as one line. The error is already with onError. It answers no call that the library has:
// the id may be that of an open call all the same, whose answer this must not be taken for.
func (w *lineWriter) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		return
	}
	_, _ = w.write(append(line, '\n'), nil)
}

// rpcError answers id with a protocol error (JSON-RPC 2.0, section 5.1).
func (w *lineWriter) rpcError(id json.RawMessage, code int, message string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	type body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	w.send(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   body            `json:"error"`
	}{"2.0", id, body{code, message}})
}

// refuse answers a tool call in place of the tool.
func (w *lineWriter) refuse(id json.RawMessage, e *refusal.Error) {
	w.send(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, failure(e)})
}

// progress sends notifications/progress for one call, until that call ends. It writes by itself
// instead of through the library's channel: there, notes arrive behind the response in most runs
// and are dropped in bursts, and clients report both as errors.
type progress struct {
	mu    sync.Mutex
	out   *lineWriter
	token any
	count int
	ended bool
}

func (p *progress) send(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.count++ // MCP, "Progress": the value MUST increase with each notification
	p.out.send(map[string]any{
		"jsonrpc": "2.0",
		"method":  "notifications/progress",
		"params":  map[string]any{"progressToken": p.token, "progress": p.count, "message": message},
	})
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}
