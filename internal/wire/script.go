package wire

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
)

// Script is one segment whose steps have names, since a server error is told apart by its position.
// The zero Script is empty and ready to use.
type Script struct {
	steps Segment
	names []string
}

// Add appends a step. Names are the caller's; where one is used twice the first counts.
func (s *Script) Add(name string, st Step) {
	s.steps = append(s.steps, st)
	s.names = append(s.names, name)
}

// Steps is the segment that goes out.
func (s *Script) Steps() Segment { return s.steps }

// Index is the position of a step, -1 without it.
func (s *Script) Index(name string) int {
	for i, n := range s.names {
		if n == name {
			return i
		}
	}
	return -1
}

// Failed names the step that the reply's error belongs to, "" without an error.
func (s *Script) Failed(r Reply) string {
	if r.Err == nil || len(r.Results) >= len(s.names) {
		return ""
	}
	return s.names[len(r.Results)]
}

// Result finds what a step gave back; ok is false where it did not complete.
func (s *Script) Result(r Reply, name string) (result Result, ok bool) {
	if i := s.Index(name); i >= 0 && i < len(r.Results) {
		return r.Results[i], true
	}
	return Result{}, false
}

// raised is the SQLSTATE of the errors that steps raise on purpose: a text beginning with a mark is
// cast to a number (invalid_text_representation, manual, appendix A). There is no RAISE in plain SQL.
const raised = "22P02"

// NewMark is a random text to begin such an error with, so that a bad cast in an agent's own text is
// never taken for one of ours. It is safe inside an SQL literal.
func NewMark() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "sw_" + hex.EncodeToString(b[:]) + "_"
}

// Marked tells whether the error was raised on purpose by a step that was given mark, and what stands
// behind the mark.
func Marked(e *ServerError, mark string) (rest string, ok bool) {
	if e == nil || e.SQLState != raised || mark == "" {
		return "", false
	}
	_, rest, ok = strings.Cut(e.Message, mark)
	return strings.TrimSuffix(rest, `"`), ok
}

// OIDArray renders OIDs as an array literal.
func OIDArray(oids []uint32) []byte {
	b := []byte{'{'}
	for i, oid := range oids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(oid), 10)
	}
	return append(b, '}')
}

var arrayEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// TextArray renders strings as an array literal (manual, 8.15.2).
func TextArray(list []string) []byte {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = arrayEscape.WriteString(&b, v)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return []byte(b.String())
}
