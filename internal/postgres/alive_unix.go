//go:build unix

package postgres

import (
	"errors"
	"net"
	"syscall"
)

// readable tells whether bytes or an end of file wait on the socket; known is false where that
// cannot be told.
func readable(conn net.Conn) (pending, known bool) {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok { // *tls.Conn
		conn = wrapped.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false, false
	}
	var n int
	var peekErr error
	// Control, not Read: the driver may have left a read of its own waiting in the background (it does
	// where a write took long), and Read would queue behind that one without end.
	// See TestAcquireBesideABackgroundReader.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, peekErr = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	if err != nil {
		return false, false
	}
	if n < 0 && (errors.Is(peekErr, syscall.EAGAIN) || errors.Is(peekErr, syscall.EINTR)) {
		return false, true
	}
	return true, true
}
