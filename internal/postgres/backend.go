package postgres

// PID is the process ID of the backend, 0 where a pooler stands between: what it announces names nobody,
// or somebody else, and the backend may be another one in each transaction. See TestPoolerIsNoticed.
func (s *Session) PID() uint32 {
	if s.facts.pooled {
		return 0
	}
	return s.pc.PID()
}
