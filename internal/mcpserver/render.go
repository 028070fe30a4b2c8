package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// firstStructured is the first protocol version with structuredContent. Versions are dates, so
// they compare as text.
const firstStructured = "2025-06-18"

// success renders a tool's result: the same object as text and, where the client knows it, as
// structuredContent. The object was marshalled before the library sees it: a result that it cannot
// marshal is never answered, and the client hangs.
func success(object json.RawMessage, version string) (*mcp.CallToolResult, error) {
	if !utf8.Valid(object) {
		object = bytes.ToValidUTF8(object, []byte("\ufffd"))
	}
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' || !json.Valid(object) {
		return nil, fmt.Errorf("rendering a result of %d bytes: it is not a JSON object", len(object))
	}
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: string(object)}}}
	if version >= firstStructured {
		r.StructuredContent = object
	}
	return r, nil
}

// failure renders a refusal: text only, since some clients check structuredContent of an error
// against the schema of a success and then hide the error.
func failure(e *refusal.Error) *mcp.CallToolResult {
	text, err := json.Marshal(e)
	if err != nil { // three strings always marshal
		text = []byte(`{"code":"INTERNAL_ERROR","message":"The error could not be rendered.","hint":"Tell the person who runs this server."}`)
	}
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: string(text)}},
	}
}

// reference makes a short name by which a fault can be found in the log.
func reference() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// internal is what a client sees of a fault.
func internal(ref string) *refusal.Error {
	return refusal.New(refusal.InternalError,
		fmt.Sprintf("The server failed at this call. The cause is in its log (stderr) under reference %s.", ref),
		"Try once more. After execute_plan call it again with the same plan_token: the answer says whether the plan was executed. If it keeps failing, tell the person who runs this server.")
}

// gone is the answer to a call that its client cancelled; no client shows it.
func gone() *refusal.Error {
	return refusal.New(refusal.InternalError, "The call was cancelled before it ended.", "Call again.")
}
