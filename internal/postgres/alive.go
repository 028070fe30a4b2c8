package postgres

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

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
