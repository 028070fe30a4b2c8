package writecore

import (
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Limits are the two thresholds, in changed rows over all tables.
type Limits struct {
	ApprovalAbove int64 // more rows than this wait for a person
	HardMax       int64 // more rows than this are refused; at least ApprovalAbove
	// Rules are those of single tables; they never lift HardMax.
	Rules toolpolicy.Rules
}

// Measured is what one rolled-back run found out. Need for a person follows from it alone.
type Measured struct {
	Class        sqlguard.Class
	Target       string // fully qualified, quoted where needed
	AffectedRows int64
	Radius       plan.BlastRadius
	Volatile     []string // volatile functions in the statement's text
	// NotWritable names changed tables that are not on the write allowlist.
	NotWritable []string
	// reached and text are for the rules of single partitions and heirs; a plan of the journal has neither until
	// it runs. See [Limits.again].
	reached []reached
	text    *sqlguard.Statement
}

// Decision says what happens with a preview. Exactly one of Refusal and the rest counts.
type Decision struct {
	Refusal       error
	NeedsApproval bool
	Why           string // why a person is asked; empty when none is
	Warnings      []plan.Warning
}

// Decide is pure: same facts, same decision. The order is the contract's (Thresholds): the hard
// cap first, without a door; then everything that needs a person; else free.
// See TestS05ThresholdsSeeEveryChangedRow and TestDecideTable.
func (l Limits) Decide(m Measured) Decision {
	if m.Class == sqlguard.DDL {
		return Decision{NeedsApproval: true, Why: "You are asked because every migration asks."}
	}
	rows := max(m.AffectedRows, m.Radius.TotalRows)
	if rows > l.HardMax {
		return Decision{Refusal: HardCap(fmt.Sprintf("exactly %s", digits(rows)), l.HardMax, m.Radius)}
	}
	var d Decision
	var why []string
	rules := l.rule(m)
	if rules.refusal != nil {
		return Decision{Refusal: rules.refusal}
	}
	if rows -= rules.own; rows > l.ApprovalAbove {
		why = append(why, fmt.Sprintf("%s rows is more than %s", digits(rows), digits(l.ApprovalAbove)))
	}
	why = append(why, rules.why...)
	for _, t := range m.NotWritable {
		why = append(why, t+" is not on the write allowlist")
		d.Warnings = append(d.Warnings, plan.Warning{
			Code:    plan.WarnIndirectTable,
			Message: t + " is not on the write allowlist; it changes because the statement reaches it.",
		})
	}
	if len(m.Radius.Unknown) > 0 {
		why = append(why, "the effect could not be counted whole: "+strings.Join(m.Radius.Unknown, "; "))
		for _, u := range m.Radius.Unknown {
			d.Warnings = append(d.Warnings, plan.Warning{Code: plan.WarnRadiusUnknown, Message: "What changes could not be counted whole: " + u + "."})
		}
	}
	if len(m.Volatile) > 0 {
		names := strings.Join(m.Volatile, ", ")
		why = append(why, "the statement calls "+names)
		d.Warnings = append(d.Warnings, plan.Warning{
			Code:    plan.WarnSideEffects,
			Message: "The statement calls " + names + ", which may change data or give another answer each time.",
		})
	}
	if len(why) > 0 {
		d.NeedsApproval = true
		d.Why = "You are asked because " + strings.Join(why, ", and ") + "."
	}
	return d
}

// HardCap is the refusal above the hard cap. count is "exactly N" or "more than N".
func HardCap(count string, hardMax int64, r plan.BlastRadius) *refusal.Error {
	msg := fmt.Sprintf("The statement would change %s rows; the hard cap is %s. Nothing was changed and there is no plan.", count, digits(hardMax))
	if len(r.Tables) > 1 {
		parts := make([]string, len(r.Tables))
		for i, t := range r.Tables {
			parts[i] = fmt.Sprintf("%s %s", t.Name, digits(t.Rows()))
		}
		msg += " By table: " + strings.Join(parts, ", ") + "."
	}
	return refusal.New(refusal.HardMaxRowsExceeded, msg,
		"Narrow the WHERE and work in smaller batches, or ask the database owner; no approval can lift write.hardMaxRows.")
}

// digits renders n with thousands separators.
func digits(n int64) string {
	s := fmt.Sprint(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
