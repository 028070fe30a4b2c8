package tests

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// pgProxy stands between the program and Postgres and sees every protocol message (PostgreSQL
// manual, 55.7). A test may cut a connection, or hold it, at a chosen message.
type pgProxy struct {
	t        testing.TB
	listener net.Listener

	mu     sync.Mutex
	target string
	seen   []frame // from the program, after the start-up message
	front  func(frame) verdict
	back   func(frame) verdict
	alter  func(f frame, isFront bool) []byte // what goes on in place of a body; nil = as it is
	conns  map[*link]bool
	closed bool
	wg     sync.WaitGroup
}

// frame is one message: its type byte and its body, and the connection that it travels on.
type frame struct {
	kind byte
	body []byte
	conn *link
}

// sql is the text of a Parse or Query message, "" of any other.
func (f frame) sql() string {
	switch f.kind {
	case 'Q':
		return string(bytes.TrimSuffix(f.body, []byte{0}))
	case 'P':
		if parts := bytes.SplitN(f.body, []byte{0}, 3); len(parts) == 3 {
			return string(parts[1])
		}
	}
	return ""
}

// tag is the command tag of a CommandComplete message.
func (f frame) tag() string {
	if f.kind != 'C' {
		return ""
	}
	return string(bytes.TrimSuffix(f.body, []byte{0}))
}

type verdict int

const (
	pass verdict = iota
	hold         // nothing goes this way any more on this connection, and it stays open
	cut          // both sides are closed, this message is lost
)

// link is one connection of the program with its connection to Postgres.
type link struct {
	client, server net.Conn
	once           sync.Once
}

func (l *link) close() {
	l.once.Do(func() {
		for _, c := range []net.Conn{l.client, l.server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, as a crash of the network does it
			}
			_ = c.Close()
		}
	})
}

// newProxy listens in front of the database's server. It is closed when the test ends, behind the
// servers that were started after it.
func newProxy(t testing.TB, db *pgtemp.DB) *pgProxy {
	t.Helper()
	u, err := url.Parse(db.Super)
	require.NoError(t, err)
	p := &pgProxy{t: t, target: u.Host, conns: map[*link]bool{}}
	p.listen("127.0.0.1:0")
	t.Cleanup(p.stop)
	return p
}

func (p *pgProxy) listen(address string) {
	p.t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(p.t, err)
	p.mu.Lock()
	p.listener, p.closed = l, false
	p.mu.Unlock()
	p.wg.Go(func() { p.accept(l) })
}

// through is a connection string by way of the proxy.
func (p *pgProxy) through(raw string) string {
	p.t.Helper()
	u, err := url.Parse(raw)
	require.NoError(p.t, err)
	u.Host = p.listener.Addr().String()
	return u.String()
}

// stop closes everything and waits for it.
func (p *pgProxy) stop() {
	p.mu.Lock()
	p.closed = true
	l := p.listener
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	_ = l.Close()
	p.wg.Wait()
}

// cutAll closes every connection that is open now.
func (p *pgProxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// on sets what happens at messages from the program and from the server from now on.
func (p *pgProxy) on(front, back func(frame) verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.front, p.back = front, back
}

// frames are the messages of the program so far.
func (p *pgProxy) frames() []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]frame(nil), p.seen...)
}

func (p *pgProxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &link{client: client, server: server}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			c.close()
			return
		}
		p.conns[c] = true
		p.mu.Unlock()
		p.wg.Go(func() { p.serve(c) })
	}
}

func (p *pgProxy) serve(c *link) {
	var both sync.WaitGroup
	if !p.startup(c) {
		c.close()
	} else {
		both.Go(func() { p.pump(c, c.client, c.server, true) })
		both.Go(func() { p.pump(c, c.server, c.client, false) })
		both.Wait()
	}
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

const (
	sslRequest = 80877103
	gssRequest = 80877104
)

// startup forwards the first message, which has no type byte. Encryption is declined.
func (p *pgProxy) startup(c *link) bool {
	for {
		var head [8]byte
		if _, err := io.ReadFull(c.client, head[:]); err != nil {
			return false
		}
		size := binary.BigEndian.Uint32(head[:4])
		if size < 8 || size > 1<<20 {
			return false
		}
		rest := make([]byte, size-8)
		if _, err := io.ReadFull(c.client, rest); err != nil {
			return false
		}
		switch binary.BigEndian.Uint32(head[4:]) {
		case sslRequest, gssRequest:
			if _, err := c.client.Write([]byte{'N'}); err != nil {
				return false
			}
			continue
		}
		_, err := c.server.Write(append(head[:], rest...))
		return err == nil
	}
}

// pump forwards one direction, message by message. When its source ends, both sides end.
func (p *pgProxy) pump(c *link, from, to net.Conn, isFront bool) {
	defer c.close()
	held := false
	for {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint32(head[1:]))
		if size < 4 {
			return
		}
		body := make([]byte, size-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		f := frame{kind: head[0], body: body, conn: c}
		p.mu.Lock()
		hook, alter := p.back, p.alter
		if isFront {
			hook = p.front
			p.seen = append(p.seen, f)
		}
		p.mu.Unlock()
		if alter != nil {
			if other := alter(f, isFront); other != nil {
				body = other
				binary.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
			}
		}
		if hook != nil && !held {
			switch hook(f) {
			case cut:
				return
			case hold:
				held = true
			case pass:
			}
		}
		if held {
			continue
		}
		if _, err := to.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

// noSimpleProtocol is the hook of S02: not one Query message, and no function call, went out on a
// connection after its start. By the simple protocol one message runs many statements.
func (p *pgProxy) noSimpleProtocol() {
	p.t.Helper()
	parses := 0
	for _, f := range p.frames() {
		switch f.kind {
		case 'Q', 'F':
			p.t.Errorf("a message of the simple protocol went out (S02): %q", f.body)
		case 'P':
			parses++
		}
	}
	require.Positive(p.t, parses, "the proxy saw nothing")
}

// proxied makes a server's options lead through the proxy.
func (p *pgProxy) proxied(db *pgtemp.DB, o options) options {
	o.readonly, o.writer = p.through(db.Readonly), p.through(db.Writer)
	return o
}

// carries tells whether a frame's statement begins with the given words.
func carries(f frame, words string) bool { return strings.HasPrefix(strings.TrimSpace(f.sql()), words) }
