package sqlguard

import (
	"encoding/json"
)

// Policy is what a guard holds statements against.
type Policy struct {
	Read  Allowlist // empty = everything readable, apart from what is never readable
	Write Allowlist // empty = nothing writable
	// AllowFunctions adds names ("schema.name" or "name") to the functions that query may call.
	AllowFunctions []string
	// Masks are the columns whose values an agent never sees.
	Masks []Mask
}

// Guard checks agent text. It is immutable and safe for concurrent use.
type Guard struct {
	policy Policy
	masks  *masking
}

// DeleteSpec, UpdateSpec and InsertSpec are the decoded arguments of the row tools. Params and
// values are JSON as the agent sent it.
type DeleteSpec struct {
	Table            string
	Where            string
	Params           []json.RawMessage
	ConfirmFullTable bool
}

// UpdateSpec: Set is an ordered list, since the order of the text must be stable.
type UpdateSpec struct {
	Table            string
	Set              []SetValue // plain values, bound as parameters behind the caller's
	SetExpressions   []SetExpr
	Where            string
	Params           []json.RawMessage
	ConfirmFullTable bool
}

// SetValue sets one column to a bound value.
type SetValue struct {
	Column string
	Value  json.RawMessage
}

// SetExpr sets one column to a scalar SQL expression over the row, or DEFAULT.
type SetExpr struct{ Column, Expr string }

// InsertSpec holds rows of equal length.
type InsertSpec struct {
	Table   string
	Columns []string
	Rows    [][]json.RawMessage
}

// New makes a guard for one policy.
func New(p Policy) *Guard {
	p.AllowFunctions = append([]string(nil), p.AllowFunctions...)
	p.Masks = append([]Mask(nil), p.Masks...)
	return &Guard{policy: p, masks: newMasking(p.Masks)}
}

// The five ways in are Read, Delete, Update, Insert and Migration. Each returns a *refusal.Error for
// what it refuses and any other error for a fault (the catalog could not be asked).
