// Package wire is what crosses a Postgres connection, as plain data: the statements of one
// flush, what came back for them, and the server's errors.
//
// It exists so that the core (writecore, audit) can say exactly what goes out in one flush
// without knowing a driver, and so that postgres can implement that without knowing the core.
// It is a leaf: standard library and refusal only.
//
// It guarantees nothing about safety by itself; it must never hold a connection.
package wire

import "context"

// Step is one statement. It goes out by the extended protocol (PostgreSQL manual, 55.2.3), so the
// server accepts exactly one statement in SQL. Parameters are text of unknown type; a nil entry
// is SQL NULL.
type Step struct {
	SQL    string
	Params [][]byte
	// PrefixRunes is how many characters of SQL stand before the agent's text; the position in a
	// server error is moved by it. Zero where the text is not the agent's.
	PrefixRunes int
	// ParseOnly stops after the Parse message (manual, 55.2.3): the server finds what the names of SQL mean and
	// locks these relations until the transaction ends, and neither plans nor runs anything; Params are
	// not sent. Planning would go further than it looks: to estimate rows it calls STABLE functions
	// (EXPLAIN does). The step's Result is empty.
	ParseOnly bool
}

// Segment is what stands before one Sync. An error skips the rest of its segment and nothing
// else, so a ROLLBACK belongs into a segment of its own.
type Segment []Step

// Column describes one result column.
type Column struct {
	Name string
	OID  uint32 // pg_type.oid
	// Table and Number are where the column comes from, if it is a column of a relation as it stands: pg_class.oid
	// and attnum, 0 for a whole row. Both are 0 for everything else (manual, 55.7, RowDescription).
	Table  uint32
	Number int16
}

// Result is what one step gave back. Values are Postgres' text format, nil is SQL NULL.
type Result struct {
	Columns []Column
	Rows    [][][]byte
	Tag     string // the command tag, e.g. "DELETE 8" or "COMMIT"
}

// Reply is what one segment gave back. len(Results) counts the steps that completed; if Err is
// not nil it belongs to step len(Results), and later steps of the segment were skipped.
type Reply struct {
	Results  []Result
	Err      *ServerError
	TxStatus byte // 'I' idle, 'T' in a transaction, 'E' in a failed one (manual, 55.2.3 ReadyForQuery)
	Notices  []Notice
}

// Notice is a NOTICE or WARNING that the server sent while a segment ran.
type Notice struct {
	Severity string
	SQLState string
	Message  string
	Detail   string
}

// Flush sends segments in one round trip and returns one Reply per segment.
//
// The error is nil when all segments were answered, even if some failed (see Reply.Err). It is
// [ErrConnectionLost] (wrapped) when the connection died: replies then holds what had arrived, and
// nothing can be said about the rest. When ctx ends, the running statement is cancelled in Postgres
// and shows as Err with SQLState 57014; later segments still run.
type Flush func(ctx context.Context, segments ...Segment) (replies []Reply, err error)
