package config

import (
	"fmt"
	"slices"

	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
)

// rules makes the rules of write.rules; what is wrong in one is blamed by its number, from 0 as in the file.
func (l *loader) rules() toolpolicy.Rules {
	given, _ := l.v.Get("write.rules").([]rule)
	out := make(toolpolicy.Rules, len(given))
	for i, g := range given {
		key := fmt.Sprintf("write.rules[%d]", i)
		out[i] = l.rule(key, g)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (l *loader) rule(key string, g rule) toolpolicy.Rule {
	r := toolpolicy.Rule{
		Deny: g.Deny, ApprovalAbove: g.ApprovalRequiredAboveRows, HardMax: g.HardMaxRows,
		ReadonlyColumns: g.ReadonlyColumns, WhereColumns: g.WhereColumns,
	}
	bad := func(name, format string, a ...any) { l.problemIn(key+"."+name, "write.rules", format, a...) }
	if len(g.Tables) == 0 {
		bad("tables", "it is empty: a rule names at least one table, such as \"app.payments\" or \"app.*\"")
	}
	for i, text := range g.Tables {
		p, err := toolpolicy.ParsePattern(text)
		if err != nil {
			bad(fmt.Sprintf("tables[%d]", i), "%v", err)
		}
		r.Tables = append(r.Tables, p)
	}
	for i, word := range g.Operations {
		op := toolpolicy.Operation(word)
		if !slices.Contains(toolpolicy.Operations(), op) {
			bad(fmt.Sprintf("operations[%d]", i), "%q is not one of insert, update, delete, migration", word)
		}
		r.Operations = append(r.Operations, op)
	}
	switch g.RequireApproval {
	case "":
	case "always":
		r.AlwaysAsk = true
	default:
		bad("requireApproval", "%q is not \"always\"", g.RequireApproval)
	}
	l.ruleThresholds(bad, g)
	for name, columns := range map[string][]string{"readonlyColumns": g.ReadonlyColumns, "whereColumns": g.WhereColumns} {
		if slices.Contains(columns, "") {
			bad(name, "a column's name is empty")
		}
	}
	if !g.Deny && g.RequireApproval == "" && g.ApprovalRequiredAboveRows == nil && g.HardMaxRows == nil && len(g.ReadonlyColumns)+len(g.WhereColumns) == 0 {
		bad("tables", "the rule does nothing, but it would keep later rules from these tables: say what it wants")
	}
	return r
}

// ruleThresholds: a rule may tighten the hard cap and never lift it.
func (l *loader) ruleThresholds(bad func(name, format string, a ...any), g rule) {
	hard := l.integer("write.hardMaxRows")
	if h := g.HardMaxRows; h != nil {
		if *h < 0 {
			bad("hardMaxRows", "%d is out of range: it must be 0 or more", *h)
		}
		if *h > hard {
			bad("hardMaxRows", "%d is more than write.hardMaxRows (%d): a rule can only tighten the hard cap", *h, hard)
		}
		hard = min(hard, *h)
	}
	if a := g.ApprovalRequiredAboveRows; a != nil {
		if *a < 0 {
			bad("approvalRequiredAboveRows", "%d is out of range: it must be 0 or more", *a)
		}
		if *a > hard {
			bad("approvalRequiredAboveRows", "%d is more than the hard cap of these tables (%d): nothing could ever be approved", *a, hard)
		}
	}
}

// problemIn blames a part of a key, at the place where the whole key stands.
func (l *loader) problemIn(part, key, format string, a ...any) {
	if s := l.source[key]; s != "" {
		l.source[part] = s
	}
	l.problem(part, format, a...)
}
