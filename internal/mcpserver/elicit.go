package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/jpka/sw-postgres-mcp/internal/ask"
)

// The first protocol versions with elicitation, and with its URL mode.
const (
	firstElicitation    = "2025-06-18"
	firstURLElicitation = "2025-11-25"
)

// errAskedInVain is a client that answered a question with an error.
var errAskedInVain = errors.New("the client answered the question with an error")

// clientOf says how the client of a call can be asked. The library asks whom it is told to, declared or
// not, so what was declared is looked at here, and again by nobody. On 2026-07-28 it is what this very
// request declares, never what an earlier one did. See TestElicitationCapability.
func (s *Server) clientOf(ctx context.Context, r mcp.CallToolRequest) *ask.Client {
	if server.IsModernRequest(ctx) {
		info := server.RequestProtocolInfoFromContext(ctx)
		c := &ask.Client{Answers: map[string]json.RawMessage{}}
		if info.ClientInfo != nil {
			c.Name = info.ClientInfo.Name
		}
		if info.ClientCapabilities != nil {
			c.Way = wayOf(info.ClientCapabilities.Elicitation, info.ProtocolVersion)
		}
		for id, a := range r.Params.InputResponses {
			if raw, err := json.Marshal(a); err == nil { // gives back the bytes as they came
				c.Answers[id] = raw
			}
		}
		return c
	}
	hello := s.hello.Load()
	out, streams := ctx.Value(streamKey{}).(*lineWriter)
	if hello == nil || !streams {
		return nil
	}
	return &ask.Client{
		Name: hello.name,
		Way:  hello.way,
		Ask: func(ctx context.Context, q ask.Question) (json.RawMessage, error) {
			return s.asked.put(ctx, out, paramsOf(q))
		},
	}
}

// hello is what a client said of itself in the handshake. It is kept here, since the library overwrites
// what it keeps with what any request of 2026-07-28 says, and takes the version that a request names for
// the one that was agreed on.
type hello struct {
	name string
	way  ask.Way
}

// greeted keeps what the handshake said.
func (s *Server) greeted(_ context.Context, _ any, r *mcp.InitializeRequest, agreed *mcp.InitializeResult) {
	s.hello.Store(&hello{name: r.Params.ClientInfo.Name, way: wayOf(r.Params.Capabilities.Elicitation, agreed.ProtocolVersion)})
}

// wayOf reads the capability (MCP, client/elicitation, "Capabilities"): an empty one means forms.
func wayOf(c *mcp.ElicitationCapability, version string) ask.Way {
	switch {
	case c == nil || version < firstElicitation:
		return ask.Nothing
	case c.Form != nil || c.URL == nil:
		return ask.Form
	case version >= firstURLElicitation:
		return ask.URL
	}
	return ask.Nothing
}

func paramsOf(q ask.Question) mcp.ElicitationParams {
	p := mcp.ElicitationParams{Message: q.Message}
	if q.Way == ask.URL {
		p.Mode, p.ElicitationID, p.URL = mcp.ElicitationModeURL, q.ID, q.URL
		return p
	}
	p.RequestedSchema = q.Schema // without a mode it is a form, which the versions before modes know too
	return p
}

// wanted is the result that asks for the answer (MCP 2026-07-28, multi round-trip requests). There is no
// requestState: the library neither signs nor checks it, and what was asked is known here.
func wanted(q ask.Question) *mcp.CallToolResult {
	return server.NewInputRequestBuilder("").Elicit(q.ID, paramsOf(q)).ToolResult()
}

// questions are the requests that this server sent and that wait for their answers. The library's own
// (RequestElicitation) hands out ids that collide with the client's, loses duplicate keys and digits of
// an answer, and cannot withdraw a question; so they are sent and matched here, and the library never
// sees their answers. See TestElicitationOnTheWire.
type questions struct {
	mu   sync.Mutex
	last int
	open map[string]chan envelope
}

// questionID begins every id of this server's requests. As text it is never an id that the library
// would look for.
const questionID = "sw-question-"

// put sends one question and waits for its answer. When ctx ends first the client is told that nobody
// waits any more (MCP, "Cancellation"), and what it still answers is dropped.
func (q *questions) put(ctx context.Context, out *lineWriter, params mcp.ElicitationParams) (json.RawMessage, error) {
	id, answer := q.next()
	defer q.drop(id)
	out.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": string(mcp.MethodElicitationCreate), "params": params})
	select {
	case e := <-answer:
		if len(e.Error) > 0 || len(e.Result) == 0 {
			return nil, errAskedInVain
		}
		return e.Result, nil
	case <-ctx.Done():
		out.send(map[string]any{
			"jsonrpc": "2.0", "method": "notifications/cancelled",
			"params": map[string]any{"requestId": id, "reason": "nobody waits for the answer any more"},
		})
		return nil, ctx.Err()
	}
}

func (q *questions) next() (id string, answer chan envelope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[string]chan envelope{}
	}
	q.last++
	id, answer = fmt.Sprint(questionID, q.last), make(chan envelope, 1)
	q.open[id] = answer
	return id, answer
}

func (q *questions) drop(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, id)
}

// answer takes a response to a question of this server, and says whether it was one: then nobody else
// may see it. The first response counts; a later one finds no question.
func (q *questions) answer(e envelope) bool {
	var id string
	if q == nil || json.Unmarshal(e.ID, &id) != nil || !strings.HasPrefix(id, questionID) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting := q.open[id]; waiting != nil {
		delete(q.open, id)
		waiting <- e // there is room for one, and only one comes
	}
	return true
}
