package writecore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// fillSample renders sample rows, changes and the warnings that belong to them.
func fillSample(ctx context.Context, s Codec, st *sqlguard.Statement, r rowRun, pv *plan.Preview) error {
	pv.SampleRows, pv.Changes = []plan.Row{}, []plan.Change{}
	if r.affected > 0 && len(r.shape.columns) > 0 {
		values, err := s.Values(ctx, r.sample)
		if err != nil {
			return fmt.Errorf("rendering the sample: %w", err)
		}
		for i, row := range values {
			one := rowOf(r.shape, row, r.sample.Rows[i])
			pv.SampleRows = append(pv.SampleRows, one.now)
			if r.shape.pairs != noPairs {
				pv.Changes = append(pv.Changes, one.change(st.Target()))
			}
		}
	}
	switch st.Class() {
	case sqlguard.Update:
		if r.shape.pairs == noPairs {
			pv.Warnings = append(pv.Warnings, plan.Warning{Code: plan.WarnNoPairs, Message: "Old and new rows could not be matched (no key), so changes is empty; sample_rows shows the new values."})
		}
	case sqlguard.Insert:
		if cols := fromSequence(st); len(cols) > 0 {
			pv.Warnings = append(pv.Warnings, plan.Warning{Code: plan.WarnPreviewValuesDiffer, Message: "The shown values of " + strings.Join(cols, ", ") + " come from a sequence; the committed rows will have others."})
		}
	case sqlguard.Delete, sqlguard.DDL, sqlguard.Read:
	}
	return nil
}

// sampleRow is one row of a run: its new values, its old ones by position, and for each the text that
// tells them apart.
type sampleRow struct {
	shape   shape
	now     plan.Row
	old     map[int]plan.Field
	nowText []*string
	oldText map[int]*string
}

// rowOf takes one row of a run apart; values and raw are the same row as JSON and as Postgres printed it.
func rowOf(sh shape, values []json.RawMessage, raw [][]byte) sampleRow {
	cuts := cutsOf(string(raw[len(raw)-1]))
	out := sampleRow{shape: sh, old: map[int]plan.Field{}, oldText: map[int]*string{}}
	take := func(i int, label string, at int) (plan.Field, *string) {
		column := sh.columns[i].Name
		if c, ok := cuts[label]; ok {
			return sh.field(column, c.shown(), &c.hash, true), &c.hash
		}
		if raw[at] == nil {
			return sh.field(column, values[at], nil, false), nil
		}
		t := string(raw[at])
		return sh.field(column, values[at], &t, false), &t
	}
	for i := range sh.columns {
		f, t := take(i, "n"+strconv.Itoa(i), 1+i)
		out.now, out.nowText = append(out.now, f), append(out.nowText, t)
	}
	for k, i := range sh.old {
		out.old[i], out.oldText[i] = take(i, "p"+strconv.Itoa(i), 1+len(sh.columns)+k)
	}
	return out
}

// change keeps the columns whose text differs.
func (r sampleRow) change(t sqlguard.Relation) plan.Change {
	c := plan.Change{Key: plan.Row{}, Before: plan.Row{}, After: plan.Row{}}
	for _, i := range keyPositions(t, r.shape.columns) {
		c.Key = append(c.Key, r.old[i])
	}
	for _, i := range r.shape.old {
		a, b := r.oldText[i], r.nowText[i]
		if (a == nil) != (b == nil) || (a != nil && *a != *b) {
			c.Before = append(c.Before, r.old[i])
			c.After = append(c.After, r.now[i])
		}
	}
	return c
}

// fromSequence lists the columns that a sequence fills because the INSERT does not name them.
func fromSequence(st *sqlguard.Statement) []string {
	given := map[string]bool{}
	for _, c := range st.Columns() {
		given[c] = true
	}
	var out []string
	for _, c := range st.Target().Columns {
		if c.FromSequence && !given[c.Name] {
			out = append(out, c.Name)
		}
	}
	return out
}
