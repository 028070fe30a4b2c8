package postgres

// PID is the process ID of the backend as the server told it when the connection was made; behind a
// pooler it is whatever the pooler told, and names nobody.
func (s *Session) PID() uint32 { return s.pc.PID() }
