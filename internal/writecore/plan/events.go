package plan

// EventKind says what happened to a plan.
type EventKind string

// The kinds. Resync means that events were lost, because the subscriber was slow: it must read the
// store again.
const (
	Added            EventKind = "added"
	Joined           EventKind = "joined"
	EventApproved    EventKind = "approved"
	EventRejected    EventKind = "rejected"
	EventExecuting   EventKind = "executing"
	EventExecuted    EventKind = "executed"
	EventStopped     EventKind = "stopped"
	EventExpired     EventKind = "expired"
	EventSuperseded  EventKind = "superseded"
	EventUnknown     EventKind = "unknown"
	Released         EventKind = "released" // an execution failed; the plan is as it was before
	Resync           EventKind = "resync"
	subscriberBuffer           = 64
)

// Event is one change, with the plan as it is behind it. Resync carries no plan.
type Event struct {
	Kind EventKind
	Plan Plan
}

// Subscribe delivers every later change, in order. The store never waits for a subscriber: one that
// does not keep up loses events and then finds a Resync. The channel is closed by cancel (which may
// be called more than once) and by Close.
func (s *Store) Subscribe() (events <-chan Event, cancel func()) {
	// One place more than events may fill: it is kept for a Resync. Every event that is dropped
	// therefore has a Resync behind it that is still unread.
	ch := make(chan Event, subscriberBuffer+1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(ch)
		return ch, func() {}
	}
	s.subscribers[ch] = struct{}{}
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, ok := s.subscribers[ch]; ok {
			delete(s.subscribers, ch)
			close(ch)
		}
	}
}

// publish runs under the lock: one sender, so a look at len decides.
func (s *Store) publish(kind EventKind, p *Plan) {
	for ch := range s.subscribers {
		switch len(ch) {
		case subscriberBuffer + 1:
		case subscriberBuffer:
			ch <- Event{Kind: Resync}
		default:
			ch <- Event{Kind: kind, Plan: snapshot(p)}
		}
	}
}
