package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	objectType = reflect.TypeFor[Object]()
)

// decoder walks a text that Check has accepted; it only has to judge types.
type decoder struct{ dec *jsontext.Decoder }

func (d decoder) value(path string, v reflect.Value, lenient bool) error {
	switch v.Type() {
	case rawType:
		raw, err := d.dec.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		v.SetBytes(bytes.Clone(raw))
		return nil
	case objectType:
		return d.object(path, v, lenient)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if d.dec.PeekKind() == 'n' {
			v.SetZero()
			return d.skip()
		}
		fresh := reflect.New(v.Type().Elem())
		if err := d.value(path, fresh.Elem(), lenient); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	case reflect.Struct:
		return d.structure(path, v)
	case reflect.Slice:
		return d.slice(path, v, lenient)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Int32:
		return d.scalar(path, v)
	default:
		return fmt.Errorf("decoding %s: a field of type %s is not supported", path, v.Type())
	}
}

func (d decoder) skip() error {
	if err := d.dec.SkipValue(); err != nil {
		return syntaxError(err)
	}
	return nil
}

func (d decoder) scalar(path string, v reflect.Value) error {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return syntaxError(err)
	}
	switch kind := raw.Kind(); v.Kind() {
	case reflect.String:
		if kind != '"' {
			return wrongType(path, "a string", raw)
		}
		text, err := unquote(raw)
		if err != nil {
			return err
		}
		v.SetString(text)
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return wrongType(path, "true or false", raw)
		}
		v.SetBool(kind == 't')
	default:
		if kind != '0' {
			return wrongType(path, "an integer", raw)
		}
		if bytes.ContainsAny(raw, ".eE") {
			return &Error{Path: path, Message: fmt.Sprintf("must be an integer without fraction or exponent, not %s", shorten(raw))}
		}
		n, err := strconv.ParseInt(string(raw), 10, v.Type().Bits())
		if err != nil {
			return &Error{Path: path, Message: fmt.Sprintf("%s is out of range", shorten(raw))}
		}
		v.SetInt(n)
	}
	return nil
}

func (d decoder) structure(path string, v reflect.Value) error {
	if kind := d.dec.PeekKind(); kind != '{' {
		return d.notA(path, "an object")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	seen := make(map[string]bool)
	for d.dec.PeekKind() != '}' {
		token, err := d.dec.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		name := token.String()
		field, ok := fieldNamed(v.Type(), name)
		if !ok {
			return unknown(path, name, fieldNames(v.Type()))
		}
		seen[name] = true
		if err := d.value(Join(path, name), v.FieldByIndex(field.Index), field.Tag.Get("lenient") == "json"); err != nil {
			return err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if name := tagName(field); field.Tag.Get("required") == "true" && !seen[name] {
			return &Error{Path: path, Field: name, Message: fmt.Sprintf("%q is required", name)}
		}
	}
	return nil
}

func (d decoder) slice(path string, v reflect.Value, lenient bool) error {
	if kind := d.dec.PeekKind(); lenient && kind == '"' {
		inner, err := d.embedded(path, '[', "an array")
		if err != nil {
			return err
		}
		return inner.slice(path, v, false)
	} else if kind != '[' {
		return d.notA(path, "an array")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	out := reflect.MakeSlice(v.Type(), 0, 4)
	element := reflect.New(v.Type().Elem()).Elem()
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		element.SetZero()
		if err := d.value(index(path, i), element, false); err != nil {
			return err
		}
		out = reflect.Append(out, element)
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	v.Set(out)
	return nil
}

func (d decoder) object(path string, v reflect.Value, lenient bool) error {
	if kind := d.dec.PeekKind(); lenient && kind == '"' {
		inner, err := d.embedded(path, '{', "an object")
		if err != nil {
			return err
		}
		return inner.object(path, v, false)
	} else if kind != '{' {
		return d.notA(path, "an object")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	out := Object{}
	for d.dec.PeekKind() != '}' {
		token, err := d.dec.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		name := token.String() // before the next read, which ends the token's life
		raw, err := d.dec.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		out = append(out, Member{Name: name, Value: json.RawMessage(bytes.Clone(raw))})
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	v.Set(reflect.ValueOf(out))
	return nil
}

// embedded opens a string that should hold a JSON array or object.
func (d decoder) embedded(path string, want jsontext.Kind, what string) (decoder, error) {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return decoder{}, syntaxError(err)
	}
	text, err := unquote(raw)
	if err != nil {
		return decoder{}, err
	}
	content := strings.TrimSpace(text)
	if content == "" || content[0] != byte(want) {
		return decoder{}, wrongType(path, what, raw)
	}
	if err := Check([]byte(content)); err != nil {
		inner := err.(*Error) //nolint:errorlint,forcetypeassert // Check returns nothing else
		inner.Message = fmt.Sprintf("is a string that does not hold %s as JSON: %s", what, inner.Error())
		inner.Path = path
		return decoder{}, inner
	}
	return decoder{jsontext.NewDecoder(bytes.NewBufferString(content))}, nil
}

func (d decoder) notA(path, want string) error {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return syntaxError(err)
	}
	return wrongType(path, want, raw)
}

func wrongType(path, want string, raw jsontext.Value) *Error {
	got := "null"
	switch raw.Kind() {
	case '"':
		got = "a string"
		if text, err := unquote(raw); err == nil {
			inner := jsontext.Value(text)
			fits := want == "an integer" && inner.Kind() == '0' || want == "true or false" && (text == "true" || text == "false")
			if fits && Check(inner) == nil {
				got = fmt.Sprintf("the string %s: leave out the quotes", shorten(raw))
			}
		}
	case '0':
		got = "a number"
	case 't', 'f':
		got = string(raw)
	case '[':
		got = "an array"
	case '{':
		got = "an object"
	}
	return &Error{Path: path, Message: fmt.Sprintf("must be %s, not %s", want, got)}
}

func unquote(raw jsontext.Value) (string, error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", fmt.Errorf("unquoting a string that was checked before: %w", err)
	}
	return string(text), nil
}

func shorten(raw []byte) string {
	const limit = 40
	if len(raw) <= limit {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:limit]), "") + "…"
}

func tagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return ""
	}
	return name
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	if name == "" {
		return reflect.StructField{}, false
	}
	for f := range t.Fields() {
		if tagName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name := tagName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}
