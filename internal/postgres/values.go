package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// Values renders a result as JSON, rows by columns (contract, "Values"): what a client can read
// without losing a digit. It costs a round trip when it meets a type for the first time.
//
// This is the one codec of the product: query, samples, changes and committed rows all come through
// here, the page and its API show what came out, and [Session.EncodeParams] takes it back. See
// TestCodec, which holds all of it to every built-in type, and FuzzCodec.
func (s *Session) Values(ctx context.Context, r wire.Result) ([][]json.RawMessage, error) {
	types, err := s.typesOf(ctx, oidsOf(r.Columns))
	if err != nil {
		return nil, err
	}
	row := newRowRenderer(r.Columns, types)
	out := make([][]json.RawMessage, len(r.Rows))
	for i, values := range r.Rows {
		out[i] = row.render(values, nil)
	}
	return out, nil
}

func oidsOf(columns []wire.Column) []uint32 {
	out := make([]uint32, len(columns))
	for i, c := range columns {
		out[i] = c.OID
	}
	return out
}

// rowRenderer renders rows of one result.
type rowRenderer struct {
	columns []typeInfo
	types   typeSet
}

func newRowRenderer(columns []wire.Column, types typeSet) rowRenderer {
	r := rowRenderer{columns: make([]typeInfo, len(columns)), types: types}
	for i, c := range columns {
		r.columns[i] = types[c.OID]
	}
	return r
}

// render turns one row's text into JSON, in one buffer. The cells of the columns in cut
// were shortened and are no longer what their type promises: they are strings.
func (r rowRenderer) render(values [][]byte, cut []int) []json.RawMessage {
	size := 0
	for _, v := range values {
		size += len(v) + 4 // quotes, or null
	}
	buf := make([]byte, 0, size+size/8)
	out := make([]json.RawMessage, len(values))
	for i, v := range values {
		start := len(buf)
		if len(cut) > 0 && slices.Contains(cut, i) {
			buf = quoteJSON(buf, v)
		} else {
			buf = r.types.append(buf, v, r.columns[i])
		}
		out[i] = buf[start:len(buf):len(buf)]
	}
	return out
}

// append adds one value's text as JSON. Text that is not what its type promises becomes a JSON
// string: never invalid JSON, never a lost value.
func (types typeSet) append(out, v []byte, t typeInfo) []byte {
	if v == nil {
		return append(out, "null"...)
	}
	switch t.kind {
	case kindBool:
		switch string(v) {
		case "t":
			return append(out, "true"...)
		case "f":
			return append(out, "false"...)
		}
	case kindNumber, kindFloat:
		if isNumber(v) {
			return append(out, v...)
		}
	case kindJSON:
		if done, ok := appendJSON(out, v); ok {
			return done
		}
	case kindArray:
		if done, err := types.appendArray(out, v, t.elem); err == nil {
			return done
		}
	case kindText:
	}
	return quoteJSON(out, v)
}

// appendJSON adds stored JSON, compact: a line break inside must not break the protocol's lines.
// Digits stay, and so do duplicate keys and their order.
func appendJSON(out, v []byte) ([]byte, bool) {
	if !utf8.Valid(v) {
		return nil, false
	}
	buf := bytes.NewBuffer(out)
	if json.Compact(buf, v) != nil {
		return nil, false
	}
	done := buf.Bytes()
	if bytes.Contains(v, lineEnd) { // only strings can hold them, so escaping changes no value
		tail := bytes.ReplaceAll(done[len(out):], []byte("\u2028"), []byte(`\u2028`))
		tail = bytes.ReplaceAll(tail, []byte("\u2029"), []byte(`\u2029`))
		done = append(done[:len(out)], tail...)
	}
	return done, true
}

// lineEnd begins U+2028 and U+2029, which some readers of JSON lines take for line ends.
var lineEnd = []byte("\xe2\x80")

// isNumber tells whether v is a JSON number (RFC 8259, section 6). NaN and Infinity are not.
func isNumber(v []byte) bool {
	if len(v) > 0 && v[0] == '-' {
		v = v[1:]
	}
	whole := digits(v)
	if whole == 0 || whole > 1 && v[0] == '0' {
		return false
	}
	if v = v[whole:]; len(v) > 0 && v[0] == '.' {
		n := digits(v[1:])
		if n == 0 {
			return false
		}
		v = v[1+n:]
	}
	if len(v) == 0 {
		return true
	}
	if v[0] != 'e' && v[0] != 'E' {
		return false
	}
	if v = v[1:]; len(v) > 0 && (v[0] == '+' || v[0] == '-') {
		v = v[1:]
	}
	return len(v) > 0 && digits(v) == len(v)
}

// digits counts those that v begins with.
func digits(v []byte) int {
	n := 0
	for n < len(v) && v[n] >= '0' && v[n] <= '9' {
		n++
	}
	return n
}

const hexDigits = "0123456789abcdef"

// verbatim tells the bytes that stand in a JSON string as they are.
var verbatim = func() (table [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// quoteJSON appends v as a JSON string. Bytes that are not UTF-8 (a database without an encoding)
// become U+FFFD.
func quoteJSON(out, v []byte) []byte {
	out = append(out, '"')
	for len(v) > 0 {
		n := 0
		for n < len(v) && verbatim[v[n]] {
			n++
		}
		out = append(out, v[:n]...)
		if v = v[n:]; len(v) == 0 {
			break
		}
		if v[0] < utf8.RuneSelf {
			out = escape(out, v[0])
			v = v[1:]
			continue
		}
		r, n := utf8.DecodeRune(v)
		switch {
		case r == utf8.RuneError && n <= 1:
			out = append(out, "\uFFFD"...)
		case r == 0x2028 || r == 0x2029: // see lineEnd
			out = append(out, '\\', 'u', '2', '0', '2', hexDigits[r&15])
		default:
			out = append(out, v[:n]...)
		}
		v = v[n:]
	}
	return append(out, '"')
}

func escape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

var errArray = errors.New("not an array literal")

// maxDepth is MAXDIM of array.h.
const maxDepth = 6

// appendArray turns an array literal (PostgreSQL manual, 8.15.6) into nested JSON arrays. Lower
// bounds ([0:1]={…}) are left out: JSON has no place for them.
func (types typeSet) appendArray(out, v []byte, elem uint32) ([]byte, error) {
	if len(v) > 0 && v[0] == '[' {
		i := bytes.Index(v, []byte("]={"))
		if i < 0 {
			return nil, errArray
		}
		v = v[i+2:]
	}
	p := arrayParser{in: v, elem: types[elem], types: types, out: out, item: []byte{}}
	if p.elem.delim == 0 {
		p.elem.delim = ','
	}
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
	elem  typeInfo
	types typeSet
	out   []byte
	item  []byte // scratch, never nil: nil is NULL
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
		case p.elem.delim:
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
		item := p.item[:0]
		for p.pos++; p.pos < len(p.in); p.pos++ {
			switch c := p.in[p.pos]; c {
			case '"':
				p.pos++
				p.item = item
				p.out = p.types.append(p.out, item, p.elem)
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
	for p.pos < len(p.in) && p.in[p.pos] != p.elem.delim && p.in[p.pos] != '}' {
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
		p.out = append(p.out, "null"...)
		return nil
	}
	p.out = p.types.append(p.out, item, p.elem)
	return nil
}
