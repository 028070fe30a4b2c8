package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// EncodeParams renders JSON parameters as the text Postgres reads (contract, "Params"): a string
// is its text, a number its digits as written, null is NULL, an object is JSON text, an array is
// JSON text for a json or jsonb target and else a Postgres array.
//
// Only if one of them is an array is the server asked for the types of sql's parameters, in the
// transaction the session is in (whose timeouts then hold), or else in one of its own that is bounded by
// [Options.DescribeTimeout] and DescribeLockTimeout and rolled back. What the server
// then says of sql comes back as a *wire.ServerError. Parameters that cannot be text in Postgres
// are refused (INVALID_INPUT).
func (s *Session) EncodeParams(ctx context.Context, sql string, params []json.RawMessage) ([][]byte, error) {
	if len(params) == 0 {
		return nil, nil
	}
	if len(params) > maxParams {
		return nil, refusal.New(refusal.InvalidInput,
			fmt.Sprintf("there are %d parameters; Postgres takes at most %d", len(params), maxParams), "split the call")
	}
	out := make([][]byte, len(params))
	var arrays []int
	for i, p := range params {
		p = bytes.TrimSpace(p)
		if len(p) > 0 && p[0] == '[' {
			arrays = append(arrays, i)
			continue
		}
		v, err := scalarParam(p)
		if err != nil {
			return nil, badParam(i, err)
		}
		out[i] = v
	}
	if len(arrays) == 0 {
		return out, nil
	}
	oids, err := s.describe(ctx, sql)
	if err != nil {
		return nil, err
	}
	types, err := s.typesOf(ctx, oids)
	if err != nil {
		return nil, err
	}
	for _, i := range arrays {
		if i >= len(oids) {
			return nil, refusal.New(refusal.InvalidInput,
				fmt.Sprintf("there are %d parameters, but the statement uses %d", len(params), len(oids)),
				"give one value for each $n")
		}
		v, err := arrayParam(bytes.TrimSpace(params[i]), types[oids[i]], types)
		if err != nil {
			return nil, badParam(i, err)
		}
		out[i] = v
	}
	return out, nil
}

func badParam(i int, err error) error {
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("parameter $%d: %s", i+1, err), "correct this value")
}

var (
	errNUL       = errors.New("holds U+0000, which Postgres cannot store in text")
	errSurrogate = errors.New(`holds half of a surrogate pair (\ud800 to \udfff), which is not a character`)
	errUTF8      = errors.New("is not valid UTF-8")
	errJSON      = errors.New("is not valid JSON")
)

// scalarParam renders everything but arrays.
func scalarParam(p json.RawMessage) ([]byte, error) {
	if len(p) == 0 || !json.Valid(p) {
		return nil, errJSON
	}
	switch p[0] {
	case 'n':
		return nil, nil
	case '"':
		return unquote(p)
	case '{':
		return jsonParam(p)
	}
	return bytes.Clone(p), nil // digits as written, true, false
}

// jsonParam passes JSON on as it is. json and jsonb decide about \u0000 themselves.
func jsonParam(p json.RawMessage) ([]byte, error) {
	if !json.Valid(p) {
		return nil, errJSON
	}
	if !utf8.Valid(p) {
		return nil, errUTF8
	}
	return bytes.Clone(p), nil
}

// unquote turns a valid JSON string into its text. encoding/json would replace a lone surrogate
// silently, and so change what is stored.
func unquote(p []byte) ([]byte, error) {
	p = p[1 : len(p)-1]
	if !utf8.Valid(p) {
		return nil, errUTF8
	}
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		if p[i] != '\\' {
			out = append(out, p[i])
			continue
		}
		i++
		switch p[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r := hex4(p[i+1 : i+5])
			i += 4
			if utf16.IsSurrogate(r) {
				if i+6 >= len(p) || p[i+1] != '\\' || p[i+2] != 'u' {
					return nil, errSurrogate
				}
				r = utf16.DecodeRune(r, hex4(p[i+3:i+7]))
				if r == utf8.RuneError {
					return nil, errSurrogate
				}
				i += 6
			}
			if r == 0 {
				return nil, errNUL
			}
			out = utf8.AppendRune(out, r)
		default: // " \ /
			out = append(out, p[i])
		}
	}
	return out, nil
}

func hex4(p []byte) rune {
	var r rune
	for _, c := range p {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}

// arrayParam renders a JSON array for a parameter of type t.
func arrayParam(p json.RawMessage, t typeInfo, types typeSet) ([]byte, error) {
	switch t.kind {
	case kindJSON:
		return jsonParam(p)
	case kindArray:
		return types.arrayLiteral(nil, p, t.elem, 1)
	case kindText, kindBool, kindNumber, kindFloat:
	}
	return types.arrayLiteral(nil, p, 0, 1) // of a type not known: what has no type of its own is text
}

// arrayLiteral appends a JSON array as an array literal (PostgreSQL manual, 8.15.2). Where the elements
// are JSON, or arrays themselves (a domain over an array type), a JSON array in it is one element; else it
// is one more dimension.
func (types typeSet) arrayLiteral(out []byte, p json.RawMessage, elemOID uint32, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested deeper than %d, more than Postgres arrays can be", maxDepth)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(p, &items); err != nil {
		return nil, errJSON
	}
	elem := types[elemOID]
	delim := elem.delim
	if delim == 0 {
		delim = ','
	}
	out = append(out, '{')
	for i, item := range items {
		if i > 0 {
			out = append(out, delim)
		}
		item = bytes.TrimSpace(item)
		if string(item) == "null" {
			out = append(out, "NULL"...)
			continue
		}
		var v []byte
		var err error
		switch {
		case elem.kind == kindJSON:
			v, err = jsonParam(item)
		case item[0] != '[':
			v, err = scalarParam(item)
		case elem.kind == kindArray:
			v, err = types.arrayLiteral(nil, item, elem.elem, depth+1)
		default:
			if out, err = types.arrayLiteral(out, item, elemOID, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, '"')
		for _, c := range v {
			if c == '"' || c == '\\' {
				out = append(out, '\\')
			}
			out = append(out, c)
		}
		out = append(out, '"')
	}
	return append(out, '}'), nil
}

// describe asks for the parameter types of sql without running it. The unnamed statement is not
// used afterwards: behind a transaction pooler it may be gone.
func (s *Session) describe(ctx context.Context, sql string) ([]uint32, error) {
	if err := sendableText(sql); err != nil {
		return nil, err
	}
	own := s.pc.TxStatus() == 'I'
	p := s.pc.StartPipeline(ctx)
	if own {
		ms := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
		p.SendQueryParams("BEGIN READ ONLY", nil, nil, nil, nil)
		p.SendQueryParams("SELECT pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('lock_timeout', $2, true)",
			text(ms(s.pool.opts.DescribeTimeout), ms(s.pool.opts.DescribeLockTimeout)), nil, nil, nil)
	}
	p.SendPrepare("", sql, nil)
	if own {
		p.SendPipelineSync()
		p.SendQueryParams("ROLLBACK", nil, nil, nil, nil)
	}
	if err := p.Sync(); err != nil {
		_ = p.Close()
		return nil, notSent(ctx, err)
	}
	var oids []uint32
	var refused error
	for {
		got, err := p.GetResults()
		if err != nil {
			var pgErr *pgconn.PgError
			if !errors.As(err, &pgErr) || s.pc.IsClosed() {
				_ = p.Close()
				return nil, lost(err)
			}
			if refused == nil {
				refused = serverError(pgErr, 0)
			}
			continue
		}
		if got == nil {
			break
		}
		switch r := got.(type) {
		case *pgconn.StatementDescription:
			oids = r.ParamOIDs
		case *pgconn.ResultReader:
			if _, err := r.Close(); err != nil && refused == nil {
				refused = err
			}
		}
	}
	if err := p.Close(); err != nil && refused == nil {
		return nil, lost(err)
	}
	if refused != nil {
		return nil, refused
	}
	return oids, nil
}

var _ wire.Flush = (*Session)(nil).Flush
