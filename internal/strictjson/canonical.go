package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical is one JSON text for all texts of the same value: no white space, object members
// sorted by the bytes of their names, strings with the fewest escapes, and numbers in decimal
// normal form (digits without zeros at either end, then an exponent if it is not 0), so that 1,
// 1.0 and 10e-1 are the same bytes and 9007199254740993 and 9007199254740992 are not. -0 is 0.
//
// Canonical(Canonical(x)) equals Canonical(x). Errors are those of [Check], or a number whose
// exponent is absurd. See FuzzCanonical.
func Canonical(data []byte) ([]byte, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(data)), jsontext.NewDecoder(bytes.NewBuffer(data)))
}

func appendCanonical(out []byte, dec *jsontext.Decoder) ([]byte, error) {
	switch dec.PeekKind() {
	case '{':
		return appendCanonicalObject(out, dec)
	case '[':
		if _, err := dec.ReadToken(); err != nil {
			return nil, syntaxError(err)
		}
		out = append(out, '[')
		for i := 0; dec.PeekKind() != ']'; i++ {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = appendCanonical(out, dec); err != nil {
				return nil, err
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, syntaxError(err)
		}
		return append(out, ']'), nil
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, syntaxError(err)
	}
	switch raw.Kind() {
	case '"':
		text, err := unquote(raw)
		if err != nil {
			return nil, err
		}
		return appendString(out, text)
	case '0':
		n, err := parseNumber(string(raw))
		if err != nil {
			return nil, err
		}
		return append(out, n.String()...), nil
	default:
		return append(out, raw...), nil
	}
}

func appendCanonicalObject(out []byte, dec *jsontext.Decoder) ([]byte, error) {
	type member struct {
		name  string
		value []byte
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	var members []member
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxError(err)
		}
		name := token.String()
		value, err := appendCanonical(nil, dec)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, value})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendString(out, m.name); err != nil {
			return nil, err
		}
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}'), nil
}

func appendString(out []byte, text string) ([]byte, error) {
	out, err := jsontext.AppendQuote(out, text)
	if err != nil {
		return nil, fmt.Errorf("quoting a string: %w", err)
	}
	return out, nil
}

// number is negative? −digits×10^exponent : digits×10^exponent. digits has no zero at either end;
// zero is {digits: "0"}.
type number struct {
	negative bool
	digits   string
	exponent *big.Int
}

// maxExponentDigits bounds the arithmetic on exponents. Postgres refuses far smaller ones.
const maxExponentDigits = 1000

// parseNumber takes a JSON number apart, without rounding. Cost is linear in its length: the
// value is never written out.
func parseNumber(text string) (number, error) {
	var n number
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	mantissa, n.negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return number{digits: "0", exponent: new(big.Int)}, nil
	}
	n.digits = trimmed
	n.exponent = big.NewInt(int64(len(digits) - len(trimmed) - len(fraction)))
	if exponent != "" {
		sign := exponent[0] == '-'
		power := strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
		if len(power) > maxExponentDigits {
			return number{}, &Error{Message: fmt.Sprintf("the exponent of the number %s is out of range", shorten([]byte(text)))}
		}
		if power != "" {
			e, ok := new(big.Int).SetString(power, 10)
			if !ok {
				return number{}, &Error{Message: fmt.Sprintf("%s is not a number", shorten([]byte(text)))}
			}
			if sign {
				e.Neg(e)
			}
			n.exponent.Add(n.exponent, e)
		}
	}
	return n, nil
}

// String is the normal form, itself a JSON number.
func (n number) String() string {
	s := n.digits
	if n.negative {
		s = "-" + s
	}
	if n.exponent.Sign() != 0 {
		s += "e" + n.exponent.String()
	}
	return s
}

// maxWritten is how long a number may get when its exponent is written out.
const maxWritten = 1000

// maxSafe is 2^53 − 1, the largest integer up to which float64 holds every integer.
const maxSafe = "9007199254740991"

// SafeNumber turns a JSON number outside ±(2^53 − 1) into its digits as a JSON string, so that a
// client which reads numbers as float64 can give it back unharmed. Plain numbers keep the digits
// as written; one with an exponent is written out (or normalised, if that would be absurdly
// long), so that equal values written with different exponents give the same string. Everything
// else, also a number inside an array or object, comes back unchanged.
func SafeNumber(v json.RawMessage) json.RawMessage {
	text := string(bytes.TrimSpace(v))
	if jsontext.Value(text).Kind() != '0' || !jsontext.Value(text).IsValid() {
		return v
	}
	n, err := parseNumber(text)
	if err != nil || n.safe() {
		return v
	}
	if strings.ContainsAny(text, "eE") {
		text = n.written()
	}
	return json.RawMessage(strconv.Quote(text))
}

// safe reports |n| ≤ 2^53 − 1.
func (n number) safe() bool {
	if n.digits == "0" {
		return true
	}
	size := new(big.Int).Add(n.exponent, big.NewInt(int64(len(n.digits)))) // digits before the point
	switch size.Cmp(big.NewInt(int64(len(maxSafe)))) {
	case -1:
		return true
	case 1:
		return false
	}
	if len(n.digits) <= len(maxSafe) {
		return n.digits+strings.Repeat("0", len(maxSafe)-len(n.digits)) <= maxSafe
	}
	return n.digits[:len(maxSafe)] < maxSafe // equal would mean maxSafe and a fraction on top
}

// written is n without an exponent, for numbers that are not safe, hence larger than 1.
func (n number) written() string {
	size := new(big.Int).Add(n.exponent, big.NewInt(int64(len(n.digits))))
	if !size.IsInt64() || size.Int64() > maxWritten || len(n.digits) > maxWritten {
		return n.String()
	}
	s, point := n.digits, int(size.Int64())
	if point >= len(s) {
		s += strings.Repeat("0", point-len(s))
	} else {
		s = s[:point] + "." + s[point:]
	}
	if n.negative {
		s = "-" + s
	}
	return s
}
