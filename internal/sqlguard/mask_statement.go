package sqlguard

import "encoding/json"

// MaskedField is one column of a relation that the text names, as the server numbers both.
type MaskedField struct {
	Table  uint32
	Column int16
}

// Output is what the guard takes an output column of a read for.
type Output byte

// The kinds of output columns.
const (
	OutputOpen   Output = iota // not a masked column
	OutputMaybe                // by its name it could be one: the server's word decides
	OutputMasked               // one
	OutputStar                 // * or t.*, any number of columns
)

// maskView is what a statement carries of masks.
type maskView struct {
	masks   *masking
	fields  map[MaskedField]MaskAs
	tables  map[uint32]bool // relations with a masked column
	outputs []Output
}

// Masking tells that masks are in force, whatever the text reads: what a server says of values is then held
// back.
func (s *Statement) Masking() bool { return s.mask.masks.on() }

// Masks tells that the text names a relation with masked columns.
func (s *Statement) Masks() bool { return len(s.mask.fields) > 0 }

// MaskOf says how a column is masked, by the origin that the server gives for a field of a result (manual,
// 55.7, RowDescription): "" for one that is not. refuse tells of a field that must not be shown in any form:
// a whole row of a table with masked columns.
func (s *Statement) MaskOf(f MaskedField) (as MaskAs, refuse bool) {
	if as, ok := s.mask.fields[f]; ok {
		return as, false
	}
	return "", f.Column == 0 && s.mask.tables[f.Table]
}

// Outputs are what the guard takes the output columns of a read for, in order. It is what the server's
// RowDescription must not contradict. See TestMaskedOutputsNeedTheServersWord.
func (s *Statement) Outputs() []Output { return s.mask.outputs }

// Masked is what the agent sees in place of a value of a masked column, as JSON. text is the value as
// Postgres prints it, nil for SQL NULL.
func (s *Statement) Masked(as MaskAs, text []byte) json.RawMessage {
	return s.mask.masks.value(as, text)
}

// TargetMask says how a column of the target is masked, "" where it is not.
func (s *Statement) TargetMask(column string) MaskAs {
	for _, c := range s.target.Columns {
		if c.Name == column {
			return s.mask.fields[MaskedField{s.target.OID, c.Number}]
		}
	}
	return ""
}

// maskView collects the masked columns of everything that the text names.
func (g *Guard) maskView(v *verdict, outputs []Output) maskView {
	m := maskView{masks: g.masks, outputs: outputs}
	if !g.masks.on() {
		return m
	}
	m.fields, m.tables = map[MaskedField]MaskAs{}, map[uint32]bool{}
	for _, rel := range v.byName {
		for name, as := range g.maskedColumns(rel) {
			for _, c := range rel.Columns {
				if c.Name == name {
					m.fields[MaskedField{rel.OID, c.Number}] = as
					m.tables[rel.OID] = true
				}
			}
		}
	}
	return m
}
