package writecore

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

//go:embed sql/blockers.sql
var blockersSQL string

// blockersTimeout bounds one look: a pool without a free connection, or a server that is busy, must not
// hold the answer up.
const blockersTimeout = time.Second

// watch looks, over another connection, who blocks the backend pid for as long as it is at work, and
// gives what the last look found that found anything. Who blocks can only be seen while somebody waits:
// once the lock timeout has struck it is too late. The first look is after half the lock timeout, and the
// next ones as long after each other, so that every wait that times out is met at least once and a
// statement that waits for nobody costs a timer.
//
// One look at a time for the whole core, however many wait: a look takes a connection from those who work.
func (w *TwoPhaseWrite) watch(ctx context.Context, pid uint32, lock time.Duration) (stop func() []blocker) {
	if pid == 0 {
		return func() []blocker { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var (
		found []blocker
		done  sync.WaitGroup
	)
	done.Go(func() {
		t := time.NewTicker(max(lock/2, time.Millisecond))
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			if b := w.blockers(ctx, pid); len(b) > 0 {
				found = b
			}
		}
	})
	return func() []blocker {
		cancel()
		done.Wait()
		return found
	}
}

// blocker is one session in the way. Its times are "" where this role may not see them.
type blocker struct{ pid, open, query string }

func (w *TwoPhaseWrite) blockers(ctx context.Context, pid uint32) []blocker {
	select {
	case w.looking <- struct{}{}:
		defer func() { <-w.looking }()
	default:
		return nil // somebody looks already: the next tick is soon enough
	}
	ctx, cancel := context.WithTimeout(ctx, blockersTimeout)
	defer cancel()
	s, err := w.o.Acquire(ctx)
	if err != nil {
		return nil // the refusal goes without
	}
	defer s.Release()
	replies, err := s.Flush(ctx, wire.Segment{{SQL: blockersSQL, Params: [][]byte{strconv.AppendUint(nil, uint64(pid), 10)}}})
	if err != nil || replies[0].Err != nil || len(replies[0].Results) == 0 {
		return nil
	}
	r := replies[0].Results[0]
	out := make([]blocker, len(r.Rows))
	for i := range r.Rows {
		out[i] = blocker{cell(r, i, 0), cell(r, i, 1), cell(r, i, 2)}
	}
	return out
}

// String says who it is, without the text of what it runs.
func (b blocker) String() string {
	switch {
	case b.pid == "0":
		return "a prepared transaction"
	case b.open == "" && b.query == "":
		return "pid " + b.pid + " (since when, this role may not see)"
	case b.open == "":
		return "pid " + b.pid + " (its last statement began " + b.query + " s ago)"
	}
	return "pid " + b.pid + " (its transaction has been open for " + b.open + " s, its last statement began " + b.query + " s ago)"
}

// whoBlocks is the part of a sentence that names them, "" when nobody was seen.
func whoBlocks(list []blocker) string {
	if len(list) == 0 {
		return ""
	}
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.String()
	}
	return ": " + strings.Join(names, "; ")
}
