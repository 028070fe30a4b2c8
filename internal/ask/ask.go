// Package ask lets a person decide about a waiting plan through the client that the agent works in,
// beside the approval page (MCP specification, client/elicitation).
//
// It guarantees: a client is asked only for what it declared; only plans that need no page are asked
// about; a question holds no row of the database, is bounded in length, and shows every character that
// would not be seen; only an answer that is exactly a yes counts, once, in its time, to a question that
// was asked; one question about a plan is open at a time, and so many are asked and no more. A yes takes
// the page's own way: the rows are looked at again, then the plan is approved, and recorded.
//
// It must never approve by itself, reject, or take anything but a yes for one. It cannot know whether a
// person saw the question: a client can answer it alone. That is why the default is the page.
package ask

import (
	"context"
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Way is how a client can be asked.
type Way int

// The ways. A client that offers forms is asked by form, whatever else it offers.
const (
	Nothing Way = iota // not at all
	Form               // it shows a form and gives the answer back
	URL                // it only opens an address
)

// Client is the other end of one call. The zero value cannot be asked.
type Client struct {
	Name string // what it calls itself; not checked by anybody
	Way  Way    // what it declared
	// Ask sends a question and returns the client's result as it came, or an error where it answered with
	// one. When ctx ends first the question is withdrawn. nil where a server may not ask by itself (MCP
	// 2026-07-28): there the call ends with [Wanted] and its answer comes with the next one, in Answers.
	Ask     func(ctx context.Context, q Question) (json.RawMessage, error)
	Answers map[string]json.RawMessage
}

// Question is what the client gets to show.
type Question struct {
	ID      string // 128 random bits; an answer names it
	Way     Way
	Message string
	Schema  json.RawMessage // of a form
	URL     string          // without any secret
}

// Wanted ends a call that has to come again with the answer. To whoever does not know it, it is an
// AWAITING_APPROVAL.
type Wanted struct{ Question Question }

// Error implements error.
func (w *Wanted) Error() string { return "asking the person through the client: " + w.Question.ID }

// Unwrap makes it the refusal that it is without the question.
func (*Wanted) Unwrap() error {
	return refusal.New(refusal.AwaitingApproval, "A person has to decide about this plan, and is asked through the client.",
		"Call execute_plan again with the same arguments.")
}
