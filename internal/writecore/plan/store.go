package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// ErrClosed is what a closed store answers; it is a fault, not a refusal.
var ErrClosed = errors.New("the plan store is closed")

// Options of a store. Durations and MaxOpen must be positive.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// PlanTTL is how long a plan lives that nobody has to decide about, and at least how long more
	// an approved one does. ApprovalTTL is how long a plan waits for a person.
	PlanTTL, ApprovalTTL time.Duration
	// MaxOpen bounds the plans that are previewed, awaiting approval or approved.
	MaxOpen int
	// OnExpired, if set, hears of every plan that expired, whole, once, outside all locks, and in a
	// goroutine of its own that Close waits for. With a journal that may be before NewStore returns.
	OnExpired func(Plan)
	// OnSuperseded, if set, hears of every plan that was replaced, whole, before the Create that
	// replaced it returns.
	OnSuperseded func(Plan)
	// Journal, if set, has every change of state on disk before anybody sees it, and gives the plans of
	// an earlier process back. Whoever opened it closes it, after the last execution.
	Journal *Journal
	// OnJournalError, if set, hears of every change that could not be written down although it happened
	// (an end of an execution, a rejection, an expiry), and once of a journal that cannot be made smaller.
	// Such a change is tried again with the next one; after a restart before that the ledger tells what was
	// executed, and nothing what was rejected.
	// It runs under the store's lock and must not call the store.
	OnJournalError func(error)
}

// Store holds the plans of one process. It is safe for concurrent use.
type Store struct {
	o Options

	mu          sync.Mutex
	live        map[Token]*entry // open, executing, outcome unknown
	ended       history
	subscribers map[chan Event]struct{}
	timer       *time.Timer // fires at the earliest expiry
	sequence    uint64
	closed      bool
	unwritten   []record  // facts that the journal lacks, oldest first
	owedAt      time.Time // when it was last tried to write them
	callbacks   sync.WaitGroup
}

// entry is one plan that has not ended.
type entry struct {
	plan     Plan
	before   State         // while executing or unknown: the state to go back to
	mark     Mark          // while executing or unknown: what a look-up of a lost COMMIT needs
	changed  chan struct{} // closed and replaced at every change of state
	sequence uint64
}

// NewStore makes a store that holds what its journal knows, else nothing. Close ends it.
func NewStore(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{o: o, live: make(map[Token]*entry), ended: newHistory(), subscribers: make(map[chan Event]struct{})}
	s.mu.Lock()
	defer s.unlock()
	s.restore()
	return s
}

// Close stops the timer, ends every wait with ErrClosed, closes the subscribers' channels and
// returns when no callback runs any more. An Execution under way can still be ended.
func (s *Store) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.owedAt = time.Time{}
		s.pay(s.o.Now())
		if s.timer != nil {
			s.timer.Stop()
		}
		for _, e := range s.live {
			close(e.changed)
			e.changed = make(chan struct{})
		}
		for ch := range s.subscribers {
			close(ch)
		}
		clear(s.subscribers)
	}
	s.mu.Unlock()
	s.callbacks.Wait()
}

// Create makes a plan of a preview, or joins the open plan that it repeats (contract, "Waiting"):
// the same statement and params over the same rows with the same blast radius is the same plan, and
// what a person was shown does not change. The same statement over other rows replaces the open
// plan. Errors: TOO_MANY_PLANS, INVALID_INPUT for a param that is not JSON, ErrClosed, ErrJournal.
func (s *Store) Create(p Preview, needsApproval bool) (made Plan, joined bool, err error) {
	fingerprint, err := FingerprintOf(p.Payload)
	if err != nil {
		return Plan{}, false, err
	}
	made, joined, replaced, err := s.create(p, fingerprint, needsApproval)
	if s.o.OnSuperseded != nil {
		for i := range replaced {
			s.o.OnSuperseded(replaced[i])
		}
	}
	return made, joined, err
}

func (s *Store) create(p Preview, fingerprint Fingerprint, needsApproval bool) (made Plan, joined bool, replaced []Plan, err error) {
	s.mu.Lock()
	defer s.unlock()
	now := s.refresh()
	if s.closed {
		return Plan{}, false, nil, ErrClosed
	}
	var others []*entry
	open := 0
	for _, e := range s.ordered() {
		if !e.open() {
			continue
		}
		if e.plan.Fingerprint != fingerprint {
			if !e.plan.Restored { // one that nobody sees takes nobody's place
				open++
			}
			continue
		}
		if repeats(&e.plan, &p, needsApproval) {
			if err := s.join(e, p, now); err != nil {
				return Plan{}, false, nil, err
			}
			return snapshot(&e.plan), true, nil, nil
		}
		others = append(others, e)
	}
	if open >= s.o.MaxOpen { // those of the same text make room
		return Plan{}, false, nil, s.tooMany()
	}

	state, lives := Previewed, s.o.PlanTTL
	if needsApproval {
		state, lives = AwaitingApproval, s.o.ApprovalTTL
	}
	s.sequence++
	e := &entry{sequence: s.sequence, changed: make(chan struct{})}
	e.plan = Plan{
		Token: NewToken(), State: state, Fingerprint: fingerprint, Preview: p,
		CreatedAt: now, ExpiresAt: now.Add(lives), PreviewCount: 1, Earlier: s.ended.earlier(fingerprint),
	}
	e.plan = snapshot(&e.plan) // the caller keeps its own slices
	records := []record{recordOf(e, &e.plan, now)}
	for _, o := range others {
		gone := o.plan
		gone.State, gone.SupersededBy = Superseded, e.plan.Token
		records = append(records, recordOf(o, &gone, now))
	}
	if err := s.write(records...); err != nil {
		return Plan{}, false, nil, err
	}
	for _, o := range others {
		o.plan.SupersededBy = e.plan.Token
		s.show(o, Superseded, EventSuperseded)
		replaced = append(replaced, snapshot(&o.plan))
	}
	s.live[e.plan.Token] = e
	s.publish(Added, &e.plan)
	return snapshot(&e.plan), false, replaced, nil
}

// repeats reports that p shows what the open plan shows, and that executing the open plan would find what it
// compares: joining a plan that can only end in ROWSET_CHANGED helps nobody. A plan that needs nobody must not be
// joined by a preview that needs a person, nor the other way round.
func repeats(open *Plan, p *Preview, needsApproval bool) bool {
	if (open.State == Previewed) == needsApproval && open.State != Approved {
		return false
	}
	return open.RowsDigest == p.RowsDigest && open.AffectedRows == p.AffectedRows &&
		open.BlastRadius.Difference(p.BlastRadius) == "" && sameFacts(open.Facts, p.Facts) &&
		DefinitionsDifference(open.Definitions, p.Definitions) == "" && DefinitionsDifference(p.Definitions, open.Definitions) == ""
}

// sameFacts leaves out what differs from run to run: times, sizes, notices.
func sameFacts(a, b *Facts) bool {
	if a == nil || b == nil {
		return a == b
	}
	sameLock := func(x, y Lock) bool { return x.Relation == y.Relation && x.Mode == y.Mode }
	return slices.EqualFunc(a.Locks, b.Locks, sameLock) && slices.Equal(a.Rewrites, b.Rewrites) && slices.Equal(a.Scans, b.Scans) &&
		slices.Equal(a.Drops, b.Drops) && slices.Equal(a.Lost, b.Lost) && slices.Equal(a.Unreadable, b.Unreadable) && maps.Equal(a.RowsLost, b.RowsLost)
}

// join: a fresh expiry (not for an approved plan: its time is the person's), one more preview, and
// another reason below the first. A plan of an earlier process gets back what was not written down.
func (s *Store) join(e *entry, p Preview, now time.Time) error {
	next := e.plan
	switch next.State {
	case Previewed:
		next.ExpiresAt = now.Add(s.o.PlanTTL)
	case AwaitingApproval:
		next.ExpiresAt = now.Add(s.o.ApprovalTTL)
	default:
	}
	if err := s.note(recordOf(e, &next, now)); err != nil {
		return err
	}
	next.PreviewCount++
	if next.Restored {
		next.Preview, next.Restored = p, false
		e.plan = snapshot(&next)
		s.publish(Added, &e.plan)
		return nil
	}
	reason := clip(p.Reason, maxReasonRunes)
	if reason != next.Reason && !slices.Contains(next.AskedAgain, reason) && len(next.AskedAgain) < maxAskedAgain {
		next.AskedAgain = append(next.AskedAgain, reason)
	}
	e.plan = next
	s.publish(Joined, &e.plan)
	return nil
}

func (s *Store) tooMany() error {
	var first time.Time
	for _, e := range s.live {
		if e.open() && (first.IsZero() || e.plan.ExpiresAt.Before(first)) {
			first = e.plan.ExpiresAt
		}
	}
	return refusal.New(refusal.TooManyPlans,
		fmt.Sprintf("%d plans are open, which is the limit (write.maxOpenPlans).", s.o.MaxOpen),
		fmt.Sprintf("Execute the plans that are ready, ask a person to decide about those that wait, or wait: the next one expires at %s.", stamp(first)))
}

// Get finds a plan. One that ended comes back without rows and params, later with its state only.
func (s *Store) Get(token Token) (Plan, bool) {
	s.mu.Lock()
	defer s.unlock()
	s.refresh()
	if e, ok := s.live[token]; ok {
		return snapshot(&e.plan), true
	}
	return s.ended.get(token)
}

// List holds the plans that have not ended: open, executing and those whose outcome is unknown,
// oldest first. Open plans of an earlier process are not among them until they are whole again: there
// is nothing to show of them, and nobody can decide about what he does not see.
func (s *Store) List() []Plan {
	s.mu.Lock()
	defer s.unlock()
	s.refresh()
	out := make([]Plan, 0, len(s.live))
	for _, e := range s.ordered() {
		if !e.plan.Restored || !e.open() {
			out = append(out, snapshot(&e.plan))
		}
	}
	return out
}

// Recent holds up to n of the plans that ended last, newest first, without rows and params.
func (s *Store) Recent(n int) []Plan {
	s.mu.Lock()
	defer s.unlock()
	s.refresh()
	out := []Plan{}
	for p := range s.ended.recent.newest() {
		if len(out) >= n {
			break
		}
		out = append(out, snapshot(p))
	}
	return out
}

func (e *entry) open() bool { return e.plan.State.open() }

func (s *Store) ordered() []*entry {
	out := make([]*entry, 0, len(s.live))
	for _, e := range s.live {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *entry) int { return cmp.Compare(a.sequence, b.sequence) })
	return out
}

// advance takes a plan to a state that must be on disk before anybody sees it; on an error nothing
// changed. also changes what else of the plan goes with it.
func (s *Store) advance(e *entry, to State, kind EventKind, also func(*Plan)) error {
	next := e.plan
	next.State = to
	if also != nil {
		also(&next)
	}
	if err := s.write(recordOf(e, &next, s.o.Now())); err != nil {
		return err
	}
	e.plan = next
	s.show(e, to, kind)
	return nil
}

// move takes a plan to a state that is a fact already, so that a journal that cannot be written does
// not hold it up. It is on disk first where that is possible at all, and owed where not: what is missing there,
// the ledger tells after a restart, but a rejection only the journal tells.
func (s *Store) move(e *entry, to State, kind EventKind) {
	e.plan.State = to
	put := s.write
	if to == Expired || kind == Released { // the clock tells the one, and the ledger that nothing was executed
		put = s.note
	}
	r := recordOf(e, &e.plan, s.o.Now())
	if err := put(r); err != nil {
		s.owe(r, err)
	}
	s.show(e, to, kind)
}

// show is the only place where a changed state becomes visible. Waiters wake, subscribers hear of it,
// and a plan that ended leaves the living.
func (s *Store) show(e *entry, to State, kind EventKind) {
	e.plan.State = to
	close(e.changed)
	e.changed = make(chan struct{})
	if to.ended() {
		delete(s.live, e.plan.Token)
		s.ended.bury(&e.plan)
	}
	s.publish(kind, &e.plan)
}

// refresh runs first under every lock: it expires what is due and returns the time that the rest
// of the call works with.
func (s *Store) refresh() time.Time {
	now := s.o.Now()
	s.pay(now)
	for _, e := range s.ordered() {
		if e.open() && due(&e.plan, now) {
			s.expire(e)
		}
	}
	return now
}

func (s *Store) expire(e *entry) {
	s.move(e, Expired, EventExpired)
	if s.o.OnExpired == nil || s.closed {
		return
	}
	whole := snapshot(&e.plan)
	s.callbacks.Go(func() { s.o.OnExpired(whole) })
}

// unlock runs last under every lock: it sets the timer to the earliest expiry.
func (s *Store) unlock() {
	defer s.mu.Unlock()
	var first time.Time
	for _, e := range s.live {
		if e.open() && (first.IsZero() || e.plan.ExpiresAt.Before(first)) {
			first = e.plan.ExpiresAt
		}
	}
	if s.closed || first.IsZero() {
		if s.timer != nil {
			s.timer.Stop()
		}
		return
	}
	// Never shorter than a millisecond, so that a clock that stands still cannot spin.
	wait := max(first.Sub(s.o.Now()), time.Millisecond)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.tick)
	} else {
		s.timer.Reset(wait)
	}
}

func (s *Store) tick() {
	s.mu.Lock()
	defer s.unlock()
	if !s.closed { // else the journal may be closed, too
		s.refresh()
	}
}
