package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/mcpserver"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
)

// shelf holds resources by what their URI ends in.
type shelf struct{ broken error }

func (s shelf) List(_ context.Context, after string) ([]tools.Resource, string, error) {
	if after == "" {
		return []tools.Resource{{URI: "postgres://schema/app/a", Name: "app.a", Description: "a table"}}, "postgres://schema/app/a", s.broken
	}
	return []tools.Resource{{URI: "postgres://schema/app/b", Name: "app.b"}}, "", s.broken
}

func (s shelf) Read(_ context.Context, uri string) (json.RawMessage, error) {
	switch {
	case strings.HasSuffix(uri, "/panic"):
		panic("boom secret")
	case strings.HasSuffix(uri, "/fault"):
		return nil, errors.New("boom secret")
	case strings.HasSuffix(uri, "/down"):
		return nil, refusal.New(refusal.DatabaseUnavailable, "It is down.", "Wait.")
	case strings.HasSuffix(uri, "/hidden"):
		return nil, refusal.New(refusal.TableNotAllowlisted, "It is not on the list.", "Ask.")
	case strings.HasSuffix(uri, "/a"):
		return json.RawMessage(`{"tables":[]}`), nil
	}
	return nil, fmt.Errorf("wrapped: %w", refusal.New(refusal.InvalidTableName, "There is none.", "Did you mean app.a?"))
}

func (s shelf) Complete(_ context.Context, variable, typed string, given map[string]string) ([]string, bool, error) {
	return []string{variable, typed, given["schema"]}, true, s.broken
}

func withResources(log *buffer, r mcpserver.Resources) *mcpserver.Server {
	return mcpserver.New(mcpserver.Options{
		Name: "n", Version: "1", Tools: []tools.Tool{echo()}, Resources: r, Prompts: tools.PromptsOf(tools.Deps{}),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
}

func ask(t *testing.T, s *mcpserver.Server, method, params string) string {
	t.Helper()
	out, err := s.Handle(t.Context(), json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	require.NoError(t, err)
	return string(out)
}

func TestResources(t *testing.T) {
	t.Parallel()
	log := &buffer{}
	s := withResources(log, shelf{})
	require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"postgres://schema/app/a","name":"app.a","description":"a table","mimeType":"application/json"}],"nextCursor":%q}}`,
		base64.StdEncoding.EncodeToString([]byte("postgres://schema/app/a"))), ask(t, s, "resources/list", `{}`))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"postgres://schema/app/b","name":"app.b","mimeType":"application/json"}]}}`,
		ask(t, s, "resources/list", fmt.Sprintf(`{"cursor":%q}`, base64.StdEncoding.EncodeToString([]byte("postgres://schema/app/a")))))
	require.Contains(t, ask(t, s, "resources/list", `{"cursor":"?"}`), "-32602")
	require.Contains(t, ask(t, s, "resources/templates/list", `{}`), `"uriTemplate":"postgres://schema/{schema}/{table}"`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"postgres://schema/app/a","mimeType":"application/json","text":"{\"tables\":[]}"}]}}`,
		ask(t, s, "resources/read", `{"uri":"postgres://schema/app/a"}`))
	// What a client puts beside the URI is not taken for it.
	require.Contains(t, ask(t, s, "resources/read", `{"uri":"postgres://schema/app/none","arguments":{"uri":"postgres://schema/app/a"}}`), "-32002")
	// Not even the one that the library knows leads to anything by itself.
	require.Contains(t, ask(t, s, "resources/read", `{"uri":"postgres://schema"}`), "-32002")

	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["table","or","app"],"hasMore":true}}}`,
		ask(t, s, "completion/complete", `{"ref":{"type":"ref/resource","uri":"postgres://schema/{schema}/{table}"},"argument":{"name":"table","value":"or"},"context":{"arguments":{"schema":"app"}}}`))
	require.Contains(t, ask(t, s, "completion/complete", `{"ref":{"type":"ref/prompt","name":"safe_bulk_change"},"argument":{"name":"table","value":"or"}}`), `["table","or",""]`)
	for _, params := range []string{
		`{"ref":{"type":"ref/prompt","name":"safe_bulk_change"},"argument":{"name":"change","value":"or"}}`,
		`{"ref":{"type":"ref/resource","uri":"file:///{x}"},"argument":{"name":"x","value":""}}`,
	} {
		require.Contains(t, ask(t, s, "completion/complete", params), `"values":[]`)
	}

	down := withResources(log, shelf{broken: errors.New("it is down")})
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"resources":[]}}`, ask(t, down, "resources/list", `{}`))
	require.Contains(t, log.String(), "it is down")
	require.Contains(t, ask(t, down, "completion/complete", `{"ref":{"type":"ref/prompt","name":"safe_bulk_change"},"argument":{"name":"table","value":"or"}}`), `"values":[]`)
}

// S20: each error has the code of the protocol and a message with the hint; a fault leaves a reference.
func TestResourceErrors(t *testing.T) {
	t.Parallel()
	log := &buffer{}
	s := withResources(log, shelf{})
	read := func(uri, meta string) (code int, message string, data *refusal.Error) {
		t.Helper()
		var m struct {
			Result any
			Error  struct {
				Code    int
				Message string
				Data    *refusal.Error
			}
		}
		out := ask(t, s, "resources/read", fmt.Sprintf(`{"uri":%q%s}`, uri, meta))
		require.NoError(t, json.Unmarshal([]byte(out), &m), out)
		require.Nil(t, m.Result)
		return m.Error.Code, m.Error.Message, m.Error.Data
	}
	code, message, data := read("postgres://schema/app/none", "")
	require.Equal(t, -32002, code)
	require.Equal(t, "There is none. Did you mean app.a?", message)
	require.Equal(t, refusal.InvalidTableName, data.Code)
	code, _, data = read("postgres://schema/app/hidden", "")
	require.Equal(t, -32002, code)
	require.Equal(t, refusal.TableNotAllowlisted, data.Code)
	modern := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	code, _, _ = read("postgres://schema/app/none", modern)
	require.Equal(t, -32602, code, "2026-07-28 has no code of its own for it")
	code, message, data = read("postgres://schema/app/down", "")
	require.Equal(t, -32603, code)
	require.Equal(t, "It is down. Wait.", message)
	require.Equal(t, refusal.DatabaseUnavailable, data.Code)
	for _, uri := range []string{"postgres://schema/app/fault", "postgres://schema/app/panic"} {
		code, message, data = read(uri, "")
		require.Equal(t, -32603, code)
		require.NotContains(t, message, "secret")
		require.Equal(t, refusal.InternalError, data.Code)
	}
	require.Equal(t, 2, strings.Count(log.String(), "a request failed"))
	require.Contains(t, log.String(), "boom secret")
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := withResources(&buffer{}, shelf{})
	list := ask(t, s, "prompts/list", `{}`)
	require.Contains(t, list, `"name":"safe_bulk_change"`)
	require.Contains(t, list, `"required":true`)
	require.Contains(t, ask(t, s, "prompts/get", `{"name":"review_migration","arguments":{"statement":"DROP TABLE app.t"}}`), "DROP TABLE app.t")
	out := ask(t, s, "prompts/get", `{"name":"review_migration"}`)
	require.Contains(t, out, "-32602")
	require.Contains(t, out, `"code":"INVALID_ARGUMENTS"`)
	require.Contains(t, ask(t, s, "prompts/get", `{"name":"other"}`), "-32602")
}

// A server without them says so, and the library's answers to them are none of ours.
func TestNoResourcesNoPrompts(t *testing.T) {
	t.Parallel()
	s := mcpserver.New(mcpserver.Options{Name: "n", Version: "1", Tools: []tools.Tool{echo()}})
	out := ask(t, s, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	for _, capability := range []string{"resources", "prompts", "completions"} {
		require.NotContains(t, out, `"`+capability+`"`)
	}
	for _, method := range []string{"resources/list", "resources/templates/list", "resources/read", "prompts/list", "prompts/get", "completion/complete"} {
		require.Contains(t, ask(t, s, method, `{"uri":"postgres://schema/app/a","name":"x"}`), `"error"`, method)
	}
}

// waiting holds every read until it is let go.
type waiting struct {
	shelf
	started, release chan struct{}
}

func (w waiting) Read(context.Context, string) (json.RawMessage, error) {
	w.started <- struct{}{}
	<-w.release
	return json.RawMessage(`{}`), nil
}

// A flood of reads is refused at once, and tools still answer.
func TestS21TooManyResources(t *testing.T) {
	t.Parallel()
	w := waiting{started: make(chan struct{}, 64), release: make(chan struct{})}
	s := withResources(&buffer{}, w)
	read := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"postgres://schema/app/a"}}`)
	done := make(chan error, 32)
	for range 32 {
		go func() { _, err := s.Handle(t.Context(), read); done <- err }()
		<-w.started
	}
	more := make(chan string, 1)
	go func() { out, _ := s.Handle(t.Context(), read); more <- string(out) }()
	select {
	case out := <-more:
		require.Contains(t, out, "TOO_BUSY")
	case <-w.started:
		close(w.release)
		t.Fatal("one more is read")
	}
	require.Contains(t, ask(t, s, "tools/call", `{"name":"echo","arguments":{}}`), `"content"`)
	close(w.release)
	for range 32 {
		require.NoError(t, <-done)
	}
}
