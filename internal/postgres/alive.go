package postgres

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

const (
	// quietAfter is how long a connection is idle before its other end is asked whether it is there.
	quietAfter = 15 * time.Second
	// answerWithin is how long it may take for the answer.
	answerWithin = 2 * time.Second
)

// idleKey is where a connection's CustomData holds how long it was idle when it was taken.
const idleKey = "sw-idle"

// usable tells whether an idle connection may be used. One that was idle for long is also asked: where the
// network went away without a goodbye (a laptop that slept, a firewall that forgot), nothing on the socket tells.
// See TestFaultHalfOpen.
func (p *Pool) usable(pc *pgconn.PgConn) bool {
	if !alive(pc) || lexing(pc) != nil {
		return false
	}
	if idle, ok := pc.CustomData()[idleKey].(time.Duration); !ok || idle < p.quiet {
		return true
	}
	if answers(pc) {
		return true
	}
	p.suspect()
	return false
}

// suspect gives up every connection that is idle now: what took one of them away without our doing has
// often taken all. The next calls make new ones.
func (p *Pool) suspect() { p.pool.Reset() }

// answers sends a Sync and nothing else: a round trip without a statement. The connection is closed
// where no answer comes.
func answers(pc *pgconn.PgConn) bool {
	conn := pc.Conn()
	// Not by a context: its end would ask the server to cancel, and that is another wait.
	if conn.SetDeadline(time.Now().Add(answerWithin)) != nil {
		return false
	}
	s := &Session{pc: pc, collector: &collector{}}
	replies, err := s.Flush(context.Background(), wire.Segment{})
	return err == nil && replies[0].TxStatus == 'I' && conn.SetDeadline(time.Time{}) == nil
}

// alive looks at an idle connection without a round trip. An idle socket has nothing to read; if
// it has, that is a goodbye (EOF, or FATAL 57P01 and its like), or a changed setting, which the
// driver then takes in. See TestAcquireSkipsKilledConnections.
func alive(pc *pgconn.PgConn) bool {
	if pc.IsClosed() || pc.IsBusy() {
		return false
	}
	pending, known := readable(pc.Conn())
	if known && !pending {
		return true
	}
	return drain(pc)
}

// drain reads what has arrived. The driver's CheckConn cannot be used: its deadline would start
// the cancel handler. A passed read deadline is an error that does not close the connection.
func drain(pc *pgconn.PgConn) bool {
	conn := pc.Conn()
	for range 100 {
		if conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
			return false
		}
		_, err := pc.ReceiveMessage(context.Background())
		if err == nil {
			continue
		}
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		return conn.SetReadDeadline(time.Time{}) == nil && !pc.IsClosed()
	}
	return false
}
