package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// The library answers every error of a resource and of a prompt with -32603. So an error carries what
// should be answered through it as text, behind a mark that nobody outside can know, and the line is
// put right on its way out. See TestResourceErrors.

var errorMark = "sw-" + rand.Text() + ":"

// codedError is an error of the protocol with its code.
type codedError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    *refusal.Error `json:"data,omitempty"`
}

// Error implements error.
func (e *codedError) Error() string {
	text, err := json.Marshal(e)
	if err != nil { // numbers and strings always marshal
		return "internal error"
	}
	return errorMark + string(text)
}

// coded is what a client gets of err. A fault goes to the log.
func (s *Server) coded(method string, code int, err error) error {
	e, ok := refusal.As(err)
	if !ok {
		ref := reference()
		s.log.Error("a request failed", "method", method, "reference", ref, "error", err)
		e = internal(ref)
	}
	return &codedError{Code: code, Message: e.Message + " " + e.Hint, Data: e}
}

// recovered turns a panic into a fault; its text reaches the log only.
func (s *Server) recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// withCode puts the error of one line right that the library wrote for a codedError; every other line
// is returned as it is.
func withCode(line []byte) []byte {
	if !bytes.Contains(line, []byte(errorMark)) {
		return line
	}
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *codedError     `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil || m.Error == nil {
		return line
	}
	text, marked := strings.CutPrefix(m.Error.Message, errorMark)
	var meant codedError
	if !marked || json.Unmarshal([]byte(text), &meant) != nil {
		return line
	}
	m.Error = &meant
	out, err := json.Marshal(m)
	if err != nil {
		return line
	}
	if bytes.HasSuffix(line, []byte("\n")) {
		out = append(out, '\n')
	}
	return out
}
