package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	radius := func(change ...func(*plan.BlastRadius)) plan.BlastRadius {
		r := plan.BlastRadius{
			TotalRows: 48, Unknown: []string{"app.far is a foreign table"},
			Tables: []plan.Table{{OID: 1, Name: "app.t", Deleted: 8}, {OID: 2, Name: "app.child", Deleted: 30, Updated: 10}},
		}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	table := func(i int, change func(*plan.Table)) func(*plan.BlastRadius) {
		return func(r *plan.BlastRadius) { change(&r.Tables[i]) }
	}
	more := func(added plan.Table) func(*plan.BlastRadius) {
		return func(r *plan.BlastRadius) { r.Tables = append(r.Tables, added) }
	}
	unknown := func(reasons ...string) func(*plan.BlastRadius) {
		return func(r *plan.BlastRadius) { r.Unknown = reasons }
	}
	for name, c := range map[string]struct {
		approved, now plan.BlastRadius
		want          string
	}{
		"the same":              {radius(), radius(), ""},
		"nothing":               {plan.BlastRadius{}, plan.BlastRadius{}, ""},
		"one row more":          {radius(), radius(table(1, func(t *plan.Table) { t.Updated++ })), "app.child: 40 rows when it was previewed, 41 now"},
		"one row":               {radius(table(0, func(t *plan.Table) { t.Deleted = 1 })), radius(), "app.t: 1 row when it was previewed, 8 now"},
		"another kind":          {radius(), radius(table(1, func(t *plan.Table) { t.Deleted, t.Updated, t.Inserted = 0, 0, 40 })), "app.child: 10 updated, 30 deleted when it was previewed, 40 inserted now"},
		"another estimate":      {radius(), radius(table(1, func(t *plan.Table) { n := int64(9); t.RowsEstimate = &n })), ""},
		"another order":         {radius(), radius(func(r *plan.BlastRadius) { r.Tables[0], r.Tables[1] = r.Tables[1], r.Tables[0] }), ""},
		"between tables":        {radius(), radius(func(r *plan.BlastRadius) { r.Tables[0].Deleted++; r.Tables[1].Deleted-- }), "app.t: 8 rows when it was previewed, 9 now"},
		"a new table":           {radius(), radius(more(plan.Table{OID: 3, Name: "app.new", Inserted: 2})), "app.new: 0 rows when it was previewed, 2 now"},
		"a table gone":          {radius(), radius(func(r *plan.BlastRadius) { r.Tables = r.Tables[:1] }), "app.child: 40 rows when it was previewed, 0 now"},
		"a table of no rows":    {radius(), radius(more(plan.Table{OID: 3, Name: "app.new"})), ""},
		"renamed":               {radius(), radius(table(1, func(t *plan.Table) { t.Name = "app.kid" })), ""},
		"another of that name":  {radius(), radius(table(1, func(t *plan.Table) { t.OID = 9 })), "app.child: 40 rows when it was previewed, 0 now"},
		"no OID when previewed": {radius(table(1, func(t *plan.Table) { t.OID = 0 })), radius(), ""},
		"no OID now":            {radius(), radius(table(1, func(t *plan.Table) { t.OID, t.Deleted = 0, 31 })), "app.child: 40 rows when it was previewed, 41 now"},
		"no OID at all":         {radius(table(1, func(t *plan.Table) { t.OID = 0 })), radius(table(1, func(t *plan.Table) { t.OID = 0 })), ""},
		"one table twice":       {radius(), radius(table(1, func(t *plan.Table) { t.Deleted-- }), more(plan.Table{OID: 2, Name: "app.child", Deleted: 1})), ""},
		"total alone":           {radius(), radius(func(r *plan.BlastRadius) { r.TotalRows++ }), "48 rows in all when it was previewed, 49 now"},
		"a new reason": {
			radius(), radius(unknown("app.far is a foreign table", "app.x was locked as TRUNCATE locks")),
			"what changes cannot be counted whole, for a reason that is new: app.x was locked as TRUNCATE locks",
		},
		"another reason": {
			radius(), radius(unknown("track_counts is off")),
			"what changes cannot be counted whole, for a reason that is new: track_counts is off",
		},
		"a reason gone": {
			radius(), radius(unknown()),
			"a reason why what changes could not be counted whole is gone: app.far is a foreign table",
		},
		"reasons in another order": {radius(unknown("a", "b")), radius(unknown("b", "a")), ""},
		"rows before reasons":      {radius(), radius(unknown("a"), table(0, func(t *plan.Table) { t.Deleted = 7 })), "app.t: 8 rows when it was previewed, 7 now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.approved.Difference(c.now))
			if c.want == "" {
				require.Empty(t, c.now.Difference(c.approved), "the same, whichever way one looks")
			} else {
				require.NotEmpty(t, c.now.Difference(c.approved))
			}
		})
	}
}

// Whoever finds out that a plan was executed says it in the same words.
func TestUsedTokenError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ at, rows, want string }{
		{"2026-07-01T10:00:00Z", "8", "This plan was already executed at 2026-07-01T10:00:00Z and changed 8 rows of its target."},
		{"2026-07-01T10:00:00Z", "1", "This plan was already executed at 2026-07-01T10:00:00Z and changed 1 row of its target."},
		{"2026-07-01T10:00:00Z", "", "This plan was already executed at 2026-07-01T10:00:00Z."},
		{"", "", "This plan was already executed."},
	} {
		r := plan.UsedTokenError(c.at, c.rows)
		requireCode(t, r, "USED_TOKEN")
		require.Equal(t, c.want, r.Message)
	}
}
