package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// longArray is how many elements of an array the tour shows; the rest is counted in words, so that a
// person can read the transcript.
const longArray = 4

// shorten keeps the first elements of long arrays, and everything else, in the order it came in.
func shorten(raw json.RawMessage) json.RawMessage {
	out, err := shortenValue(raw)
	if err != nil {
		return raw
	}
	return out
}

func shortenValue(v json.RawMessage) (json.RawMessage, error) {
	switch v = bytes.TrimSpace(v); v[0] {
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(v, &items); err != nil {
			return nil, fmt.Errorf("reading an array: %w", err)
		}
		more := len(items) - longArray
		if more > 1 {
			items = append(items[:longArray:longArray], json.RawMessage(fmt.Sprintf(`"… and %d more"`, more)))
		}
		for i, it := range items {
			s, err := shortenValue(it)
			if err != nil {
				return nil, err
			}
			items[i] = s
		}
		b, err := marshalPlain(items)
		return b, err
	case '{':
		return shortenObject(v)
	}
	return v, nil
}

// shortenObject walks an object member by member, since a Go map would lose the order.
func shortenObject(v json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	out := []byte{'{'}
	for i := 0; dec.More(); i++ {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		var val json.RawMessage
		if err := dec.Decode(&val); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		s, err := shortenValue(val)
		if err != nil {
			return nil, err
		}
		k, err := marshalPlain(key)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, k...), ':'), s...)
	}
	return append(out, '}'), nil
}

// marshalPlain leaves <, > and & as they are.
func marshalPlain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("rendering JSON: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
