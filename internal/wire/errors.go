package wire

import (
	"errors"
	"fmt"
)

// ErrConnectionLost says that the connection died while a flush was on its way. What the server
// did of it is not known.
var ErrConnectionLost = errors.New("connection to Postgres lost")

// ServerError is Postgres' ErrorResponse, reduced to what may be used. DETAIL, HINT and CONTEXT
// are left out on purpose: they carry whole rows.
type ServerError struct {
	SQLState   string // five characters, PostgreSQL manual appendix A
	Message    string // primary message only
	Constraint string
	Schema     string // of Table
	Table      string
	Column     string
	Position   int // character position in the agent's text, 1-based; 0 = not known
	Fatal      bool
}

// Error implements error.
func (e *ServerError) Error() string { return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.SQLState) }
