package mcpserver

import (
	"bytes"
	"encoding/json"
)

// maxScannedID is the longest id that is looked for in a message that is too long to read.
const maxScannedID = 256

// idScanner finds the id of a JSON-RPC message that is never held in memory as a whole. It knows
// just enough of JSON for that: strings, escapes and depth. What it gives is used only to address
// an error, so it may be wrong about a message that is not JSON.
type idScanner struct {
	depth   int
	text    bool // inside a string
	escaped bool
	isKey   bool   // at depth 1: the next string is a key
	key     []byte // the key being read or last read at depth 1
	inID    bool
	value   []byte
}

func (s *idScanner) write(p []byte) {
	for i := 0; i < len(p); i++ {
		// Most of a long message is the inside of strings that nobody asks about.
		if s.text && !s.escaped && s.depth != 1 {
			n := bytes.IndexAny(p[i:], `"\\`)
			if n < 0 {
				return
			}
			i += n
		}
		s.step(p[i])
	}
}

func (s *idScanner) step(c byte) {
	if s.text {
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.text = false
		}
		s.keep(c)
		if s.text && s.depth == 1 && s.isKey && len(s.key) <= len("id") {
			s.key = append(s.key, c)
		}
		return
	}
	switch c {
	case '"':
		s.text = true
		if s.depth == 1 && s.isKey {
			s.key = s.key[:0]
		}
	case '{', '[':
		s.depth++
		s.isKey = s.depth == 1
	case '}', ']':
		s.depth--
		s.inID = s.inID && s.depth >= 1
	case ',':
		if s.depth == 1 {
			s.isKey, s.inID = true, false
		}
	case ':':
		if s.depth == 1 && s.isKey {
			s.isKey = false
			s.inID = string(s.key) == "id"
			if s.inID {
				s.value = s.value[:0]
			}
			return
		}
	}
	s.keep(c)
}

// keep collects the value behind "id".
func (s *idScanner) keep(c byte) {
	if s.inID && s.depth == 1 && len(s.value) < maxScannedID {
		s.value = append(s.value, c)
	}
}

// id returns the id, or nil if none was found that is a string or a number.
func (s *idScanner) id() json.RawMessage {
	var v any
	if json.Unmarshal(s.value, &v) != nil {
		return nil
	}
	switch v.(type) {
	case string, float64:
		return json.RawMessage(s.value)
	}
	return nil
}
