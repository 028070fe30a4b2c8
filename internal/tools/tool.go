package tools

import (
	"context"
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/ask"
)

// Hints are the four behaviour hints of the MCP specification (server/tools, "Tool annotations").
// All four are always sent: the specification's defaults are the alarming ones.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Tool is one tool as a session sees it. Nothing in it is from MCP's library, so that the adapter
// stays replaceable.
type Tool struct {
	Name string
	// Group and Tier are the tool's row in package toolpolicy.
	Group, Tier string
	// Hidden says why the tool is not shown; "" for one that is. A hidden tool answers TOOL_DISABLED.
	Hidden string
	Title  string
	// Description teaches an agent when and how to use the tool. It is part of the contract and
	// under snapshot.
	Description string
	// Schema is the JSON Schema (draft 2020-12, plain subset) of the arguments.
	Schema json.RawMessage
	Hints  Hints
	// Handle runs one call. The result is one JSON object. The error is a *refusal.Error, which the
	// agent sees as it is, or a fault, which it must not see; or an *ask.Wanted, where the client must come
	// again with a person's answer.
	Handle func(ctx context.Context, call Call) (json.RawMessage, error)
}

// Call is one call of a tool.
type Call struct {
	// Arguments are the bytes as the client sent them; nil when it sent none.
	Arguments json.RawMessage
	// Progress tells the client that the call is alive; nil when it did not ask to be told. It may be
	// called from any goroutine until the handler returns.
	Progress func(message string)
	// Client is who called, as far as it can be asked something; nil = it cannot.
	Client *ask.Client
}
