package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest message a client may send unless Options say otherwise, in bytes. 65,535 parameters of 100 bytes each
// fit; the library has no limit of its own and parses each line about eight times.
const MaxLine = 8 << 20

// JSON-RPC 2.0, section 5.1.
const invalidRequest = -32600

// lineGuard stands between the client and the library and hands over only whole lines that the
// library answers rightly. See TestLines.
type lineGuard struct {
	in    *bufio.Reader
	out   *lineWriter
	calls *calls
	open  admission
	asked *questions // nil: nothing is ever asked
	max   int
	first bool   // the next line is the first one
	line  []byte // what of the current line was not handed over yet
}

func newLineGuard(in io.Reader, out *lineWriter, c *calls, longest int) *lineGuard {
	if longest <= 0 {
		longest = MaxLine
	}
	g := &lineGuard{in: bufio.NewReaderSize(in, 64<<10), out: out, calls: c, max: longest, first: true}
	out.onLine = g.open.answered
	return g
}

// Read implements io.Reader.
func (g *lineGuard) Read(p []byte) (int, error) {
	for len(g.line) == 0 {
		line, err := g.next()
		if err != nil {
			return 0, err
		}
		g.line = g.inspect(line)
	}
	n := copy(p, g.line)
	g.line = g.line[n:]
	return n, nil
}

// next reads one line. What stands behind the last newline at the end of the stream is not a
// message (MCP, "stdio": messages are delimited by newlines) and is dropped.
func (g *lineGuard) next() ([]byte, error) {
	var line []byte
	for {
		part, err := g.in.ReadSlice('\n')
		if len(line)+len(part) > g.max {
			return nil, g.skip(line, part, err)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// skip reads the rest of a line that is too long, in constant memory, and answers it. The id may
// stand at its very end (JavaScript clients put it there), so the whole line is scanned for it.
func (g *lineGuard) skip(head, part []byte, err error) error {
	var scan idScanner
	scan.write(head)
	scan.write(part)
	size := len(head) + len(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = g.in.ReadSlice('\n')
		scan.write(part)
		size += len(part)
	}
	if err != nil {
		return err
	}
	g.out.rpcError(scan.id(), invalidRequest, fmt.Sprintf(
		"The message has %d bytes; the longest that is read has %d. Send the rows in smaller batches.", size, g.max))
	return nil
}

// envelope is what makes a line a request, a notification or a response.
type envelope struct {
	Method json.RawMessage `json:"method"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// inspect returns what the library gets to read in place of the line; nothing if it is answered
// or dropped here.
func (g *lineGuard) inspect(line []byte) []byte {
	if g.first && len(line) > 0 {
		g.first = false
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // some shells put one before the first line
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil // the library would answer each with a parse error
	}
	var e envelope
	if json.Unmarshal(line, &e) != nil {
		return line // the library answers: parse error, id null
	}
	if len(e.Method) == 0 {
		return g.response(line, e)
	}
	if bytes.Equal(e.ID, []byte("null")) {
		// MCP, "Messages": a request's id MUST NOT be null. The library would take it for a
		// notification and the client would wait for ever.
		g.out.rpcError(nil, invalidRequest, "The id of a request must not be null.")
		return nil
	}
	if len(e.Result) > 0 || len(e.Error) > 0 {
		g.out.rpcError(e.ID, invalidRequest, "A message is a request or a response, not both.")
		return nil
	}
	var method string // some JSON writers escape the slash
	if json.Unmarshal(e.Method, &method) != nil {
		return line // the library answers
	}
	switch method {
	case "tools/call":
		if len(e.ID) == 0 {
			return nil // a notification, which runs nothing; the library would queue it as a call
		}
		if refused := g.open.admit(e.ID, len(line)); refused != nil {
			g.out.refuse(e.ID, refused)
			return nil
		}
		g.calls.seen(e.ID)
	case "notifications/cancelled":
		var c struct {
			Params struct {
				RequestID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &c) == nil {
			g.calls.cancel(c.Params.RequestID)
		}
	}
	return line
}

// response passes a client's answer on. An error answer that nobody waits for any more would be
// taken for a request and be answered under an id that may belong to another call (the server's
// own ids count from 1 too), so it becomes an answer that means the same and is dropped quietly.
func (g *lineGuard) response(line []byte, e envelope) []byte {
	if len(e.Result) == 0 && len(e.Error) == 0 {
		return line // neither; the library answers
	}
	if g.asked.answer(e) {
		return nil
	}
	if len(e.ID) == 0 || bytes.Equal(e.ID, []byte("null")) {
		return nil
	}
	if len(e.Error) > 0 || bytes.Equal(e.Result, []byte("null")) {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`+"\n", e.ID)
	}
	return line
}
