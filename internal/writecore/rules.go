package writecore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// operationOf is what a statement does to its target.
func operationOf(c sqlguard.Class) toolpolicy.Operation {
	switch c {
	case sqlguard.Insert:
		return toolpolicy.Insert
	case sqlguard.Update:
		return toolpolicy.Update
	case sqlguard.Delete:
		return toolpolicy.Delete
	case sqlguard.DDL, sqlguard.Read:
	}
	return toolpolicy.Migration
}

// before is what the rules say of a statement before it runs: what they forbid by its text. What it
// reaches otherwise, cascades and triggers included, [Limits.Decide] holds against them.
// See TestRulesByText and TestRulesByEffect.
func (l Limits) before(st *sqlguard.Statement) error {
	if len(l.Rules) == 0 {
		return nil
	}
	if st.Class() == sqlguard.DDL {
		for _, t := range st.DDL().Writes {
			if n, r := l.Rules.For(toolpolicy.Migration, ruleNames(t, st.DDL().Above[t.OID])...); r != nil && r.Deny {
				return denied(n, t.String(), toolpolicy.Migration)
			}
		}
		return nil
	}
	t := st.Target()
	name, op := sqlguard.QuoteName(t.Schema, t.Name), operationOf(st.Class())
	if err := l.throughView(t, op); err != nil {
		return err
	}
	n, r := l.forTarget(st)
	switch {
	case r == nil:
		return nil
	case r.Deny:
		return denied(n, name, op)
	}
	return columnsHeld(n, r, st, name)
}

// columnsHeld holds the two lists of columns of a rule for table against the text of a statement.
func columnsHeld(n int, r *toolpolicy.Rule, st *sqlguard.Statement, table string) error {
	for _, c := range slices.Concat(st.SetColumns(), st.Columns()) {
		if slices.Contains(r.ReadonlyColumns, c) {
			return refusal.New(refusal.RuleDenied, fmt.Sprintf("Rule %d does not let the column %s of %s be set.", n, sqlguard.QuoteIdent(c), table), "Leave the column out.")
		}
	}
	if st.Class() == sqlguard.Insert {
		return nil
	}
	for _, c := range r.WhereColumns {
		if !slices.Contains(st.WhereColumns(), c) {
			return refusal.New(refusal.RuleDenied,
				fmt.Sprintf("Rule %d wants the where of %s on %s to restrict the column %s.", n, operationOf(st.Class()), table, sqlguard.QuoteIdent(c)),
				fmt.Sprintf("Add %s = … (or IN, BETWEEN, a comparison) with AND, outside of OR and NOT.", sqlguard.QuoteIdent(c)))
		}
	}
	return nil
}

// throughView refuses a write through a view onto a table whose rule asks about single columns: those of the
// view are others. Every table below the view counts, also one that it only reads.
// See TestColumnRulesBelowViews.
func (l Limits) throughView(view sqlguard.Relation, op toolpolicy.Operation) error {
	if view.Kind != 'v' {
		return nil
	}
	for _, t := range view.Below {
		n, r := l.Rules.For(op, ruleNames(t, view.Ancestors(t.OID))...)
		if r == nil || len(r.ReadonlyColumns) == 0 && (op == toolpolicy.Insert || len(r.WhereColumns) == 0) || r.Deny {
			continue // deny holds by effect: the view may only read the table
		}
		return columnsOfView(n, t.String(), sqlguard.QuoteName(view.Schema, view.Name))
	}
	return nil
}

func columnsOfView(number int, table, view string) *refusal.Error {
	return refusal.New(refusal.RuleDenied,
		fmt.Sprintf("Rule %d is about single columns of %s, and %s is a view over it. Nothing was changed.", number, table, view),
		fmt.Sprintf("Name %s itself as the table.", table))
}

// ruleNames are the names by which a rule may mean a table. See TestRulesOfAncestors.
func ruleNames(t sqlguard.Target, above []sqlguard.Target) []toolpolicy.Name {
	out := []toolpolicy.Name{{Schema: t.Schema, Table: t.Name}}
	for _, a := range above {
		out = append(out, toolpolicy.Name{Schema: a.Schema, Table: a.Name})
	}
	return out
}

// forTarget is the rule for what a statement does to its target.
func (l Limits) forTarget(st *sqlguard.Statement) (number int, rule *toolpolicy.Rule) {
	t := st.Target()
	return l.Rules.For(operationOf(st.Class()), ruleNames(sqlguard.Target{Schema: t.Schema, Name: t.Name}, t.Ancestors(t.OID))...)
}

func denied(number int, table string, op toolpolicy.Operation) *refusal.Error {
	return refusal.New(refusal.RuleDenied, fmt.Sprintf("Rule %d does not allow %s on %s. Nothing was changed.", number, op, table),
		"Leave this table alone, or ask the person who runs this server; no approval lifts a rule that denies.")
}

// capFor is the most rows of its target that a statement may match: the hard cap, or a rule's tighter one.
func (l Limits) capFor(st *sqlguard.Statement) int64 {
	if _, r := l.forTarget(st); r != nil && r.HardMax != nil {
		return min(l.HardMax, *r.HardMax)
	}
	return l.HardMax
}

// ruled is what the rules make of the rows that were changed.
type ruled struct {
	refusal error
	why     []string
	own     int64 // rows that have a threshold of their own
}

// rule holds every changed table, by what was done to it, against the rules.
func (l Limits) rule(m Measured) ruled {
	var out ruled
	if len(l.Rules) == 0 {
		return out
	}
	for _, t := range touched(m) {
		names := namesIn(append([]string{t.Name}, t.Under...))
		rows := map[int]int64{} // by rule: several operations on a table may fall under one
		for op, n := range map[toolpolicy.Operation]int64{toolpolicy.Insert: t.Inserted, toolpolicy.Update: t.Updated, toolpolicy.Delete: t.Deleted} {
			if n == 0 {
				continue
			}
			number, r := l.Rules.For(op, names...)
			if r == nil {
				continue
			}
			if r.Deny {
				out.refusal = denied(number, t.Name, op)
				return out
			}
			rows[number] += n
		}
		for number, n := range rows {
			out.apply(number, l.Rules[number-1], t.Name, n, m.Radius)
		}
	}
	l.single(m, &out)
	slices.Sort(out.why)
	out.why = slices.Compact(out.why)
	return out
}

func (out *ruled) apply(number int, r toolpolicy.Rule, table string, rows int64, radius plan.BlastRadius) {
	if r.HardMax != nil && rows > *r.HardMax {
		out.refusal = ruleCap(HardCap("exactly "+digits(rows), *r.HardMax, radius), number, table)
	}
	if r.ApprovalAbove != nil {
		out.own += rows
		if rows > *r.ApprovalAbove {
			out.why = append(out.why, fmt.Sprintf("rule %d asks above %s rows of %s, and %s change", number, digits(*r.ApprovalAbove), table, digits(rows)))
		}
	}
	if r.AlwaysAsk {
		out.why = append(out.why, fmt.Sprintf("rule %d: %s always asks", number, table))
	}
}

// ruleCap words a refusal at the hard cap as that of a rule: the key to look at is the rule's.
func ruleCap(e *refusal.Error, number int, table string) *refusal.Error {
	e.Message = fmt.Sprintf("Rule %d, for %s: %s", number, table, strings.Replace(e.Message, "the hard cap is", "its hard cap is", 1))
	e.Hint = strings.Replace(e.Hint, "write.hardMaxRows", fmt.Sprintf("the hardMaxRows of rule %d in write.rules", number), 1)
	return e
}

// touched are the changed tables, and the target where it counts no rows of its own: a view.
func touched(m Measured) []plan.Table {
	out := m.Radius.Tables
	if m.Target == "" || m.AffectedRows == 0 || slices.ContainsFunc(out, func(t plan.Table) bool { return t.Name == m.Target }) {
		return out
	}
	t := plan.Table{Name: m.Target}
	switch operationOf(m.Class) {
	case toolpolicy.Insert:
		t.Inserted = m.AffectedRows
	case toolpolicy.Update:
		t.Updated = m.AffectedRows
	default:
		t.Deleted = m.AffectedRows
	}
	return append(slices.Clone(out), t)
}
