package writecore

import (
	"encoding/json"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// masker gives what the agent sees in place of a column's value, nil where it sees the value itself. long
// stands for a value that was left out for its size. The person who decides sees the values; see
// TestMaskedWrites.
type masker func(column string, text *string, long bool) json.RawMessage

func maskerOf(st *sqlguard.Statement) masker {
	if !st.Masks() {
		return nil
	}
	return func(column string, text *string, long bool) json.RawMessage {
		as := st.TargetMask(column)
		switch {
		case as == "":
			return nil
		case text == nil:
			return st.Masked(as, nil)
		case long && as == sqlguard.MaskPartial: // text is its hash
			return st.Masked(as, []byte("x"))
		}
		return st.Masked(as, []byte(*text))
	}
}

func (sh shape) field(column string, value json.RawMessage, text *string, long bool) plan.Field {
	f := plan.Field{Column: column, Value: value}
	if sh.masks != nil {
		f.Masked = sh.masks(column, text, long)
	}
	return f
}

// said is a server's error as it may be told about a statement: without values where columns are masked.
func said(st *sqlguard.Statement, e *wire.ServerError) *wire.ServerError {
	if !st.Masking() {
		return e
	}
	return wire.Masked(e)
}

// masking tells whether columns are masked, of a plan that is being executed.
func (w *TwoPhaseWrite) masking(ex *plan.Execution) bool {
	wk, ok := ex.Plan().Work.(*work)
	return ok && wk.statement.Masking()
}
