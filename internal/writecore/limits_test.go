package writecore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/writecore"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// TestDecideTable: the decision follows from class and facts alone, at each side of every border.
func TestDecideTable(t *testing.T) {
	t.Parallel()
	limits := writecore.Limits{ApprovalAbove: 100, HardMax: 10_000}
	rows := func(affected, total int64) writecore.Measured {
		return writecore.Measured{
			Class: sqlguard.Delete, AffectedRows: affected,
			Radius: plan.BlastRadius{TotalRows: total, Tables: []plan.Table{{Name: "app.a", Deleted: affected}, {Name: "app.b", Deleted: total - affected}}},
		}
	}
	with := func(m writecore.Measured, f func(*writecore.Measured)) writecore.Measured { f(&m); return m }
	for _, c := range []struct {
		name     string
		m        writecore.Measured
		refused  bool
		approval bool
		why      string
		warning  string
	}{
		{name: "nothing", m: rows(0, 0)},
		{name: "at the threshold", m: rows(100, 100)},
		{name: "one above", m: rows(101, 101), approval: true, why: "101 rows is more than 100"},
		{name: "RETURNING alone says 1, the cascade 320", m: rows(1, 321), approval: true, why: "321 rows is more than 100"},
		{name: "views count nothing, RETURNING does", m: rows(101, 0), approval: true, why: "101 rows"},
		{name: "at the cap", m: rows(10_000, 10_000), approval: true, why: "10,000 rows"},
		{name: "above the cap", m: rows(10_001, 10_001), refused: true},
		{name: "one row, a cascade above the cap", m: rows(1, 10_001), refused: true},
		{name: "unknown radius", m: with(rows(1, 1), func(m *writecore.Measured) { m.Radius.Unknown = []string{"track_counts is off"} }), approval: true, why: "track_counts is off", warning: plan.WarnRadiusUnknown},
		{name: "a table that is not on the allowlist", m: with(rows(1, 2), func(m *writecore.Measured) { m.NotWritable = []string{"app.b"} }), approval: true, why: "app.b is not on the write allowlist", warning: plan.WarnIndirectTable},
		{name: "a volatile function", m: with(rows(1, 1), func(m *writecore.Measured) { m.Volatile = []string{"app.boom"} }), approval: true, why: "app.boom", warning: plan.WarnSideEffects},
		{name: "a migration always asks", m: writecore.Measured{Class: sqlguard.DDL}, approval: true, why: "every migration asks"},
		{name: "above the cap, whatever else is true", m: with(rows(1, 10_001), func(m *writecore.Measured) { m.Volatile = []string{"app.boom"} }), refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := limits.Decide(c.m)
			require.Equal(t, c.refused, refusal.Is(d.Refusal, refusal.HardMaxRowsExceeded))
			require.Equal(t, c.approval, d.NeedsApproval)
			if c.why == "" {
				require.Empty(t, d.Why)
			} else {
				require.Contains(t, d.Why, c.why)
			}
			if c.warning != "" {
				require.Len(t, d.Warnings, 1)
				require.Equal(t, c.warning, d.Warnings[0].Code)
			}
		})
	}
}

// TestHardCapMessageNamesTables: the agent learns where the rows are.
func TestHardCapMessageNamesTables(t *testing.T) {
	t.Parallel()
	d := writecore.Limits{ApprovalAbove: 1, HardMax: 10}.Decide(writecore.Measured{
		Class: sqlguard.Delete, AffectedRows: 1,
		Radius: plan.BlastRadius{TotalRows: 10_001, Tables: []plan.Table{{Name: "app.parent", Deleted: 1}, {Name: "app.child", Deleted: 10_000}}},
	})
	r, ok := refusal.As(d.Refusal)
	require.True(t, ok)
	require.Contains(t, r.Message, "exactly 10,001 rows")
	require.Contains(t, r.Message, "app.child 10,000")
	require.NotEmpty(t, r.Hint)
}
