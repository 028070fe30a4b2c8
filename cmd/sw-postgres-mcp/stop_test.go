package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUntilStopped(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	never := func() bool { return false }
	t.Run("work that ends by itself", func(t *testing.T) {
		t.Parallel()
		err, late := untilStopped(t.Context(), nil, never, func() error { return boom })
		require.Equal(t, boom, err)
		require.False(t, late)
	})
	t.Run("work that ends in time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan struct{})
			close(ended)
			start := time.Now()
			err, late := untilStopped(context.Background(), ended, never, func() error { time.Sleep(time.Second); return boom })
			require.Equal(t, boom, err)
			require.False(t, late)
			require.Equal(t, time.Second, time.Since(start))
		})
	})
	// S17: the process ends within two seconds, whatever a handler does …
	t.Run("work that does not end", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			release := make(chan struct{})
			defer close(release)
			start := time.Now()
			_, late := untilStopped(ctx, nil, never, func() error { <-release; return nil })
			require.True(t, late)
			require.Less(t, time.Since(start), 2*time.Second)
		})
	})
	// … but a commit in flight is waited for …
	t.Run("a commit in flight", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan struct{})
			close(ended)
			var committing atomic.Bool
			committing.Store(true)
			start := time.Now()
			_, late := untilStopped(context.Background(), ended, committing.Load, func() error {
				time.Sleep(10 * time.Second)
				committing.Store(false)
				return nil
			})
			require.False(t, late)
			require.Equal(t, 10*time.Second, time.Since(start))
		})
	})
	// … and not for ever.
	t.Run("a commit that never ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ended, release := make(chan struct{}), make(chan struct{})
			close(ended)
			defer close(release)
			start := time.Now()
			_, late := untilStopped(context.Background(), ended, func() bool { return true }, func() error { <-release; return nil })
			require.True(t, late)
			require.Equal(t, commitWithin, time.Since(start))
		})
	})
}

func TestClientTellsWhenItIsGone(t *testing.T) {
	t.Parallel()
	open := func(c *client) bool {
		select {
		case <-c.ended:
			return false
		default:
			return true
		}
	}
	c := newClient(strings.NewReader("x"), io.Discard)
	_, _ = c.Read(make([]byte, 1))
	_, _ = c.Write([]byte("y"))
	require.True(t, open(c))
	_, err := c.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.False(t, open(c))
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	c = newClient(r, w)
	_, err = c.Write([]byte("y"))
	require.Error(t, err)
	_, _ = c.Write([]byte("y")) // twice closes once
	require.False(t, open(c))
}
