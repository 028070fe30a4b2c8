package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// The driver reads in the background when a write is slow, and that read may still be pending when
// the connection is idle again. Looking at the socket must not wait for it.
func TestAcquireBesideABackgroundReader(t *testing.T) {
	t.Parallel()
	pg := pgtemp.New(t)
	db, err := Open(t.Context(), Options{ReadonlyURL: pg.Readonly, WriterURL: pg.Writer})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	s, err := db.Readonly().Acquire(t.Context())
	require.NoError(t, err)
	require.True(t, alive(s.pc))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var b [1]byte
		_, _ = s.pc.Conn().Read(b[:]) // as the driver's bgreader does
	}()
	time.Sleep(20 * time.Millisecond) // there is no event for "blocked in a read"
	looked := make(chan bool, 1)
	go func() { looked <- alive(s.pc) }()
	select {
	case ok := <-looked:
		require.True(t, ok)
	case <-time.After(2 * time.Second):
		t.Error("looking at the socket waits for the background reader")
	}
	require.NoError(t, s.pc.Conn().SetReadDeadline(time.Now()))
	<-ended
	require.NoError(t, s.pc.Conn().SetReadDeadline(time.Time{}))
	s.Release()
}
