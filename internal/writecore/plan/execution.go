package plan

import "time"

// Execution is the right to run one plan once. Exactly one of Confirm, Fail, Stop and Unknown ends
// it; what is called after that does nothing.
type Execution struct {
	store *Store
	entry *entry
	plan  Plan
	over  bool // under the store's lock
}

// Begin passes every gate again and takes the plan, in one step: of any number of calls one gets
// the Execution. A plan that still waits for a person is AWAITING_APPROVAL here. Errors are
// refusals, ErrClosed or ErrJournal. See TestS09ATokenWorksOnce.
func (s *Store) Begin(token Token, given Echo) (*Execution, error) {
	prepared := given.prepare()
	s.mu.Lock()
	defer s.unlock()
	now := s.refresh()
	if s.closed {
		return nil, ErrClosed
	}
	e, ok := s.live[token]
	if !ok {
		p, known := s.ended.get(token)
		return nil, gate(&p, known, now, prepared)
	}
	if err := gate(&e.plan, true, now, prepared); err != nil {
		return nil, err
	}
	e.before, e.mark = e.plan.State, Mark{}
	if err := s.advance(e, Executing, EventExecuting, nil); err != nil {
		return nil, err
	}
	return &Execution{store: s, entry: e, plan: snapshot(&e.plan)}, nil
}

// Plan is the plan as it was taken, with everything in it.
func (x *Execution) Plan() Plan { return snapshot(&x.plan) }

// Committing notes, on disk where there is a journal, that COMMIT is about to be sent and what a later
// look-up needs. On an error it must not be sent.
func (x *Execution) Committing(m Mark) error {
	s := x.store
	s.mu.Lock()
	defer s.unlock()
	if x.over {
		return ErrClosed
	}
	x.entry.mark = m
	return s.write(recordOf(x.entry, &x.entry.plan, s.o.Now()))
}

// MarkOf is what was noted last about the COMMIT of a plan whose outcome is unknown.
func (s *Store) MarkOf(token Token) (m Mark, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live[token]
	if !ok || e.plan.State != Unknown {
		return Mark{}, false
	}
	return e.mark, true
}

// Confirm says that the change is committed. at is when, rows how many rows it changed.
func (x *Execution) Confirm(rows int64, at time.Time) {
	x.end(func(e *entry) { x.store.confirm(e, rows, at) })
}

// Fail says that the change was certainly not made and may be tried again: the plan goes back to
// what it was, or is expired if its time ran out meanwhile.
func (x *Execution) Fail() { x.end(x.store.release) }

// Stop says that the change was certainly not made and never will be by this plan, with the code
// and message that every later call is to get.
func (x *Execution) Stop(code, message string) {
	x.end(func(e *entry) {
		e.plan.StopCode, e.plan.StopMessage = code, message
		x.store.move(e, Stopped, EventStopped)
	})
}

// Unknown says that COMMIT was sent and nobody knows what became of it. The plan stays, not
// executable, until Settle.
func (x *Execution) Unknown(message string) {
	x.end(func(e *entry) {
		e.plan.StopMessage = message
		x.store.move(e, Unknown, EventUnknown)
	})
}

func (x *Execution) end(how func(*entry)) {
	x.store.mu.Lock()
	defer x.store.unlock()
	if x.over {
		return
	}
	x.over = true
	how(x.entry)
}

// Settle tells what the ledger said about a plan whose outcome was unknown: executed, with how many
// rows and when, or certainly not, and then the plan is as it was before (or expired). For a plan
// in any other state it does nothing.
func (s *Store) Settle(token Token, executed bool, rows int64, at time.Time) {
	s.mu.Lock()
	defer s.unlock()
	s.refresh()
	e, ok := s.live[token]
	switch {
	case !ok || e.plan.State != Unknown:
	case executed:
		s.confirm(e, rows, at)
	default:
		e.plan.StopMessage = ""
		s.release(e)
	}
}

func (s *Store) confirm(e *entry, rows int64, at time.Time) {
	e.plan.ExecutedRows, e.plan.ExecutedAt, e.plan.StopMessage = rows, at, ""
	s.move(e, Executed, EventExecuted)
}

func (s *Store) release(e *entry) {
	if due(&e.plan, s.o.Now()) {
		s.expire(e)
		return
	}
	s.move(e, e.before, Released)
}
