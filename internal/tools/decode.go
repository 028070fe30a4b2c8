package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

// decode reads a call's arguments. usage is the tool's line of arguments, for the hint.
func decode(usage string, arguments json.RawMessage, into any) error {
	// A call without arguments is a call with none, and so is null: what a client writes whose language
	// has no other empty map (a nil map of Go, None). See TestNoArguments.
	if a := bytes.TrimSpace(arguments); len(a) == 0 || bytes.Equal(a, []byte("null")) {
		arguments = json.RawMessage("{}")
	}
	err := strictjson.Decode(arguments, into)
	if err == nil {
		return nil
	}
	var wrong *strictjson.Error
	if !errors.As(err, &wrong) {
		return fmt.Errorf("decoding the arguments: %w", err)
	}
	return invalid(usage, wrong.Error())
}

// invalid is INVALID_ARGUMENTS with what is wrong.
func invalid(usage, what string) *refusal.Error {
	return refusal.New(refusal.InvalidArguments, "The arguments are not accepted: "+what+".", usage)
}

// missing is INVALID_ARGUMENTS for a field that must be there.
func missing(usage, field string) *refusal.Error {
	return invalid(usage, fmt.Sprintf("%q is required", field))
}

// reasonOf returns the reason, or MISSING_REASON when there is none or nothing of it can be seen.
func reasonOf(reason *string) (string, error) {
	if reason == nil || strings.IndexFunc(*reason, visible) < 0 {
		return "", refusal.New(refusal.MissingReason,
			"The call has no reason.",
			`Add "reason": one sentence that says what this is for. A person may have to decide by it, and it is kept in the audit log.`)
	}
	return *reason, nil
}

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// givenReason finds the reason in arguments that could not be decoded, for the audit.
func givenReason(arguments json.RawMessage) string {
	var a struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	return a.Reason
}

// texts decodes the values of an object that maps names to strings.
func texts(usage, field string, o strictjson.Object) (map[string]string, error) {
	out := make(map[string]string, len(o))
	for _, m := range o {
		var s *string
		if json.Unmarshal(m.Value, &s) != nil || s == nil {
			return nil, invalid(usage, fmt.Sprintf("%s: must be a string that holds one SQL expression, such as \"price * 1.05\" or \"DEFAULT\"; plain values belong into set",
				strictjson.Join(field, m.Name)))
		}
		out[m.Name] = *s
	}
	return out, nil
}
