package ask

import (
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

// verdict is what an answer means.
type verdict int

const (
	malformed verdict = iota // no answer to this question: whatever it is, it is no yes
	yes
	declined
	cancelled // closed without an answer
	unticked  // sent off without the box
	mistyped  // another number
)

func (v verdict) String() string {
	switch v {
	case yes:
		return "the person said yes"
	case declined:
		return "the person declined"
	case cancelled:
		return "the question was closed without an answer"
	case unticked:
		return "the form was sent off without a tick at yes"
	case mistyped:
		return "the number that was typed is not the number of rows that change"
	case malformed:
	}
	return "the client's answer does not fit the question"
}

// judge reads the result of elicitation/create. Nothing checks it before: not the client, not the
// library. Only action "accept" with approve exactly true, and the number where it was asked for, and
// nothing else in the form, is a yes. See TestOnlyAYesIsAYes.
func judge(raw json.RawMessage, said Said) verdict {
	result, err := strictjson.Members(raw)
	if err != nil {
		return malformed
	}
	var action string
	var content json.RawMessage
	for _, m := range result {
		switch m.Name {
		case "action":
			if json.Unmarshal(m.Value, &action) != nil {
				return malformed
			}
		case "content":
			content = m.Value
		}
	}
	switch action {
	case "decline":
		return declined
	case "cancel":
		return cancelled
	case "accept":
		return judgeForm(content, said)
	}
	return malformed
}

func judgeForm(content json.RawMessage, said Said) verdict {
	fields, err := strictjson.Members(content)
	if err != nil {
		return malformed
	}
	ticked, typed := false, ""
	for _, f := range fields {
		switch {
		case f.Name == "approve" && string(f.Value) == "true":
			ticked = true
		case f.Name == "approve" && string(f.Value) == "false":
		case f.Name == "rows" && said.Typed != "":
			if len(f.Value) == 0 || f.Value[0] != '"' || json.Unmarshal(f.Value, &typed) != nil {
				return malformed
			}
		default:
			return malformed
		}
	}
	switch {
	case !ticked:
		return unticked
	case said.Typed != "" && !said.Accepts(typed):
		return mistyped
	}
	return yes
}
