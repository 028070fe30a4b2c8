// Package strictjson turns JSON into Go structs without ever guessing, and gives JSON values one
// canonical form.
//
// It guarantees that [Decode] accepts only what the target asks for: unknown keys, duplicate keys
// at any depth, wrong types, null where a value is needed, numbers that do not fit, broken UTF-8
// and trailing data are all an [Error] that names the place and, for a misspelt key, the likely
// word. It guarantees that [Canonical] gives equal bytes exactly for equal values, with numbers
// compared by their exact decimal value (RFC 8785 goes through float64 and would merge integers
// above 2^53, so that ids 9007199254740993 and 9007199254740992 would pass for one another).
//
// It must never coerce ("true" is not true, "5" is not 5, 5.0 is not an int), never lose a digit,
// and never fall back to encoding/json, which ignores case, merges duplicates and skips unknown
// keys.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest. It bounds every recursion over agent data.
const MaxDepth = 128

// Error says what is wrong with a JSON text, in words for the one who wrote it.
type Error struct {
	// Path is the place, such as "params[2]" or "write"; "" is the whole text.
	Path string
	// Message is a sentence without the path.
	Message string
	// Field is the key that is unknown, missing or given twice; "" otherwise.
	Field string
}

// Error renders "path: message".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Object is a JSON object with its members in the order of the text. Names are unique.
type Object []Member

// Member is one name and its value, byte for byte as written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Decode reads one JSON object from data into the struct that into points to.
//
// Fields are named by their `json` tag, exactly. Field types: string, bool, integers,
// json.RawMessage (bytes kept as written, null included), [Object], structs, slices of these, and
// pointers to these (null leaves nil). Tag `required:"true"`: absence is an error. Tag
// `lenient:"json"` on a slice or Object: a JSON string whose content is a JSON array or object is
// taken in its place, since some clients send them so; it is decoded as strictly, and the strings
// inside stay strings.
//
// What the text got wrong is an *[Error]; any other error is a mistake in into's type. After an
// error into may be partly filled and must not be used.
func Decode(data []byte, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decoding into %T: need a pointer to a struct", into)
	}
	if err := Check(data); err != nil {
		return err
	}
	d := decoder{jsontext.NewDecoder(bytes.NewBuffer(data))}
	return d.value("", v.Elem(), false)
}

// Check reports, as an *[Error], whether data is not exactly one JSON value of allowed depth, with
// unique keys in every object.
func Check(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &Error{Message: "is empty where JSON was expected"}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return syntaxError(err)
		}
		depth := dec.StackDepth()
		if depth > MaxDepth {
			return &Error{Message: fmt.Sprintf("is nested more than %d levels deep", MaxDepth)}
		}
		if depth == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Message: fmt.Sprintf("has more data behind the JSON value (at byte %d)", dec.InputOffset())}
	}
	return nil
}

// Members takes an object apart, one level deep. Errors are those of [Decode].
func Members(data []byte) (Object, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	var out Object
	d := decoder{jsontext.NewDecoder(bytes.NewBuffer(data))}
	err := d.object("", reflect.ValueOf(&out).Elem(), false)
	return out, err
}

// syntaxError puts jsontext's finding into our words.
func syntaxError(err error) *Error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &Error{Message: "is not complete JSON: the text ends too early"}
	}
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		return &Error{Message: "is not valid JSON: " + err.Error()}
	}
	if errors.Is(se.Err, jsontext.ErrDuplicateName) {
		parent, name := pointerPath(se.JSONPointer.Parent()), se.JSONPointer.LastToken()
		return &Error{Path: parent, Field: name, Message: fmt.Sprintf("key %q is given twice", name)}
	}
	return &Error{
		Path:    pointerPath(se.JSONPointer),
		Message: fmt.Sprintf("is not valid JSON: %v (at byte %d)", se.Err, se.ByteOffset),
	}
}

func pointerPath(p jsontext.Pointer) string {
	path := ""
	for token := range p.Tokens() {
		if n, err := strconv.Atoi(token); err == nil && n >= 0 {
			path = index(path, n)
		} else {
			path = Join(path, token)
		}
	}
	return path
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Join is the path of the member called name inside path.
func Join(path, name string) string {
	plain := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
	switch {
	case !plain:
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}
