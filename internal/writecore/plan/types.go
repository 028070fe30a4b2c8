package plan

import (
	"encoding/json"
	"time"
)

// Token names one plan. 128 random bits, base64url without padding.
type Token string

// State is where a plan is in its life. doc.go draws the machine.
type State string

// The states. Only Previewed, AwaitingApproval and Approved are open.
const (
	Previewed        State = "previewed"
	AwaitingApproval State = "awaiting_approval"
	Approved         State = "approved"
	Executing        State = "executing"
	Executed         State = "executed"
	Rejected         State = "rejected"
	Superseded       State = "superseded"
	Expired          State = "expired"
	// Stopped: an execute ended before COMMIT for a reason that will not go away (ROWSET_CHANGED).
	Stopped State = "stopped"
	// Unknown: COMMIT was sent and the answer never came, and the ledger could not be asked.
	Unknown State = "outcome_unknown"
)

// ended tells the states that no plan leaves.
func (s State) ended() bool {
	switch s {
	case Executed, Rejected, Superseded, Expired, Stopped:
		return true
	case Previewed, AwaitingApproval, Approved, Executing, Unknown:
	}
	return false
}

// open tells the states in which a plan can still be executed or decided about.
func (s State) open() bool { return s == Previewed || s == AwaitingApproval || s == Approved }

// Payload is what is bound: the exact statement and its parameters.
type Payload struct {
	Statement string
	Params    []json.RawMessage
}

// Fingerprint is the SHA-256 of the canonical payload, in hex.
type Fingerprint string

// BlastRadius counts the rows changed in every table, target first.
type BlastRadius struct {
	TotalRows int64   `json:"total_rows"`
	Tables    []Table `json:"tables"`
	// Unknown holds the reasons why the count is not the whole truth; empty when it is.
	Unknown []string `json:"unknown,omitempty"`
}

// Table is one line of the blast radius.
type Table struct {
	OID      uint32 `json:"oid,omitempty"`
	Name     string `json:"name"` // fully qualified, quoted where needed
	Inserted int64  `json:"inserted,omitempty"`
	Updated  int64  `json:"updated,omitempty"`
	Deleted  int64  `json:"deleted,omitempty"`
	Named    bool   `json:"named,omitempty"` // the agent's statement names it
	// Under are the tables that it inherits from or is a partition of, for the rules that hold for those.
	Under        []string `json:"under,omitempty"`
	Why          string   `json:"why,omitempty"`           // for tables not named: "foreign key", "trigger on schema.table", "unknown"
	RowsEstimate *int64   `json:"rows_estimate,omitempty"` // nil when never analysed
}

// Rows is the sum of the three counts.
func (t Table) Rows() int64 { return t.Inserted + t.Updated + t.Deleted }

// Warning is one caution. The codes are those of the contract.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Safer is the end of Message that says how to get the same with less; "" where nothing does.
	Safer string `json:"-"`
}

// Warning codes.
const (
	WarnIndirectTable        = "INDIRECT_TABLE"
	WarnSideEffects          = "SIDE_EFFECTS"
	WarnRadiusUnknown        = "RADIUS_UNKNOWN"
	WarnUnstableWhere        = "UNSTABLE_WHERE"
	WarnRejectedBefore       = "REJECTED_BEFORE"
	WarnPreviewValuesDiffer  = "PREVIEW_VALUES_DIFFER"
	WarnNoPairs              = "NO_PAIRS"
	WarnNotDurable           = "NOT_DURABLE"
	WarnRowSecurity          = "ROW_SECURITY"
	WarnRuleApplied          = "RULE_APPLIED"
	WarnSeqScan              = "SEQ_SCAN"
	WarnCascadeDrops         = "CASCADE_DROPS"
	WarnRewritesTable        = "REWRITES_TABLE"
	WarnScansTable           = "SCANS_TABLE"
	WarnDataLost             = "DATA_LOST"
	WarnBlocksWrites         = "BLOCKS_WRITES"
	WarnUnreadableForReaders = "UNREADABLE_FOR_READONLY"
	WarnNameInUse            = "NAME_IN_USE"
	WarnTriggerSwitched      = "TRIGGER_SWITCHED"
)

// Field is one column of a row, in the table's column order. Masked is what the agent sees in place of the
// value, nil where it sees the value.
type Field struct {
	Column string
	Value  json.RawMessage
	Masked json.RawMessage
}

// Row is an ordered row.
type Row []Field

// MarshalJSON renders an object whose keys keep the column order, as the agent sees it: a masked value never
// becomes JSON by this way. See TestRowsAsJSONAreMasked.
func (r Row) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range r {
		if i > 0 {
			out = append(out, ',')
		}
		k, err := json.Marshal(f.Column)
		if err != nil {
			return nil, err
		}
		out = append(append(out, k...), ':')
		if f.Masked != nil {
			out = append(out, f.Masked...)
			continue
		}
		out = append(out, f.Value...)
	}
	return append(out, '}'), nil
}

// Change is one updated row: its key, and before and after of the columns that differ.
type Change struct {
	Key    Row `json:"key"`
	Before Row `json:"before"`
	After  Row `json:"after"`
}

// Facts describe a migration, measured in the rolled-back run.
type Facts struct {
	Locks      []Lock   `json:"locks"`
	Rewrites   []string `json:"rewrites"`
	Scans      []string `json:"scans"`
	Drops      []Drop   `json:"drops"`
	Lost       []Lost   `json:"lost"`
	Unreadable []string `json:"unreadable"`
	Notices    []string `json:"notices"`
	DurationMS float64  `json:"duration_ms"`
	SizeBytes  int64    `json:"size_bytes"`
	// RowsLost is how many rows each table that is dropped held, as far as they were counted; the warnings
	// say it to people.
	RowsLost map[string]int64 `json:"-"`
}

// Lock is the strongest lock the statement took on a relation, and for how long the run held it.
type Lock struct {
	Relation string  `json:"relation"`
	Mode     string  `json:"mode"` // e.g. AccessExclusiveLock (manual, 13.3)
	HeldMS   float64 `json:"held_ms"`
}

// Drop is one object that goes. Named by the text or taken along by CASCADE.
type Drop struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// Lost counts the values that go with a dropped column; -1 = not counted, the table is too large for it.
type Lost struct {
	Relation      string `json:"relation"`
	Column        string `json:"column"`
	NonNullValues int64  `json:"non_null_values"`
}

// Preview is everything that was learned in the rolled-back run. It never changes after it was made.
type Preview struct {
	Tool         string
	Reason       string
	CallerID     string
	Payload      Payload
	Target       string // fully qualified; for DDL the first relation written or created
	AffectedRows int64
	BlastRadius  BlastRadius
	SampleRows   []Row
	Changes      []Change
	Warnings     []Warning
	Facts        *Facts // DDL only
	// Why says in one sentence why a person is asked; empty when none is.
	Why string
	// RowsDigest is the digest of the old rows' versions; "" where there is none (INSERT, DDL, unstable where).
	RowsDigest string
	// Definitions are those of the relations that the run wrote to; empty for a migration, whose RowsDigest
	// holds its definitions.
	Definitions []Definition
	// SetColumns are the columns an UPDATE sets.
	SetColumns []string
	DurationMS float64
	// Work is writecore's own checked statement. Nothing else reads it, and it is never written anywhere.
	Work any
}

// Decision is who decided what, when.
type Decision struct {
	Actor  string
	Reason string // of a rejection
	At     time.Time
}

// Plan is a snapshot of one plan. Copies are handed out; changing one changes nothing.
type Plan struct {
	Token       Token
	State       State
	Fingerprint Fingerprint
	Preview
	CreatedAt, ExpiresAt time.Time
	// AskedAgain holds the other reasons given when equal previews joined this plan, oldest first.
	AskedAgain   []string
	PreviewCount int
	// Earlier is an earlier rejection of the same fingerprint in this process, nil without one.
	Earlier  *Decision
	Decision *Decision // approval or rejection
	// Result of an execute: rows and when; or the code it stopped with.
	ExecutedAt   time.Time
	ExecutedRows int64 // -1 = not known: committed without its row in the ledger
	StopCode     string
	StopMessage  string
	SupersededBy Token
	// Restored says that the plan comes from the journal of an earlier process and its statement, params
	// and rows are not known (yet): see [Store.Revive].
	Restored bool
}
