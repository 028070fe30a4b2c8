package plan

import (
	"context"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Await passes every gate of the contract for an execute. All but the last answer at once; a plan
// that waits for a person is waited for, on a channel, until it is decided about, replaced or
// expired. nil means that Begin may be tried. When ctx ends first the plan stays as it is and the
// error is ctx.Err(): also when the approval came in the same moment, since a caller that left must
// not commit.
func (s *Store) Await(ctx context.Context, token Token, given Echo) error {
	e := given.prepare()
	for {
		changed, err := s.tryGates(token, e)
		if err == nil {
			return ctx.Err()
		}
		if !refusal.Is(err, refusal.AwaitingApproval) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// tryGates also returns the channel that closes at the plan's next change of state.
func (s *Store) tryGates(token Token, given *echo) (changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.unlock()
	now := s.refresh()
	if s.closed {
		return nil, ErrClosed
	}
	if live, ok := s.live[token]; ok {
		return live.changed, gate(&live.plan, true, now, given)
	}
	p, ok := s.ended.get(token)
	return nil, gate(&p, ok, now, given)
}
