package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// era is one way in which clients are asked (MCP, client/elicitation): by requests of the server while
// the call waits, or, since 2026-07-28, by a result that makes the client call again.
type era string

const (
	era2025a era = "2025-06-18"
	era2025b era = "2025-11-25"
	era2026  era = "2026-07-28"
)

var eras = []era{era2025a, era2025b, era2026}

func (e era) modern() bool { return e == era2026 }

// Capabilities that a client declares.
var (
	plainForms = map[string]any{"elicitation": map[string]any{}}
	urlOnly    = map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}
	nothing    = map[string]any{}
)

// question is what a client got to show.
type question struct {
	id      string // the request's id as it stands in its line, or the key among the input requests
	Mode    string `json:"mode"`
	Message string `json:"message"`
	URL     string `json:"url"`
	Schema  struct {
		Type       string `json:"type"`
		Properties map[string]struct {
			Type    string `json:"type"`
			Title   string `json:"title"`
			Default *bool  `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	} `json:"requestedSchema"`
}

// asking is a client with a person at it.
type asking struct {
	*server
	era  era
	caps map[string]any
	name string
}

// askingOn starts a server that asks through the client, and says hello as a client of that era.
func askingOn(t testing.TB, db *pgtemp.DB, o options, e era, caps map[string]any) *asking {
	t.Helper()
	o.silent = true
	s := &asking{server: start(t, db, o), era: e, caps: caps, name: "tests"}
	if !e.modern() {
		s.initialize(string(e), caps)
	}
	return s
}

// begins sends a tool call as a client of the era does; answers are those of an earlier question.
func (s *asking) begins(tool string, a any, answers map[string]any) *pending {
	s.t.Helper()
	params := map[string]any{"name": tool, "arguments": a}
	if s.era.modern() {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    string(s.era),
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": s.name, "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": s.caps,
		}
		if answers != nil {
			params["inputResponses"] = answers
		}
	}
	p := s.request("tools/call", params)
	p.what = tool
	return p
}

// plans previews and requires a plan that waits.
func (s *asking) plans(tool string, a any) preview {
	s.t.Helper()
	var p preview
	s.begins(tool, a, nil).reply().ok(s.t, &p)
	require.Equal(s.t, "awaiting_approval", p.Status)
	return p
}

// asked lists what a client of 2025 was asked so far.
func (s *asking) asked() []question {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []question
	for _, m := range s.requests {
		require.Equal(s.t, "elicitation/create", m.Method)
		q := question{id: string(m.ID)}
		require.NoError(s.t, json.Unmarshal(m.Params, &q))
		out = append(out, q)
	}
	return out
}

// withdrawn says whether the server told that a question is over.
func (s *asking) withdrawn(id string) bool {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.notes, func(m message) bool {
		return m.Method == "notifications/cancelled" && strings.Contains(string(m.Params), `"requestId":`+id)
	})
}

// inputRequired reads the question out of a result that asks for an answer.
func inputRequired(t testing.TB, m message) *question {
	t.Helper()
	require.Nil(t, m.Error)
	var r struct {
		ResultType string `json:"resultType"`
		Requests   map[string]struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		} `json:"inputRequests"`
		State string `json:"requestState"`
	}
	require.NoError(t, json.Unmarshal(m.Result, &r))
	if r.ResultType != "input_required" {
		return nil
	}
	require.Len(t, r.Requests, 1)
	require.Empty(t, r.State)
	for id, req := range r.Requests {
		require.Equal(t, "elicitation/create", req.Method)
		q := question{id: id}
		require.NoError(t, json.Unmarshal(req.Params, &q))
		return &q
	}
	return nil
}

// opened is an execute_plan whose question the person sees.
type opened struct {
	s    *asking
	p    preview
	call *pending // of 2025: the call that waits
	q    question
}

// opens calls execute_plan and requires that the person is asked.
func (s *asking) opens(p preview) *opened {
	s.t.Helper()
	before := len(s.asked())
	call := s.begins("execute_plan", p.echo(), nil)
	if s.era.modern() {
		q := inputRequired(s.t, call.wait())
		require.NotNil(s.t, q, "nobody is asked")
		return &opened{s: s, p: p, q: *q}
	}
	eventually(s.t, "the client is asked", func() bool { return len(s.asked()) > before || call.answered() })
	list := s.asked()
	require.Len(s.t, list, before+1, "the call ended without a question")
	return &opened{s: s, p: p, call: call, q: list[before]}
}

// answers gives the person's answer: any JSON value in place of the result, or rpcFailure.
func (o *opened) answers(result any) {
	o.s.t.Helper()
	if o.s.era.modern() {
		if result == rpcFailure { // a client that fails has no answer to bring
			result = map[string]any{}
		}
		o.call = o.s.begins("execute_plan", o.p.echo(), map[string]any{o.q.id: result})
		return
	}
	o.s.responds(o.q.id, result)
}

// responds sends a response to a request of the server's.
func (s *asking) responds(id string, result any) {
	s.t.Helper()
	if result == rpcFailure {
		s.sendLine(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"no"}}`)
		return
	}
	raw, err := json.Marshal(result)
	require.NoError(s.t, err)
	s.sendLine(`{"jsonrpc":"2.0","id":` + id + `,"result":` + string(raw) + `}`)
}

// rpcFailure stands for an answer that is a JSON-RPC error.
const rpcFailure = "\x00failure"

// ends is the answer to the call.
func (o *opened) ends() reply {
	o.s.t.Helper()
	return o.call.reply()
}

// unasked calls execute_plan and requires that nobody is asked.
func (s *asking) unasked(p preview, answers map[string]any) reply {
	s.t.Helper()
	before := len(s.asked())
	call := s.begins("execute_plan", p.echo(), answers)
	m := call.wait()
	require.Nil(s.t, inputRequired(s.t, m), "the client is asked")
	require.Len(s.t, s.asked(), before, "the client is asked")
	r, complaint := readReply(m)
	require.Empty(s.t, complaint, "%s", m.Result)
	return r
}

// accept is a person's yes.
func accept(content any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

var ticked = accept(map[string]any{"approve": true})

// channelOf is the usual configuration: everything waits, and is asked on the channel.
func channelOf(channel string, wait time.Duration, more map[string]any) options {
	o := options{config: map[string]any{
		"approval": map[string]any{"channel": channel},
		"write":    map[string]any{"approvalRequiredAboveRows": 0, "executeWaitMs": wait.Milliseconds()},
	}}
	for section, values := range more {
		if into, ok := o.config[section].(map[string]any); ok {
			maps.Copy(into, values.(map[string]any))
			continue
		}
		o.config[section] = values
	}
	return o
}

// forChannels runs a test on each channel that asks, with clients of both kinds.
func forChannels(t *testing.T, test func(t *testing.T, channel string, e era)) {
	t.Helper()
	for channel, all := range map[string][]era{"elicitation": {era2025a, era2026}, "both": {era2025b, era2026}} {
		for _, e := range all {
			t.Run(fmt.Sprintf("%s %s", channel, e), func(t *testing.T) {
				t.Parallel()
				test(t, channel, e)
			})
		}
	}
}

// forOpen is forChannels while a person is being asked about a plan that deletes a row.
func forOpen(t *testing.T, test func(t *testing.T, s *asking, p preview, o *opened)) {
	t.Helper()
	forChannels(t, func(t *testing.T, channel string, e era) {
		s := askingOn(t, world(t), channelOf(channel, time.Minute, nil), e, plainForms)
		p := s.plans("delete_rows", deletes(1))
		test(t, s, p, s.opens(p))
	})
}
