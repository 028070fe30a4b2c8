package plan

import (
	"strings"
	"time"
)

// Approve records a person's yes. already is true, and nothing changes, for a plan that is approved
// or needs nobody. From now on the plan lives at least PlanTTL. Errors are the gates' refusals,
// ErrClosed and ErrJournal.
//
// Nothing that an agent can call may lead here. See TestS07OnlyAPersonCanApprove.
func (s *Store) Approve(token Token, actor string) (p Plan, already bool, err error) {
	s.mu.Lock()
	defer s.unlock()
	now := s.refresh()
	e, p, err := s.decidable(token, now)
	if err != nil {
		return p, false, err
	}
	if e.plan.State != AwaitingApproval {
		return snapshot(&e.plan), true, nil
	}
	err = s.advance(e, Approved, EventApproved, func(p *Plan) {
		p.Decision = &Decision{Actor: actorName(actor), At: now}
		if until := now.Add(s.o.PlanTTL); until.After(p.ExpiresAt) {
			p.ExpiresAt = until
		}
	})
	return snapshot(&e.plan), false, err
}

// Reject records a person's no, also for a plan that is approved or needs nobody and has not run.
// It is final. already is true when the plan was rejected before: the first reason stays. Errors
// are the gates' refusals and ErrClosed. See TestS08ARejectionIsFinal.
func (s *Store) Reject(token Token, actor, reason string) (p Plan, already bool, err error) {
	s.mu.Lock()
	defer s.unlock()
	now := s.refresh()
	e, p, err := s.decidable(token, now)
	if p.State == Rejected {
		return p, true, nil
	}
	if err != nil {
		return p, false, err
	}
	e.plan.Decision = &Decision{Actor: actorName(actor), Reason: clip(strings.TrimSpace(reason), maxReasonRunes), At: now}
	s.move(e, Rejected, EventRejected) // a no stands even where it cannot be written down
	return snapshot(&e.plan), false, nil
}

// Decidable passes the gates of a decision and changes nothing: nil while Approve and Reject may be
// tried, also where Approve would change nothing (the plan is approved, or needs nobody). Else it is
// what Approve would answer: for a rejected plan PLAN_REJECTED, though rejecting it again is no error.
// What is true here may be over a moment later: Approve and Reject ask again.
func (s *Store) Decidable(token Token) error {
	s.mu.Lock()
	defer s.unlock()
	_, _, err := s.decidable(token, s.refresh())
	return err
}

// decidable finds a plan about which a person can still decide. With an error it still returns what
// is known of the plan.
func (s *Store) decidable(token Token, now time.Time) (*entry, Plan, error) {
	if s.closed {
		return nil, Plan{}, ErrClosed
	}
	if e, ok := s.live[token]; ok {
		return e, snapshot(&e.plan), gate(&e.plan, true, now, nil)
	}
	p, ok := s.ended.get(token)
	return nil, p, gate(&p, ok, now, nil)
}

func actorName(actor string) string {
	actor = strings.TrimSpace(actor)
	if actor == "" {
		return unnamed
	}
	return clip(actor, maxActorRunes)
}
