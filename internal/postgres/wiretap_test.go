package postgres_test

import (
	"encoding/binary"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// wiretap stands between the pools and Postgres and reads what the client sends (PostgreSQL manual,
// 55.7). It is the hook of S02: it fails the test if a simple Query message ever passes.
type wiretap struct {
	mu      sync.Mutex
	simple  []string // texts of simple Query messages
	parsed  []string // texts of Parse messages
	trips   int      // times the client sent something after the server had answered
	answers bool
	conns   []net.Conn
	muted   map[net.Conn]bool
}

// tap reroutes a connection string through a wiretap.
func tap(t *testing.T, target string) (*wiretap, string) {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wiretap{answers: true}
	real := u.Host
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", real)
			if err != nil {
				_ = client.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, client, server)
			w.mu.Unlock()
			go w.fromClient(client, server)
			go w.fromServer(client, server)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Empty(t, w.simple, "simple Query messages on the wire")
	})
	u.Host = l.Addr().String()
	return w, u.String()
}

func (w *wiretap) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
}

// mute loses from now on what the server says on the connections that exist, without a goodbye.
func (w *wiretap) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = map[net.Conn]bool{}
	for _, c := range w.conns {
		w.muted[c] = true
	}
}

func (w *wiretap) fromServer(client, server net.Conn) {
	defer client.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := server.Read(buf)
		if n > 0 {
			w.mu.Lock()
			w.answers = true
			muted := w.muted[server]
			w.mu.Unlock()
			if muted {
				continue
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wiretap) fromClient(client, server net.Conn) {
	defer server.Close()
	buf := make([]byte, 1<<20)
	var pending []byte
	started := false
	for {
		n, err := client.Read(buf)
		if n > 0 {
			pending = append(pending, buf[:n]...)
			w.mu.Lock()
			if w.answers {
				w.trips++
				w.answers = false
			}
			w.mu.Unlock()
			for {
				head := 5
				if !started {
					head = 4
				}
				if len(pending) < head {
					break
				}
				length := int(binary.BigEndian.Uint32(pending[head-4:])) + head - 4
				if len(pending) < length {
					break
				}
				if started {
					w.note(pending[0], pending[5:length])
				} else if length != 8 { // not SSLRequest
					started = true
				}
				pending = pending[length:]
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wiretap) note(kind byte, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch kind {
	case 'Q':
		w.simple = append(w.simple, strings.TrimRight(string(body), "\x00"))
	case 'P':
		parts := strings.SplitN(string(body), "\x00", 3)
		w.parsed = append(w.parsed, parts[1])
	}
}

// count runs f and tells how many round trips it made.
func (w *wiretap) count(f func()) int {
	w.mu.Lock()
	before := w.trips
	w.mu.Unlock()
	f()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trips - before
}

func (w *wiretap) sent(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parsed {
		if strings.Contains(p, text) {
			return true
		}
	}
	return false
}

func tapped(t *testing.T) (*bundle, *wiretap, *wiretap) {
	t.Helper()
	var r, w *wiretap
	b := setup(t, func(_ *pgtemp.DB, o *postgres.Options) {
		r, o.ReadonlyURL = tap(t, o.ReadonlyURL)
		w, o.WriterURL = tap(t, o.WriterURL)
	})
	return b, r, w
}

// A query whose names are known to the catalog costs one round trip; a look-up costs one more, and
// an array among the parameters one.
func TestQueryIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	b, r, _ := tapped(t)
	b.PG.Exec(t, "CREATE TABLE rt (id int PRIMARY KEY, tags text[]); INSERT INTO rt VALUES (1, '{a}'); GRANT SELECT ON rt TO readonly")
	mustQuery(t, b, "SELECT id FROM rt WHERE id = $1", "1")
	require.Equal(t, 1, r.count(func() { mustQuery(t, b, "SELECT id FROM rt WHERE id = $1", "1") }))
	require.Equal(t, 1, r.count(func() { mustQuery(t, b, "SELECT id FROM rt WHERE id = $1 LIMIT 1", "1") }))
	mustQuery(t, b, "SELECT id FROM rt WHERE tags @> $1", `["a"]`)
	require.Equal(t, 2, r.count(func() { mustQuery(t, b, "SELECT id FROM rt WHERE tags @> $1", `["a"]`) }))
	b.PG.Exec(t, "CREATE TABLE rt2 (id int); GRANT SELECT ON rt2 TO readonly")
	require.Equal(t, 2, r.count(func() { mustQuery(t, b, "SELECT id FROM rt2 WHERE id = $1", "1") }))
	st := guarded(t, b.Readonly(), "SELECT nope FROM rt")
	require.Equal(t, 1, r.count(func() {
		_, err := b.Readonly().Query(t.Context(), st, postgres.QueryLimits{})
		require.True(t, refusal.Is(err, refusal.QueryFailed))
	}))
}

func TestWritesAreOneAndTwoRoundTrips(t *testing.T) {
	t.Parallel()
	b, _, w := tapped(t)
	s := acquire(t, b.Writer())
	require.Equal(t, 1, w.count(func() {
		_, err := s.Flush(t.Context(), seg("BEGIN", "SELECT 1", "SELECT 2"), seg("ROLLBACK"))
		require.NoError(t, err)
	}))
	require.Equal(t, 2, w.count(func() {
		_, err := s.Flush(t.Context(), seg("BEGIN", "SELECT 1"))
		require.NoError(t, err)
		_, err = s.Flush(t.Context(), seg("SAVEPOINT a", "SELECT 1", "COMMIT"))
		require.NoError(t, err)
	}))
	s.Release()
	require.Zero(t, w.count(func() { acquire(t, b.Writer()).Release() }), "taking an idle connection is free")
}

// TestS02NothingBySimpleProtocol runs every way agent text can take through this package, with texts
// that would commit by the simple protocol. The wiretap fails the test if one goes out that way.
func TestS02NothingBySimpleProtocol(t *testing.T) {
	t.Parallel()
	b, r, w := tapped(t)
	b.PG.Exec(t, "CREATE TABLE s02 (id int); GRANT SELECT, INSERT ON s02 TO writer; GRANT SELECT ON s02 TO readonly")
	for _, text := range []string{
		"INSERT INTO s02 VALUES (1); COMMIT",
		"SELECT 1; INSERT INTO s02 VALUES (1); COMMIT; --",
		"/**/ SELECT 1; CREATE TABLE s02b ()",
		"COMMIT; INSERT INTO s02 VALUES (1)",
		"-- c\nSELECT 1; COMMIT",
		"\ufeffSELECT 1; COMMIT",
	} {
		s := acquire(t, b.Writer())
		replies, err := s.Flush(t.Context(), wire.Segment{{SQL: "BEGIN"}, {SQL: text}}, seg("ROLLBACK"))
		require.NoError(t, err)
		require.NotNil(t, replies[0].Err, text)
		require.Equal(t, "42601", replies[0].Err.SQLState, text)
		require.Equal(t, byte('E'), replies[0].TxStatus)

		_, err = s.EncodeParams(t.Context(), text, raws("[1]"))
		var refused *wire.ServerError
		require.ErrorAs(t, err, &refused, text)
		require.Equal(t, "42601", refused.SQLState)
		s.Release()
	}
	require.True(t, w.sent("INSERT INTO s02 VALUES (1); COMMIT"), "the wiretap sees what is sent")

	// A NUL would end the text early on the wire; nothing is sent.
	s := acquire(t, b.Writer())
	for _, text := range []string{"SELECT 1\x00; COMMIT", "SELECT '\xff'"} {
		_, err := s.Flush(t.Context(), wire.Segment{{SQL: text}})
		require.True(t, refusal.Is(err, refusal.InvalidInput), "%v", err)
		_, err = s.EncodeParams(t.Context(), text, raws("[1]"))
		require.True(t, refusal.Is(err, refusal.InvalidInput), "%v", err)
	}
	_, err := s.Flush(t.Context(), wire.Segment{{SQL: "SELECT 1", Params: make([][]byte, 65536)}})
	require.True(t, refusal.Is(err, refusal.InvalidInput), "%v", err)
	replies, err := s.Flush(t.Context(), seg("SELECT 1"))
	require.NoError(t, err, "and the connection lives")
	require.Nil(t, replies[0].Err)
	require.False(t, w.sent("SELECT 1\x00"))

	mustQuery(t, b, "SELECT id FROM s02 WHERE id = any($1)", "[1]")
	_, err = b.Readonly().Explain(t.Context(), guarded(t, b.Readonly(), "SELECT id FROM s02"), 0, everything)
	require.NoError(t, err)
	_, err = b.Readonly().Describe(t.Context(), postgres.DescribeRequest{Full: true, MayRead: everything, MayWrite: everything})
	require.NoError(t, err)
	require.True(t, r.sent("DECLARE sw_c"))
	require.Equal(t, "0", b.PG.Query(t, "SELECT count(*) FROM s02")[0][0])
}

func everything(string, string) bool { return true }
