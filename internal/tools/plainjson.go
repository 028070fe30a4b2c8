package tools

import (
	"bytes"
	"encoding/json"
)

// plainJSON marshals v and leaves <, > and & as they are: an agent gives the statement back as it
// reads it, and not every one undoes \u003c.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
