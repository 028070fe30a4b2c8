package sqlguard

import "context"

// Name is a possibly qualified name, already folded as Postgres folds it (manual, 4.1.1):
// unquoted parts are lower case, quoted parts as written. An empty Schema means "by search_path".
type Name struct {
	Schema string
	Name   string
}

// Catalog tells what the guard must know of the database behind one pool. postgres implements it
// and caches; a miss costs one round trip. Names are resolved as that pool's sessions resolve
// them (search_path of the role and of the connection string).
type Catalog interface {
	// Lookup answers for all names at once. A name that does not exist is absent from the maps.
	// fresh asks that nothing is taken from the cache.
	Lookup(ctx context.Context, q Lookup, fresh bool) (*Facts, error)
}

// Lookup lists the names to look up.
type Lookup struct {
	Relations []Name
	Functions []Name // by name only: every overload is wanted
	Operators []Name // by symbol only: every overload is wanted
	Types     []Name // cast targets and column types, by name

	Statistics []Name // extended statistics objects; never answered from a cache
}

// Facts answers a Lookup.
type Facts struct {
	ServerVersion int      // server_version_num, e.g. 150018
	SearchPath    []string // current_schemas(true)
	Relations     map[Name]Relation
	Functions     map[Name][]Routine
	Operators     map[Name][]Routine // the functions behind the operators of that symbol
	Types         map[Name][]Routine // cast functions to that type and its own input function; empty for a built-in type
	// TypeParts are, of what a type is made of (itself, a domain's base, elements, members, at any depth), the
	// row types of relations and the types of pg_catalog that show numbers as names (regclass and the like).
	TypeParts map[Name][]Target
	TypeOIDs  map[Name][]uint32 // of the type and of all it is made of
	Casts     []Cast            // those of the database's own that run a function, whatever was asked; their version is the path's
	// The versions of what was found, read with it (see wire.Fact; relations have theirs in Relation). They
	// are by bare name, and also there for names that mean nothing.
	FunctionVersions, OperatorVersions map[string]string
	TypeVersions                       map[Name]string
	PathVersion                        string
	TypeTargets                        map[Name]Target     // the type itself; Kind is pg_type.typtype
	Statistics                         map[Name]Statistics // by the names asked for
	// Candidates lists existing relations to suggest from, for every relation name that is missing.
	// Unfiltered: the guard shows only what its allowlist shows.
	Candidates []Name
}

// Statistics is one extended statistics object (CREATE STATISTICS) and the table it is about.
type Statistics struct{ Object, Table Target }

// Relation is what pg_class and its neighbours say of one relation.
type Relation struct {
	OID          uint32
	Version      string // see wire.FactRelation
	Mask         string // see wire.FactMask; empty where nothing is masked
	Schema, Name string
	Kind         byte // pg_class.relkind: r table, p partitioned table, v view, m materialized view, f foreign table, S sequence, c composite type, i/I index, t toast
	Persistence  byte // pg_class.relpersistence: p permanent, u unlogged, t temporary
	Columns      []Column
	PrimaryKey   []string // in key order; empty without one
	RowsEstimate *int64   // pg_class.reltuples of the relation and its partitions; nil when never analysed
	RowSecurity  bool     // row security applies to this pool's role (row_security_active)
	Can          Privileges
	ViewDef      string // pg_get_viewdef for kind v, else empty
	// Below lists what a view (v) reads or writes through, recursively down to and including base tables; of
	// an index (i, I) its table, of a sequence (S) the table that owns it.
	Below []Target
	// Above lists what this relation, and each in Below, inherits from or is a partition of, at any height.
	Above []Ancestor
	// HasForeignPartition says that a partition at any depth is a foreign table.
	HasForeignPartition bool
	// Inherited says that it has, or had, inheritance children or partitions (pg_class.relhassubclass).
	Inherited bool
	// Children are, of a table that is not partitioned, those that inherit from it, at any depth: reading it
	// without ONLY reads them.
	Children []Target
	// HasInsteadOf says that a view has INSTEAD OF triggers; Updatable is pg_relation_is_updatable(oid, true).
	HasInsteadOf bool
	Updatable    int32
	// Rules are the rewrite rules in force, apart from that of a view's SELECT.
	Rules []Rule
	// Closure holds the OIDs that name resolution and planning may lock for this relation: itself,
	// inheritance children and partitions, indexes and toast tables of these, everything below a view and
	// the same of that, and relations named by row-security policies.
	Closure []uint32
}

// Ancestor is a table that the relation with the OID Of inherits from, or is a partition of.
type Ancestor struct {
	Of uint32
	Target
}

// Ancestors are the tables that the relation with this OID, the relation itself or one in Below, inherits from
// or is a partition of, at any height.
func (r Relation) Ancestors(oid uint32) []Target {
	var out []Target
	for _, a := range r.Above {
		if a.Of == oid {
			out = append(out, a.Target)
		}
	}
	return out
}

// Rule is one rule of pg_rewrite. Event is its ev_type: 2 UPDATE, 3 INSERT, 4 DELETE.
type Rule struct {
	Name  string
	Event byte
}

// Privileges are those of the pool's role; Update is true if any column may be updated.
type Privileges struct{ Select, Insert, Update, Delete bool }

// Column is one column that is not dropped, in attnum order.
type Column struct {
	Name         string
	Number       int16
	TypeOID      uint32
	Type         string // format_type
	NotNull      bool
	Generated    bool // stored or virtual generated column
	Identity     byte // 0 none, 'a' always, 'd' by default
	HasDefault   bool
	FromSequence bool // identity, or a default that calls nextval
	ShowsNames   bool // its type is, or holds at any depth, one whose numbers are printed as names (regclass and the like)
}

// Routine is one overload of a function, or the function behind an operator or cast.
type Routine struct {
	OID          uint32
	Schema, Name string
	Volatility   byte // pg_proc.provolatile: i, s, v
	Kind         byte // pg_proc.prokind: f, p, a, w
	Extension    string
	OnPath       bool     // its schema is in SearchPath
	Types        []uint32 // of its arguments and result, those that are not the system's
	ShowsNames   bool     // its result, or an OUT argument, is of a type like regclass, or an array of one
}

// Cast is one row of pg_cast. Sources and Targets are the types that hold its source and its target at any
// depth, themselves included.
type Cast struct {
	Source, Target       string // as format_type prints them
	TargetName           string // pg_type.typname
	SourceOID, TargetOID uint32
	Context              byte // pg_cast.castcontext: i implicit, a assignment, e explicit
	Sources, Targets     []uint32
	Routine              Routine
}

// Target is one relation of a statement, as Postgres resolves it.
type Target struct {
	OID          uint32
	Schema, Name string
	Kind         byte
}

// String is the fully qualified name, quoted where Postgres needs it.
func (t Target) String() string { return QuoteName(t.Schema, t.Name) }
