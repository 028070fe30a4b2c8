package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Session is one pinned connection. It is not safe for concurrent use. Every Session ends with
// one Release.
type Session struct {
	pool      *Pool
	conn      *pgxpool.Conn
	pc        *pgconn.PgConn
	collector *collector
	facts     serverFacts
	discard   bool
}

// serverFacts is what the checks of a new connection learned.
type serverFacts struct {
	version int
	role    string
	pooled  bool // the backend is not the one that was announced
}

// ServerVersion is the server's server_version_num, e.g. 150018.
func (s *Session) ServerVersion() int { return s.facts.version }

// ServerEncoding is the encoding of the database, e.g. "UTF8". Text that it lacks cannot be stored.
func (s *Session) ServerEncoding() string { return s.pc.ParameterStatus("server_encoding") }

// Role is the role the session acts as (current_user at connect).
func (s *Session) Role() string { return s.facts.role }

// Discard makes Release destroy the connection whatever its state is. Callers use it when agent
// text did something that a ROLLBACK may not undo.
func (s *Session) Discard() { s.discard = true }

// Release gives the connection back. It is destroyed instead when it is not idle, when it was
// discarded, or when it no longer lexes as the parser does; the server then rolls back whatever was
// open. Calling it twice is harmless. See TestReleaseDestroysWhatIsNotIdle.
func (s *Session) Release() {
	if s.conn == nil {
		return
	}
	conn := s.conn
	s.conn = nil
	if s.pc.IsClosed() {
		s.pool.suspect()
	}
	if s.discard || s.pc.TxStatus() != 'I' || lexing(s.pc) != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Conn().Close(ctx) // the pool destroys what is closed
	}
	conn.Release()
}
