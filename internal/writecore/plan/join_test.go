package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

func TestJoining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		first := b.create(t, preview("DELETE FROM app.t", "rows"), true)
		time.Sleep(time.Minute)

		again := preview(" DELETE FROM app.t\n", "rows")
		again.Payload.Params[0] = json.RawMessage("1.0")
		again.Reason = "still needed"
		again.SampleRows, again.Warnings = nil, nil
		joined, ok, err := b.Create(again, true)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, first.Token, joined.Token)
		require.Equal(t, time.Now().Add(approvalTTL), joined.ExpiresAt)
		require.Equal(t, first.CreatedAt, joined.CreatedAt)
		require.Equal(t, 2, joined.PreviewCount)
		require.Equal(t, []string{"still needed"}, joined.AskedAgain)
		require.Equal(t, first.Preview, joined.Preview, "what the card shows never changes")
		require.Len(t, b.List(), 1)

		for range 2 { // the same reasons add nothing
			_, _, err = b.Create(again, true)
			require.NoError(t, err)
			joined, _, err = b.Create(preview("DELETE FROM app.t", "rows"), true)
			require.NoError(t, err)
		}
		require.Equal(t, []string{"still needed"}, joined.AskedAgain)
		require.Equal(t, 6, joined.PreviewCount)

		approved, _, err := b.Approve(first.Token, "maria")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		joined, ok, err = b.Create(again, true)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, plan.Approved, joined.State)
		require.Equal(t, approved.ExpiresAt, joined.ExpiresAt, "the person's time is not renewed by asking")

		for i := range 100 {
			again.Reason = fmt.Sprint("reason ", i) + strings.Repeat("x", 1<<16)
			joined, _, err = b.Create(again, true)
			require.NoError(t, err)
		}
		require.Len(t, joined.AskedAgain, 20)
		require.Less(t, len(joined.AskedAgain[19]), 3000)
	})
}

// Inserts have no digest: equal text and equal radius join.
func TestJoiningWithoutDigest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("INSERT INTO app.t VALUES ($1, $2)", ""), false)
	q, joined, err := b.Create(preview("INSERT INTO app.t VALUES ($1, $2)", ""), false)
	require.NoError(t, err)
	require.True(t, joined)
	require.Equal(t, p.Token, q.Token)
}

// Whatever the card shows of the world, if it differs the new plan replaces the old one.
func TestReplacing(t *testing.T) {
	t.Parallel()
	ddl := func(p *plan.Preview, lost int64, ms float64) {
		p.Facts = &plan.Facts{
			Locks: []plan.Lock{{Relation: "app.t", Mode: "AccessExclusiveLock", HeldMS: ms}}, DurationMS: ms, SizeBytes: int64(ms), Notices: []string{fmt.Sprint(ms)},
			Lost: []plan.Lost{{Relation: "app.t", Column: "c", NonNullValues: lost}},
		}
	}
	for name, c := range map[string]struct {
		change func(first, again *plan.Preview)
		joins  bool
		needs  bool
	}{
		"nothing": {func(_, _ *plan.Preview) {}, true, true},
		"rows":    {func(_, p *plan.Preview) { p.RowsDigest = "other" }, false, true},
		"number":  {func(_, p *plan.Preview) { p.AffectedRows++ }, false, true},
		"total":   {func(_, p *plan.Preview) { p.BlastRadius.TotalRows++ }, false, true},
		"one more table": {func(_, p *plan.Preview) {
			p.BlastRadius.Tables = append(p.BlastRadius.Tables, plan.Table{OID: 3, Name: "app.z", Inserted: 1})
		}, false, true},
		"sums of tables":     {func(_, p *plan.Preview) { p.BlastRadius.Tables[0].Deleted++; p.BlastRadius.Tables[1].Deleted-- }, false, true},
		"order of tables":    {func(_, p *plan.Preview) { t := p.BlastRadius.Tables; t[0], t[1] = t[1], t[0] }, true, true},
		"kind, equal sum":    {func(_, p *plan.Preview) { p.BlastRadius.Tables[1].Deleted, p.BlastRadius.Tables[1].Updated = 0, 12 }, false, true},
		"estimates":          {func(_, p *plan.Preview) { n := int64(7); p.BlastRadius.Tables[1].RowsEstimate = &n }, true, true},
		"radius now unknown": {func(_, p *plan.Preview) { p.BlastRadius.Unknown = []string{"TRUNCATE"} }, false, true},
		"facts, times only":  {func(f, p *plan.Preview) { ddl(f, 5, 1); ddl(p, 5, 2) }, true, true},
		"facts":              {func(f, p *plan.Preview) { ddl(f, 5, 1); ddl(p, 6, 1) }, false, true},
		"facts, only now":    {func(_, p *plan.Preview) { ddl(p, 5, 1) }, false, true},
		"definitions": {func(f, p *plan.Preview) {
			f.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}}
			p.Definitions = []plan.Definition{{OID: 1, Hashes: "a.c"}}
		}, false, true},
		"definitions, one more is locked": {func(f, p *plan.Preview) {
			f.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}}
			p.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}, {OID: 2, Hashes: "a.b"}}
		}, true, true},
		"definitions, one takes rows": {func(f, p *plan.Preview) {
			f.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}}
			p.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}, {OID: 2, Hashes: "a.b", Changed: true}}
		}, false, true},
		"definitions, one took rows": {func(f, p *plan.Preview) {
			p.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}}
			f.Definitions = []plan.Definition{{OID: 1, Hashes: "a.b"}, {OID: 2, Hashes: "a.b", Changed: true}}
		}, false, true},
		"facts, rows of a drop": {func(f, p *plan.Preview) {
			ddl(f, 5, 1)
			ddl(p, 5, 1)
			f.Facts.RowsLost, p.Facts.RowsLost = map[string]int64{"app.t": 3}, map[string]int64{"app.t": 4}
		}, false, true},
		"a person, now not": {func(_, _ *plan.Preview) {}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first, again := preview("DELETE FROM app.t", "rows"), preview("DELETE FROM app.t", "rows")
			c.change(&first, &again)
			old := b.create(t, first, true)
			made, joined, err := b.Create(again, c.needs)
			require.NoError(t, err)
			require.Equal(t, c.joins, joined)
			if c.joins {
				require.Empty(t, b.superseded)
				return
			}
			require.Equal(t, plan.Superseded, b.state(t, old.Token))
			require.Len(t, b.superseded, 1)
			require.Equal(t, made.Token, b.superseded[0].SupersededBy)
			require.Len(t, b.List(), 1)
		})
	}
	t.Run("nobody, now a person", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		old := b.create(t, preview("DELETE FROM app.t", "rows"), false)
		made := b.create(t, preview("DELETE FROM app.t", "rows"), true)
		require.Equal(t, plan.AwaitingApproval, made.State)
		require.Equal(t, plan.Superseded, b.state(t, old.Token))
	})
}

// Two plans of one text can be open when one was executing while the other was made.
func TestAFailedExecutionBesideANewPlan(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("DELETE FROM app.t", "rows"), false)
	x := b.begin(t, p.Token, echo(p))
	q := b.create(t, preview("DELETE FROM app.t", "rows"), false)
	x.Fail()
	require.Len(t, b.List(), 2)
	r := b.create(t, preview("DELETE FROM app.t", "others"), false)
	require.Len(t, b.superseded, 2)
	for _, old := range []plan.Token{p.Token, q.Token} {
		require.Equal(t, plan.Superseded, b.state(t, old))
	}
	require.Equal(t, []plan.Plan{r}, b.List())
}

func TestTooManyPlans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, func(o *plan.Options) { o.MaxOpen = 3 })
		text := func(i int) string { return fmt.Sprint("DELETE FROM app.t", i) }
		short := b.create(t, preview(text(0), "rows"), false)
		b.create(t, preview(text(1), "rows"), true)
		third := b.create(t, preview(text(2), "rows"), true)
		_, _, err := b.Create(preview(text(3), "rows"), true)
		r := requireCode(t, err, refusal.TooManyPlans)
		require.Contains(t, r.Message, "write.maxOpenPlans")
		require.Contains(t, r.Hint, short.ExpiresAt.UTC().Format(time.RFC3339))

		_, joined, err := b.Create(preview(text(2), "rows"), true)
		require.NoError(t, err, "joining opens nothing")
		require.True(t, joined)
		b.create(t, preview(text(2), "others"), true) // replacing opens nothing either
		require.Equal(t, plan.Superseded, b.state(t, third.Token))

		x := b.begin(t, short.Token, echo(short)) // executing is not open
		q := b.create(t, preview(text(4), "rows"), false)
		_, _, err = b.Create(preview(text(5), "rows"), true)
		requireCode(t, err, refusal.TooManyPlans)
		x.Confirm(1, time.Now())
		time.Sleep(planTTL) // what is due goes first
		b.create(t, preview(text(6), "rows"), false)
		require.Equal(t, plan.Expired, b.state(t, q.Token))
	})
}

// A refusal for lack of room replaces nothing.
func TestTooManyPlansChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *plan.Options) { o.MaxOpen = 1 })
	p := b.create(t, preview("DELETE FROM app.t", "rows"), false)
	_, _, err := b.Create(preview("DELETE FROM app.u", "rows"), false)
	requireCode(t, err, refusal.TooManyPlans)
	require.Equal(t, []plan.Plan{p}, b.List())
}

// Previewed again after a rejection, the new plan says so, with the reason.
func TestEarlierRejection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
	require.Nil(t, p.Earlier)
	_, _, err := b.Reject(p.Token, "maria", "wrong tenant")
	require.NoError(t, err)
	q := b.create(t, preview("DELETE FROM app.t ", "others"), true)
	require.Equal(t, "wrong tenant", q.Earlier.Reason)
	require.Equal(t, "maria", q.Earlier.Actor)
	_, _, err = b.Reject(q.Token, "paul", "still wrong")
	require.NoError(t, err)
	require.Equal(t, "still wrong", b.create(t, preview("DELETE FROM app.t", "rows"), true).Earlier.Reason)
	require.Nil(t, b.create(t, preview("DELETE FROM app.u", "rows"), true).Earlier)
}

func TestBadParams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, text := range []string{"", "x", `{"a":{"b":1,"b":2}}`, "1 2", "\"\xff\"", "1e" + strings.Repeat("9", 5000)} {
		p := preview("DELETE FROM app.t", "rows")
		p.Payload.Params[1] = json.RawMessage(text)
		_, _, err := b.Create(p, true)
		require.Contains(t, requireCode(t, err, refusal.InvalidInput).Message, "params[1]: ")
	}
	require.Empty(t, b.List())
}

// Copies are handed out and copies are kept: changing one changes nothing.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	given := preview("DELETE FROM app.t", "rows")
	given.Changes = []plan.Change{{Key: plan.Row{{Column: "id"}}}}
	given.Facts = &plan.Facts{Scans: []string{"app.t"}}
	made := b.create(t, given, true)
	want, _ := b.Get(made.Token)
	spoil := func(p *plan.Preview) {
		p.Payload.Params[0] = json.RawMessage("666")
		p.BlastRadius.Tables[0].Name = "spoilt"
		p.SampleRows[0][0].Column = "spoilt"
		p.Changes[0].Key[0].Column = "spoilt"
		p.Warnings[0].Code = "spoilt"
		p.Facts.Scans[0] = "spoilt"
		_ = append(p.Warnings[:0], plan.Warning{Code: "spoilt"})
	}
	spoil(&given)
	spoil(&made.Preview)
	got, _ := b.Get(made.Token)
	require.Equal(t, want, got)
	spoil(&b.List()[0].Preview)
	got, _ = b.Get(made.Token)
	require.Equal(t, want, got)
	_, _, err := b.Approve(made.Token, "maria")
	require.NoError(t, err)
	got, _ = b.Get(made.Token)
	got.Decision.Actor = "spoilt"
	x := b.begin(t, made.Token, echo(want))
	p := x.Plan()
	require.Equal(t, "maria", p.Decision.Actor)
	require.Equal(t, "checked", p.Work)
	spoil(&p.Preview)
	require.Equal(t, want.Preview, x.Plan().Preview)
}
