//go:build unix

package postgres

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAliveDoesNotWaitBehindARead: a read that waits on the socket must not hold up the look at it.
func TestAliveDoesNotWaitBehindARead(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := listener.Accept(); err == nil {
			accepted <- c
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	far := <-accepted
	defer far.Close()
	go func() { _, _ = conn.Read(make([]byte, 1)) }() // waits until the end of the test

	look := func() (pending, known bool) {
		type answer struct{ pending, known bool }
		done := make(chan answer, 1)
		go func() {
			p, k := readable(conn)
			done <- answer{p, k}
		}()
		select {
		case a := <-done:
			return a.pending, a.known
		case <-time.After(5 * time.Second):
			t.Fatal("readable waits behind the read")
			return false, false
		}
	}
	for range 100 {
		pending, known := look()
		require.True(t, known)
		require.False(t, pending)
	}
	require.NoError(t, far.Close())
	require.Eventually(t, func() bool { pending, _ := look(); return pending }, 5*time.Second, time.Millisecond)
}
