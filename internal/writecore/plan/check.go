package plan

// Check passes every gate for an execute and answers at once: nil when Begin may be tried,
// AWAITING_APPROVAL when only a person's decision is missing, else the refusal of the first gate.
func (s *Store) Check(token Token, given Echo) error {
	_, err := s.tryGates(token, given.prepare())
	return err
}

// Withdraw ends an open plan that must not be offered, with the code and message that every later
// call is to get. A plan that is executing or has ended stays as it is.
func (s *Store) Withdraw(token Token, code, message string) {
	s.mu.Lock()
	defer s.unlock()
	s.refresh()
	e, ok := s.live[token]
	if !ok || !e.open() {
		return
	}
	e.plan.StopCode, e.plan.StopMessage = code, message
	s.move(e, Stopped, EventStopped)
}
