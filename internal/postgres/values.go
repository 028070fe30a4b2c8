package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// Values renders a result as JSON, rows by columns (contract, "Values"): what a client can read
// without losing a digit. It costs a round trip when it meets a type for the first time.
func (s *Session) Values(ctx context.Context, r wire.Result) ([][]json.RawMessage, error) {
	oids := make([]uint32, len(r.Columns))
	for i, c := range r.Columns {
		oids[i] = c.OID
	}
	types, err := s.typesOf(ctx, oids)
	if err != nil {
		return nil, err
	}
	out := make([][]json.RawMessage, len(r.Rows))
	for i, row := range r.Rows {
		out[i] = make([]json.RawMessage, len(row))
		for j, v := range row {
			out[i][j] = renderValue(v, oids[j], types)
		}
	}
	return out, nil
}

var null = json.RawMessage("null")

// renderValue turns one value's text into JSON. Text that is not what its type promises becomes a
// JSON string: never invalid JSON, never a lost value.
func renderValue(v []byte, oid uint32, types map[uint32]typeInfo) json.RawMessage {
	if v == nil {
		return null
	}
	t := types[oid]
	switch t.kind {
	case kindBool:
		switch string(v) {
		case "t":
			return json.RawMessage("true")
		case "f":
			return json.RawMessage("false")
		}
	case kindNumber, kindFloat:
		if isNumber(v) {
			return json.RawMessage(bytes.Clone(v))
		}
	case kindJSON:
		// Compact: a line break inside must not break the protocol's lines. Digits stay.
		var buf bytes.Buffer
		if utf8.Valid(v) && json.Compact(&buf, v) == nil {
			return buf.Bytes()
		}
	case kindArray:
		if out, err := renderArray(v, t.elem, types); err == nil {
			return out
		}
	case kindText:
	}
	return quoteJSON(nil, v)
}

// isNumber tells whether v is a JSON number (RFC 8259, section 6). NaN and Infinity are not.
func isNumber(v []byte) bool {
	n := len(v)
	return n > 0 && (v[0] == '-' || digit(v[0])) && digit(v[n-1]) && json.Valid(v)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

const hexDigits = "0123456789abcdef"

// quoteJSON appends v as a JSON string. Bytes that are not UTF-8 (a database without an encoding)
// become U+FFFD.
func quoteJSON(out, v []byte) []byte {
	out = append(out, '"')
	for len(v) > 0 {
		c := v[0]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				out = append(out, '\\', c)
			case c == '\n':
				out = append(out, '\\', 'n')
			case c == '\r':
				out = append(out, '\\', 'r')
			case c == '\t':
				out = append(out, '\\', 't')
			case c < 0x20 || c == 0x7f:
				out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				out = append(out, c)
			}
			v = v[1:]
			continue
		}
		r, n := utf8.DecodeRune(v)
		switch {
		case r == utf8.RuneError && n <= 1:
			out = append(out, "\uFFFD"...)
		case r == 0x2028 || r == 0x2029: // line ends for some readers of JSON lines
			out = append(out, '\\', 'u', '2', '0', '2', hexDigits[r&15])
		default:
			out = append(out, v[:n]...)
		}
		v = v[n:]
	}
	return append(out, '"')
}

var errArray = errors.New("not an array literal")

// maxDepth is MAXDIM of array.h.
const maxDepth = 6

// renderArray turns an array literal (PostgreSQL manual, 8.15.6) into nested JSON arrays. Lower
// bounds ([0:1]={…}) are left out: JSON has no place for them.
func renderArray(v []byte, elem uint32, types map[uint32]typeInfo) (json.RawMessage, error) {
	if len(v) > 0 && v[0] == '[' {
		i := bytes.Index(v, []byte("]={"))
		if i < 0 {
			return nil, errArray
		}
		v = v[i+2:]
	}
	delim := types[elem].delim
	if delim == 0 {
		delim = ','
	}
	p := arrayParser{in: v, delim: delim, elem: elem, types: types, out: make([]byte, 0, len(v)+16)}
	if err := p.array(1); err != nil {
		return nil, err
	}
	if p.pos != len(p.in) {
		return nil, errArray
	}
	return p.out, nil
}

type arrayParser struct {
	in    []byte
	pos   int
	delim byte
	elem  uint32
	types map[uint32]typeInfo
	out   []byte
}

func (p *arrayParser) array(depth int) error {
	if depth > maxDepth || p.pos >= len(p.in) || p.in[p.pos] != '{' {
		return errArray
	}
	p.pos++
	p.out = append(p.out, '[')
	if p.pos < len(p.in) && p.in[p.pos] == '}' {
		p.pos++
		p.out = append(p.out, ']')
		return nil
	}
	for {
		if err := p.element(depth); err != nil {
			return err
		}
		if p.pos >= len(p.in) {
			return errArray
		}
		c := p.in[p.pos]
		p.pos++
		switch c {
		case p.delim:
			p.out = append(p.out, ',')
		case '}':
			p.out = append(p.out, ']')
			return nil
		default:
			return errArray
		}
	}
}

func (p *arrayParser) element(depth int) error {
	if p.pos >= len(p.in) {
		return errArray
	}
	switch p.in[p.pos] {
	case '{':
		return p.array(depth + 1)
	case '"':
		var item []byte
		for p.pos++; p.pos < len(p.in); p.pos++ {
			switch c := p.in[p.pos]; c {
			case '"':
				p.pos++
				if item == nil {
					item = []byte{}
				}
				p.out = append(p.out, renderValue(item, p.elem, p.types)...)
				return nil
			case '\\':
				p.pos++
				if p.pos >= len(p.in) {
					return errArray
				}
				item = append(item, p.in[p.pos])
			default:
				item = append(item, c)
			}
		}
		return errArray
	}
	start := p.pos
	for p.pos < len(p.in) && p.in[p.pos] != p.delim && p.in[p.pos] != '}' {
		if p.in[p.pos] == '\\' {
			return errArray // array_out always quotes these
		}
		p.pos++
	}
	item := p.in[start:p.pos]
	if len(item) == 0 {
		return errArray
	}
	if string(item) == "NULL" {
		p.out = append(p.out, null...)
		return nil
	}
	p.out = append(p.out, renderValue(item, p.elem, p.types)...)
	return nil
}
