package plan

import (
	"fmt"
	"slices"
	"time"
)

// recordOf is what the journal holds of p, the plan that e is or is about to be.
func recordOf(e *entry, p *Plan, now time.Time) record {
	r := record{
		Token: p.Token, State: p.State, At: now, Fingerprint: p.Fingerprint,
		StopCode: p.StopCode, SupersededBy: p.SupersededBy, ExecutedAt: p.ExecutedAt, ExecutedRows: p.ExecutedRows, ExpiresAt: p.ExpiresAt,
	}
	if p.Decision != nil {
		r.DecidedAt = p.Decision.At
	}
	if p.State.ended() {
		return r
	}
	r.Tool, r.Target, r.Digest, r.AffectedRows, r.CreatedAt = p.Tool, p.Target, p.RowsDigest, p.AffectedRows, p.CreatedAt
	r.DDL, r.BlastRadius, r.Definitions = p.Facts != nil, &p.BlastRadius, p.Definitions
	if p.State == Executing || p.State == Unknown {
		r.Before, r.Mark = e.before, &e.mark
	}
	return r
}

// write puts records on disk, behind those that could not be written before; without a journal it does
// nothing.
func (s *Store) write(records ...record) error { return s.put(true, records...) }

// note is write for what need not be on disk before anybody sees it: that a plan expired, that an
// execution failed, a later expiry. Forgetting it makes nothing possible that was not.
func (s *Store) note(records ...record) error { return s.put(false, records...) }

func (s *Store) put(durable bool, records ...record) error {
	j := s.o.Journal
	if j == nil {
		return nil
	}
	if err := j.append(durable || len(s.unwritten) > 0, slices.Concat(s.unwritten, records)...); err != nil {
		return err
	}
	s.unwritten = nil
	if err := j.trouble(); err != nil {
		s.tell(err)
	}
	return nil
}

func (s *Store) tell(err error) {
	if s.o.OnJournalError != nil {
		s.o.OnJournalError(err)
	}
}

// owe keeps the record of a fact that could not be written down, for the next write and for whoever calls
// first a second later. See TestJournalOwes.
func (s *Store) owe(r record, cause error) {
	s.unwritten = append(slices.DeleteFunc(s.unwritten, func(o record) bool { return o.Token == r.Token }), r)
	s.owedAt = r.At
	if r.State == Rejected {
		cause = fmt.Errorf("a rejection stands, but would be forgotten by a restart before it can be written down: %w", cause)
	}
	s.tell(cause)
}

// pay tries to write down what is owed, at most once a second.
func (s *Store) pay(now time.Time) {
	if len(s.unwritten) == 0 || now.Sub(s.owedAt) < time.Second {
		return
	}
	s.owedAt = now
	_ = s.write() // told when it began
}

// restore takes in what the journal knew when it was opened:
//
//   - ended plans answer as they did, though without anybody's words;
//   - open plans wait for their statement to be given back ([Store.Revive]), those that a person had
//     approved for another approval;
//   - a plan that was executing has an unknown outcome until [Store.Settle];
//   - migrations, which always need a person who has seen what they do, are expired.
func (s *Store) restore() {
	j := s.o.Journal
	if j == nil {
		return
	}
	found := j.found
	j.found = nil
	now := s.o.Now()
	for i := range found {
		r := &found[i]
		p := Plan{
			Token: r.Token, State: r.State, Fingerprint: r.Fingerprint, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, PreviewCount: 1, Restored: true,
			ExecutedAt: r.ExecutedAt, ExecutedRows: r.ExecutedRows, StopCode: r.StopCode, SupersededBy: r.SupersededBy,
		}
		p.Tool, p.Target, p.RowsDigest, p.Definitions, p.AffectedRows = r.Tool, r.Target, r.Digest, r.Definitions, r.AffectedRows
		if r.BlastRadius != nil {
			p.BlastRadius = *r.BlastRadius
		}
		if r.DDL {
			p.Facts = &Facts{}
		}
		if r.State.ended() {
			if r.State == Rejected {
				p.Decision = &Decision{At: r.DecidedAt}
			}
			s.ended.inter(&p)
			continue
		}
		s.sequence++
		e := &entry{plan: p, sequence: s.sequence, changed: make(chan struct{})}
		s.live[p.Token] = e
		switch r.State {
		case Executing, Unknown:
			e.before = unapproved(r.Before)
			if r.Mark != nil {
				e.mark = *r.Mark
			}
			e.plan.State = Unknown
			e.plan.StopMessage = "The server ended while it executed this plan; whether the change was committed is not known yet."
		default:
			e.plan.State = unapproved(r.State)
		}
		if e.plan.State == AwaitingApproval || e.before == AwaitingApproval {
			e.plan.Why = "You are asked because the server was restarted since the preview; an approval given before does not count any more."
		}
		if r.DDL {
			e.plan.ExpiresAt = now
		}
	}
	s.refresh()
}

// unapproved is where a plan stands whose approval is not carried over.
func unapproved(s State) State {
	if s == Approved {
		return AwaitingApproval
	}
	return s
}

// Unsettled holds the plans whose outcome is unknown, oldest first.
func (s *Store) Unsettled() []Plan {
	return slices.DeleteFunc(s.List(), func(p Plan) bool { return p.State != Unknown })
}

// Dormant finds an open plan of an earlier process whose statement and params are exactly those of
// given: the caller checks the statement anew and then revives the plan.
func (s *Store) Dormant(token Token, given Echo) (p Plan, ok bool) {
	e := given.prepare()
	if e.Payload == nil || e.err != nil {
		return Plan{}, false
	}
	s.mu.Lock()
	defer s.unlock()
	s.refresh()
	found, ok := s.live[token]
	if !ok || !found.plan.Restored || !found.open() || found.plan.Fingerprint != e.computed ||
		(e.Fingerprint != "" && e.Fingerprint != e.computed) {
		return Plan{}, false
	}
	return snapshot(&found.plan), true
}

// Revive makes a plan of an earlier process whole: from now on it is a plan like any other, with the
// rows' digest and the blast radius of its preview and without what was not written down. One that
// needed nobody may need a person now (needsApproval), never the other way round. A payload that is
// not the plan's changes nothing. Errors: ErrJournal.
func (s *Store) Revive(token Token, p Preview, needsApproval bool) error {
	fingerprint, err := FingerprintOf(p.Payload)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock()
	now := s.refresh()
	e, ok := s.live[token]
	if !ok || !e.plan.Restored || !e.open() || e.plan.Fingerprint != fingerprint {
		return nil // another call was first, or its time is over: the gates tell
	}
	next := e.plan
	next.Payload, next.Reason, next.CallerID, next.SetColumns, next.Warnings, next.Work = p.Payload, clip(p.Reason, maxReasonRunes), p.CallerID, p.SetColumns, p.Warnings, p.Work
	next.Restored = false
	if needsApproval && next.State == Previewed {
		next.State, next.Why, next.ExpiresAt = AwaitingApproval, p.Why, now.Add(s.o.ApprovalTTL)
		if err := s.write(recordOf(e, &next, now)); err != nil {
			return err
		}
	}
	e.plan = snapshot(&next)
	s.publish(Added, &e.plan)
	return nil
}
