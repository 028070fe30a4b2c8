package wire

import (
	_ "embed"
	"strconv"
	"strings"
)

// Scope is what a read's functions may have read beyond the relations that its text names. The zero
// value is nothing.
type Scope struct {
	// Any lets every relation pass: no function of the text reads rows of tables (those of pg_catalog
	// that print definitions lock what they print).
	Any bool
	// All stands for everything but the audit trail, temporary tables and recorded statements; Schemas
	// and Tables are what an allowlist names instead. Tables are in parallel: the i-th is
	// TableSchemas[i].Tables[i].
	All                           bool
	Schemas, TableSchemas, Tables []string
	// Masks are the masks in force, as FactMask has them: a relation with a masked column, or that reads one,
	// does not pass unless it is in the closure.
	Masks string
}

//go:embed sql/witness_scope.sql
var witnessScopeText string

var witnessScopeSQL, witnessMaskedSQL = strings.ReplaceAll(witnessScopeText, "{masked}", "false"),
	strings.ReplaceAll(witnessScopeText, "{masked}", MaskVersion("c.oid", "$7")+" <> ''")

// WitnessScope is [Witness] behind the run of a read, with Postgres' own relations passing and those of
// scope too: an index and a TOAST table as the table they belong to, a partition also as its root. A
// view is itself, so what lies below it must be in scope by its own name. See
// TestFunctionsMayReadWhatIsReadable.
func WitnessScope(closure []uint32, scope Scope, mark string) Step {
	if !scope.Any && !scope.All && len(scope.Schemas)+len(scope.Tables) == 0 {
		return Witness(closure, mark, true)
	}
	if scope.Any {
		return Step{SQL: "SELECT NULL"}
	}
	s := Step{SQL: witnessScopeSQL, Params: [][]byte{
		OIDArray(closure), []byte(mark), strconv.AppendBool(nil, scope.All),
		TextArray(scope.Schemas), TextArray(scope.TableSchemas), TextArray(scope.Tables),
	}}
	if scope.Masks != "" {
		s.SQL, s.Params = witnessMaskedSQL, append(s.Params, []byte(scope.Masks))
	}
	return s
}
