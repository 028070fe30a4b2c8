package main

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// stopWithin is how long an orderly end may take. The contract says two seconds for the process.
	stopWithin = 1800 * time.Millisecond
	// commitWithin bounds a commit that was on its way when the end came; the core gives it 30 s.
	commitWithin = 35 * time.Second
	// afterCommit is what the rest of the end may take behind such a commit.
	afterCommit = time.Second
)

// client is the two streams of the client. It tells when one of them failed: then the client is
// gone, whatever still runs.
type client struct {
	in    io.Reader
	out   io.Writer
	once  sync.Once
	ended chan struct{}
}

func newClient(in io.Reader, out io.Writer) *client {
	return &client{in: in, out: out, ended: make(chan struct{})}
}

// Read implements io.Reader.
func (c *client) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.note(err)
	return n, err
}

// Write implements io.Writer.
func (c *client) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	c.note(err)
	return n, err
}

func (c *client) note(err error) {
	if err != nil {
		c.once.Do(func() { close(c.ended) })
	}
}

// untilStopped runs work and returns its error. Once ended is closed or ctx is done, work has
// stopWithin to come to its end; after that only a commit in flight is waited for. late is true
// when work was left behind: the process must end.
func untilStopped(ctx context.Context, ended <-chan struct{}, committing func() bool, work func() error) (err error, late bool) { //nolint:revive // the error is what work says, late is ours
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err, false
	case <-ended:
	case <-ctx.Done():
	}
	grace, limit := time.NewTimer(stopWithin), time.NewTimer(commitWithin)
	defer grace.Stop()
	defer limit.Stop()
	select {
	case err := <-done:
		return err, false
	case <-grace.C:
	}
	if !committing() {
		return nil, true
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for committing() {
		select {
		case err := <-done:
			return err, false
		case <-limit.C:
			return nil, true
		case <-poll.C:
		}
	}
	// The commit is through; its answer and the closing of the pools still want a moment.
	select {
	case err := <-done:
		return err, false
	case <-time.After(afterCommit):
		return nil, true
	}
}
