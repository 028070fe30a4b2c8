package sqlguard

import (
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// Class is what kind of statement it is.
type Class string

// The classes. A Statement of class Read never reaches the writer pool and the others never the
// readonly pool.
const (
	Read   Class = "read"
	Insert Class = "insert"
	Update Class = "update"
	Delete Class = "delete"
	DDL    Class = "ddl"
)

// Statement is one checked statement. Only this package can make one.
type Statement struct {
	class     Class
	sql       string
	params    []json.RawMessage
	target    Relation
	relations []Target
	where     string
	nWhere    int
	tested    []string
	set       []string
	columns   []string
	rows      int
	volatile  []string
	unstable  bool
	elsewhere bool
	outside   bool
	facts     []wire.Fact
	closure   []uint32
	scope     wire.Scope
	ddl       DDLForm
	mask      maskView
}

// DDLForm says what a DDL statement is and touches; zero for other classes.
type DDLForm struct {
	// Form is the statement's own name, e.g. "ALTER TABLE" or "CREATE INDEX".
	Form string
	// Writes are existing relations that the statement changes or drops, or the table an index or
	// trigger stands on; Reads are those it only points to (REFERENCES, LIKE, a view's sources).
	Writes, Reads []Target
	// Above are, by the OID of one in Writes, the tables that it belongs to (an index, a sequence), inherits from
	// or is a partition of, at any height.
	Above map[uint32][]Target
	// Creates are the relations that come into being, OID 0.
	Creates []Target
	// Types are existing types and domains that the statement changes or drops; Kind is pg_type.typtype.
	Types []Target
	// Drops are columns ("schema.table.column") and relations that the text itself names for dropping.
	Drops []DropName
	// Heavy are the parts that may rewrite or scan a whole table, in the order of the text.
	Heavy []HeavyPart
	// Renames are columns and relations that get another name.
	Renames []Rename
	// Cascade says that the text holds CASCADE.
	Cascade bool
	// Only says that the text names its table by ONLY, without what inherits from it.
	Only bool
}

// HeavyPart is a part of a migration and the table it works through.
type HeavyPart struct {
	Kind  Heavy
	Table Target
	Type  string // of HeavyDomain: the type, quoted where needed
}

// Rename is a new name: of a column where Column is set, else of the relation itself.
type Rename struct {
	Relation        Target
	Column, NewName string
}

// DropName is one object the text names for dropping. Type is "table", "column", "view", "index" …
type DropName struct{ Type, Relation, Column string }

// Class tells the statement's class.
func (s *Statement) Class() Class { return s.class }

// SQL is the text that goes out and that the agent echoes: one line, no comments, no trailing
// semicolon.
func (s *Statement) SQL() string { return s.sql }

// Params are the parameters of SQL in order: the caller's first, then SET or row values, numbers
// outside ±(2^53-1) already turned into strings of their digits.
func (s *Statement) Params() []json.RawMessage { return s.params }

// Target is the relation that a DML statement changes; zero for Read and DDL.
func (s *Statement) Target() Relation { return s.target }

// Relations are all relations the text names, resolved, without duplicates, the target included.
func (s *Statement) Relations() []Target { return s.relations }

// Where is the checked condition of an UPDATE or DELETE as it stands in SQL, "" without one. Its
// parameters are the first WhereParams of Params.
func (s *Statement) Where() string { return s.where }

// WhereParams tells how many of Params belong to Where.
func (s *Statement) WhereParams() int { return s.nWhere }

// WhereColumns are the columns of the target that every row which an UPDATE or DELETE chooses had to pass
// a test on (=, IN, BETWEEN, an order, LIKE, IS NULL), sorted.
func (s *Statement) WhereColumns() []string { return s.tested }

// SetColumns are the columns an UPDATE sets, in the order of the text.
func (s *Statement) SetColumns() []string { return s.set }

// Columns are the columns an INSERT names; Rows is how many rows it gives.
func (s *Statement) Columns() []string { return s.columns }

// Rows is the number of rows in an INSERT's VALUES.
func (s *Statement) Rows() int { return s.rows }

// Volatile names the volatile functions of the database's own schemas and of the short built-in
// list that stand in the text (fully qualified, sorted). Not empty means a person decides.
func (s *Statement) Volatile() []string { return s.volatile }

// UnstableWhere says that the condition of an UPDATE or DELETE holds a function that is not IMMUTABLE
// or STABLE. What stands in SET expressions does not count: [Statement.Volatile] has the whole text.
func (s *Statement) UnstableWhere() bool { return s.unstable }

// ReadsElsewhere says that the condition or a SET expression of an UPDATE or DELETE may read more than
// the row it stands for: it holds a sub-select, or reaches a function outside pg_catalog (also through
// an operator or a cast), which may read tables. Locks on the rows then do not hold the result still.
func (s *Statement) ReadsElsewhere() bool { return s.elsewhere }

// CallsOutside says that the text, or the body of a view in it, reaches a function outside pg_catalog,
// which may read tables that no name in the text tells of.
func (s *Statement) CallsOutside() bool { return s.outside }

// Facts are what of the catalog the judgement relied upon: every relation, also below views, and every
// name of a function, operator and type that was judged, views' bodies included. They must be asserted
// (wire.AssertFacts) before the statement runs.
func (s *Statement) Facts() []wire.Fact { return s.facts }

// LockClosure holds the OIDs of all relations that name resolution and planning of this text may
// lock; any other lock found behind an EXPLAIN of it is a relation the guard did not see.
func (s *Statement) LockClosure() []uint32 { return s.closure }

// Scope says what functions may have read beyond LockClosure by the time a read has run.
func (s *Statement) Scope() wire.Scope { return s.scope }

// DDL describes a statement of class DDL.
func (s *Statement) DDL() DDLForm { return s.ddl }
