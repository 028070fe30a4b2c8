package postgres

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// know takes the columns of the result, and with them the server's word on where each comes from: that is
// the second witness of what is masked. A column that comes from a masked one is masked, whatever the guard
// took it for; where the guard found a masked column and the server says something else, nothing is shown.
// See TestMaskedOutputsNeedTheServersWord.
func (q *query) know(columns []wire.Column) {
	q.columns = slices.Clone(columns)
	if !q.statement.Masks() {
		return
	}
	q.masks, q.denied = masksOf(q.statement, columns)
}

func masksOf(st *sqlguard.Statement, columns []wire.Column) ([]sqlguard.MaskAs, error) {
	out := make([]sqlguard.MaskAs, len(columns))
	for i, c := range columns {
		as, refuse := st.MaskOf(sqlguard.MaskedField{Table: c.Table, Column: c.Number})
		if refuse {
			return nil, contradictsMask()
		}
		out[i] = as
	}
	outputs := st.Outputs()
	known := make([]sqlguard.Output, len(columns)) // those between two stars stay open
	first, last := slices.Index(outputs, sqlguard.OutputStar), lastStar(outputs)
	switch {
	case first < 0 && len(outputs) > 0 && len(outputs) != len(columns), len(outputs)-1 > len(columns) && first == last:
		return nil, contradictsMask()
	case first < 0:
		copy(known, outputs)
	default:
		copy(known, outputs[:first])
		if tail := outputs[last+1:]; len(tail) <= len(columns) {
			copy(known[len(columns)-len(tail):], tail)
		}
	}
	for i, o := range known {
		if o == sqlguard.OutputMasked && out[i] == "" || o == sqlguard.OutputMaybe && columns[i].Table == 0 {
			return nil, contradictsMask()
		}
	}
	return out, nil
}

func lastStar(outputs []sqlguard.Output) int {
	for i, o := range slices.Backward(outputs) {
		if o == sqlguard.OutputStar {
			return i
		}
	}
	return -1
}

func contradictsMask() error {
	return refusal.New(refusal.MaskedColumn,
		"The server does not see a column of the result as the masked column that the text names; nothing is shown.",
		"Write each masked column as alias.column in the select list of the outermost SELECT.")
}

// masked is a row with what the agent sees in place of masked values. The values themselves are not kept.
func (q *query) masked(row [][]byte) [][]byte {
	if q.masks == nil {
		return row
	}
	out := slices.Clone(row)
	for i, as := range q.masks {
		if as == "" {
			continue
		}
		shown := q.statement.Masked(as, row[i])
		if string(shown) == "null" {
			out[i] = nil
			continue
		}
		out[i] = bytes.Trim(shown, `"`) // it needs no escapes
	}
	return out
}

// withMasks adds to the entries of columns how they are masked. numbers are theirs, in the same order.
func withMasks(columns json.RawMessage, numbers []byte, masks map[int16]sqlguard.MaskAs) (json.RawMessage, error) {
	var list []json.RawMessage
	var number []int16
	if err := errors.Join(json.Unmarshal(columns, &list), json.Unmarshal(numbers, &number)); err != nil {
		return nil, err
	}
	if len(list) != len(number) {
		return nil, errors.New("the columns changed while they were read")
	}
	for i := range list {
		if as, ok := masks[number[i]]; ok {
			entry := bytes.TrimRight(list[i], " }")
			list[i] = append(append(slices.Clone(entry), `,"masked":"`...), string(as)+`"}`...)
		}
	}
	return lineJSON(list)
}
