package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// deletes are the arguments of a change of one row, another for each n.
func deletes(n int) args { return writers()[0].write.args(n) }

// decidedBy is who approved a plan, as the audit table has it.
func decidedBy(t testing.TB, db *pgtemp.DB, token string) []string {
	t.Helper()
	var out []string
	for _, row := range db.Query(t, "SELECT approved_by FROM mcp_audit.log WHERE plan_token = $1 AND status = 'approved' ORDER BY id", token) {
		out = append(out, row[0])
	}
	return out
}

// A person says yes, and that very plan is committed: by every writing tool, on every channel.
func TestElicitationYesCommits(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, time.Minute, nil), e, plainForms)
		eventually(t, "the start warns", func() bool { return strings.Contains(s.log(), "WARNING: approval.channel is "+channel) })
		for _, r := range writers() {
			if r.tool == "run_migration" {
				continue // the page's alone: TestElicitationPageOnly
			}
			p := s.plans(r.tool, r.write.args(1))
			require.Contains(t, p.Message, "asked here as soon as you call execute_plan")
			require.NotEmpty(t, p.ApprovalURL)
			o := s.opens(p)
			require.Contains(t, o.q.Message, p.Target)
			require.Contains(t, o.q.Message, "Statement: "+p.Statement)
			require.Contains(t, o.q.Message, "Rows that change in all: 1")
			require.NotContains(t, o.q.Message, s.secret())
			require.Equal(t, []string{"approve"}, o.q.Schema.Required)
			require.Equal(t, "boolean", o.q.Schema.Properties["approve"].Type)
			require.False(t, *o.q.Schema.Properties["approve"].Default, "the box is ticked before anybody saw it")
			require.Zero(t, executedRows(t, db, p.Token))
			o.answers(ticked)
			o.ends().ok(t, nil)
			require.True(t, r.write.done(t, db, 1), r.tool)
			require.Equal(t, []string{"elicitation:tests"}, decidedBy(t, db, p.Token))
			require.Equal(t, 1, executedRows(t, db, p.Token))
			s.unasked(p, nil).refused(t, refusal.UsedToken)
		}
	})
}

// noYes are answers of which none is a yes.
var noYes = map[string]any{
	"declined":             map[string]any{"action": "decline"},
	"declined, ticked":     map[string]any{"action": "decline", "content": map[string]any{"approve": true}},
	"cancelled":            map[string]any{"action": "cancel"},
	"cancelled, ticked":    map[string]any{"action": "cancel", "content": map[string]any{"approve": true}},
	"unticked":             accept(map[string]any{"approve": false}),
	"empty form":           accept(map[string]any{}),
	"no form":              map[string]any{"action": "accept"},
	"null form":            accept(nil),
	"a list":               accept([]any{true}),
	"true":                 accept(true),
	"the text true":        accept(map[string]any{"approve": "true"}),
	"one":                  accept(map[string]any{"approve": 1}),
	"null":                 accept(map[string]any{"approve": nil}),
	"nested":               accept(map[string]any{"approve": map[string]any{"approve": true}}),
	"another case":         accept(map[string]any{"Approve": true}),
	"another word":         accept(map[string]any{"approved": true}),
	"more than was asked":  accept(map[string]any{"approve": true, "auto_approve": true, "confirm": true}),
	"a number nobody asks": accept(map[string]any{"approve": true, "rows": "1"}),
	"twice":                accept(json.RawMessage(`{"approve": false, "approve": true}`)),
	"another action":       map[string]any{"action": "approve", "content": map[string]any{"approve": true}},
	"action in capitals":   map[string]any{"action": "Accept", "content": map[string]any{"approve": true}},
	"no action":            map[string]any{"content": map[string]any{"approve": true}},
	"an action that is no": map[string]any{"action": true, "content": map[string]any{"approve": true}},
	"action twice":         json.RawMessage(`{"action": "decline", "action": "accept", "content": {"approve": true}}`),
	"nothing":              map[string]any{},
	"a text":               "accept",
	"a null":               nil,
	"an error":             rpcFailure,
}

// Whatever else comes back: nothing is approved, nothing is rejected, and the page still decides.
func TestElicitationOnlyAYesCommits(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, 300*time.Millisecond, map[string]any{"write": map[string]any{"maxOpenPlans": 100}}), e, plainForms)
		before := snapshot(t, db)
		n, tokens := 0, []string{}
		for name, answer := range noYes {
			n++
			p := s.plans("delete_rows", deletes(n))
			tokens = append(tokens, p.Token)
			o := s.opens(p)
			o.answers(answer)
			got := o.ends()
			require.Equal(t, string(refusal.AwaitingApproval), got.code, "%s: %s", name, got.message)
		}
		require.ElementsMatch(t, tokens, s.waiting())
		require.Equal(t, before, snapshot(t, db))
		require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed', 'rejected', 'failed')"))
		s.approve(tokens[0])
		s.approve(tokens[1])
	})
}

// A declined question is not asked again, others are, three times at most; then the page alone decides.
func TestElicitationIsNotRepeated(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, 2*time.Second, nil), e, plainForms)
		p := s.plans("delete_rows", deletes(1))
		o := s.opens(p)
		o.answers(map[string]any{"action": "decline"})
		o.ends().refused(t, refusal.AwaitingApproval)
		again := s.plans("delete_rows", deletes(1))
		require.Equal(t, p.Token, again.Token)
		require.NotContains(t, again.Message, "asked here")
		s.unasked(p, nil).refused(t, refusal.AwaitingApproval)
		s.approve(p.Token)
		s.unasked(p, nil).ok(t, nil)
		require.Equal(t, []string{"Ada"}, decidedBy(t, db, p.Token))

		p = s.plans("delete_rows", deletes(2))
		for range 3 {
			o = s.opens(p)
			o.answers(accept(map[string]any{"approve": false}))
			o.ends().refused(t, refusal.AwaitingApproval)
		}
		s.unasked(p, nil).refused(t, refusal.AwaitingApproval)
		require.Equal(t, []string{p.Token}, s.waiting())
		require.Zero(t, executedRows(t, db, p.Token))
	})
}

// Above approvalServer.confirmAboveRows the number is typed, as on the page; only that number counts.
func TestElicitationTypedNumber(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, 300*time.Millisecond, map[string]any{
			"approvalServer": map[string]any{"confirmAboveRows": 1, "port": 0}, "write": map[string]any{"maxOpenPlans": 100},
		}), e, plainForms)
		before := snapshot(t, db)
		two := func(n int) args {
			return args{"table": "app.item", "where": "id IN ($1, $2)", "params": []any{2*n - 1, 2 * n}, "reason": "t"}
		}
		for n, content := range []map[string]any{
			{"approve": true},
			{"approve": true, "rows": "1"},
			{"approve": true, "rows": ""},
			{"approve": true, "rows": "02"},
			{"approve": true, "rows": 2},
			{"approve": true, "rows": "2.0"},
			{"approve": true, "rows": "22"},
			{"approve": true, "rows": nil},
			{"approve": false, "rows": "2"},
			{"rows": "2"},
			{"approve": true, "number": "2"},
		} {
			o := s.opens(s.plans("delete_rows", two(n+1)))
			require.ElementsMatch(t, []string{"approve", "rows"}, o.q.Schema.Required)
			require.Equal(t, "string", o.q.Schema.Properties["rows"].Type)
			o.answers(accept(content))
			got := o.ends()
			require.Equal(t, string(refusal.AwaitingApproval), got.code, "%v: %s", content, got.text)
		}
		require.Equal(t, before, snapshot(t, db))
	})
	db := world(t)
	s := askingOn(t, db, channelOf("both", time.Minute, map[string]any{"approvalServer": map[string]any{"confirmAboveRows": 1, "port": 0}}), era2025b, plainForms)
	o := s.opens(s.plans("delete_rows", args{"table": "app.item", "where": "id IN (1, 2)", "reason": "t"}))
	o.answers(accept(map[string]any{"approve": true, "rows": " 2 "}))
	o.ends().ok(t, nil)
}

// What the page alone decides is never asked, whatever the client would answer (S07).
func TestElicitationPageOnly(t *testing.T) {
	t.Parallel()
	forChannels(t, func(t *testing.T, channel string, e era) {
		db := world(t)
		s := askingOn(t, db, channelOf(channel, 100*time.Millisecond, map[string]any{"approval": map[string]any{"pageOnlyAboveRows": 2}}), e, plainForms)
		db.Exec(t, `CREATE TABLE app.emptied (id integer); CREATE TABLE app.empties (id integer PRIMARY KEY);
			CREATE FUNCTION app.empty_it() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN TRUNCATE app.emptied; RETURN NEW; END $$;
			CREATE TRIGGER empty_it AFTER INSERT ON app.empties FOR EACH ROW EXECUTE FUNCTION app.empty_it();
			GRANT ALL ON app.empties TO writer; GRANT SELECT ON app.empties TO readonly`)
		before := snapshot(t, db)
		uncounted := s.plans("insert_rows", args{"table": "app.empties", "columns": []any{"id"}, "rows": []any{[]any{1}}, "reason": "t"})
		require.True(t, uncounted.warned("RADIUS_UNKNOWN"), "%v", uncounted.Warnings)
		for name, p := range map[string]preview{
			"an effect that is not counted": uncounted,
			"a migration":                   s.plans("run_migration", args{"statement": "CREATE TABLE app.made_9 (id integer)", "reason": "t"}),
			"too many rows":                 s.plans("delete_rows", args{"table": "app.item", "where": "id <= 3", "reason": "t"}),
			"too many in all":               s.plans("insert_rows", args{"table": "app.lazy", "columns": []any{"id"}, "rows": []any{[]any{1}}, "reason": "t"}),
		} {
			require.NotContains(t, p.Message, "asked here", name)
			s.unasked(p, nil).refused(t, refusal.AwaitingApproval)
			s.unasked(p, map[string]any{"approve": ticked, "": ticked}).refused(t, refusal.AwaitingApproval)
			require.Contains(t, s.waiting(), p.Token, name)
		}
		require.Equal(t, before, snapshot(t, db))
		// The limit itself may be asked about; and what a person rejected is the page's from then on.
		p := s.plans("delete_rows", args{"table": "app.item", "where": "id <= 2", "reason": "t"})
		require.Equal(t, http.StatusOK, s.reject(p.Token, "no").status)
		p = s.plans("delete_rows", args{"table": "app.item", "where": "id <= 2", "reason": "t"})
		require.True(t, p.warned("REJECTED_BEFORE"))
		s.unasked(p, nil).refused(t, refusal.AwaitingApproval)
		require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
	})
}

// With a PIN every decision is on the page, whatever the channel.
func TestElicitationNeverWithAPIN(t *testing.T) {
	t.Parallel()
	db := world(t)
	for _, e := range eras {
		s := askingOn(t, db, channelOf("both", 100*time.Millisecond, map[string]any{
			"approvalServer": map[string]any{"port": 0, "pinHash": "$argon2id$v=19$m=8192,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$c3Vtc3Vtc3Vtc3Vtc3Vtc3Vtc3Vtc3Vtc3Vtc3Vtc3U"},
		}), e, plainForms)
		eventually(t, "the start says so", func() bool { return strings.Contains(s.log(), "every decision is on the page") })
		p := s.plans("delete_rows", deletes(1))
		s.unasked(p, map[string]any{"approve": ticked}).refused(t, refusal.AwaitingApproval)
		s.unasked(p, nil).refused(t, refusal.AwaitingApproval)
	}
	require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
}

// Who did not declare the capability, or not for this version or this request, is not asked; and what
// such a client answers without a question is nothing.
func TestElicitationCapability(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		era  era
		caps map[string]any
		asks bool
	}{
		"nothing":                    {era2025a, nothing, false},
		"null":                       {era2025a, map[string]any{"elicitation": nil}, false},
		"other things":               {era2025b, map[string]any{"sampling": map[string]any{}, "roots": map[string]any{}}, false},
		"experimental":               {era2025b, map[string]any{"experimental": plainForms}, false},
		"a version without it":       {"2025-03-26", plainForms, false},
		"the first version":          {"2024-11-05", plainForms, false},
		"empty":                      {era2025a, plainForms, true},
		"form":                       {era2025b, map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}, true},
		"form and url":               {era2025b, map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}}, true},
		"nothing in this request":    {era2026, nothing, false},
		"null in this request":       {era2026, map[string]any{"elicitation": nil}, false},
		"form in this request":       {era2026, plainForms, true},
		"url before there were urls": {era2025a, urlOnly, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := world(t)
			s := askingOn(t, db, channelOf("both", 300*time.Millisecond, nil), c.era, c.caps)
			p := s.begins("delete_rows", deletes(1), nil)
			if c.era < era2025a { // no structuredContent there
				require.Contains(t, string(p.wait().Result), "awaiting_approval")
				return
			}
			var plan preview
			p.reply().ok(t, &plan)
			if c.asks {
				require.Contains(t, plan.Message, "asked here")
				s.opens(plan)
				return
			}
			require.NotContains(t, plan.Message, "asked here")
			for _, id := range []string{`"sw-question-1"`, "1", `"1"`} {
				s.responds(id, ticked)
			}
			s.unasked(plan, map[string]any{"approve": ticked, "sw-question-1": ticked, plan.Token: ticked}).refused(t, refusal.AwaitingApproval)
			if c.era.modern() { // asked in one request, and answered in another that declares nothing
				s.caps = plainForms
				o := s.opens(plan)
				s.caps = nothing
				o.answers(map[string]any{"action": "decline"})
				o.ends().refused(t, refusal.AwaitingApproval)
			}
			require.Equal(t, []string{plan.Token}, s.waiting())
			require.Zero(t, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status IN ('approved', 'executed')"))
		})
	}
}

// A client that only opens addresses is led to the page, without its secret; that decides nothing.
func TestElicitationURLOnlyPoints(t *testing.T) {
	t.Parallel()
	for _, e := range []era{era2025b, era2026} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			db := world(t)
			s := askingOn(t, db, channelOf("both", time.Second, nil), e, urlOnly)
			p := s.plans("delete_rows", deletes(1))
			require.NotContains(t, p.Message, "asked here")
			o := s.opens(p)
			require.Equal(t, "url", o.q.Mode)
			require.Equal(t, p.ApprovalURL, o.q.URL)
			require.NotContains(t, o.q.URL+o.q.Message, s.secret())
			o.answers(ticked)
			o.ends().refused(t, refusal.AwaitingApproval)
			s.unasked(p, nil).refused(t, refusal.AwaitingApproval)
			s.approve(p.Token)
			s.unasked(p, nil).ok(t, nil)
			require.Equal(t, []string{"Ada"}, decidedBy(t, db, p.Token))
		})
	}
}

// Where there is no page, a plan is made only for a client that can be asked about it, and a plan about
// which nobody can be asked any more says so.
func TestElicitationWithoutAPage(t *testing.T) {
	t.Parallel()
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			db := world(t)
			o := channelOf("elicitation", time.Minute, map[string]any{"approvalServer": map[string]any{"enabled": false}})
			s := askingOn(t, db, o, e, plainForms)
			p := s.plans("delete_rows", deletes(1))
			require.Empty(t, p.ApprovalURL)
			require.NotContains(t, p.Message, "http")
			q := s.opens(p)
			require.NotContains(t, q.q.Message, "http")
			q.answers(ticked)
			q.ends().ok(t, nil)

			s.begins("run_migration", args{"statement": "CREATE TABLE app.made_9 (id integer)", "reason": "t"}, nil).reply().refused(t, refusal.ApprovalUnavailable)
			p = s.plans("delete_rows", deletes(2))
			q = s.opens(p)
			q.answers(map[string]any{"action": "decline"})
			q.ends().refused(t, refusal.ApprovalUnavailable)
			s.unasked(p, nil).refused(t, refusal.ApprovalUnavailable)

			p = s.plans("delete_rows", deletes(3))
			for i := range 3 {
				q = s.opens(p)
				q.answers(map[string]any{"action": "cancel"})
				if i < 2 {
					q.ends().refused(t, refusal.AwaitingApproval)
					continue
				}
				q.ends().refused(t, refusal.ApprovalUnavailable)
			}
			s.unasked(p, nil).refused(t, refusal.ApprovalUnavailable)
			require.Equal(t, 1, executedRows(t, db, ""))

			mute := askingOn(t, db, o, e, nothing)
			mute.begins("delete_rows", deletes(4), nil).reply().refused(t, refusal.ApprovalUnavailable)
		})
	}
}

// The name of a client is its own word: bounded, and nothing in it that is not seen.
func TestElicitationNamesTheClient(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := askingOn(t, db, channelOf("both", time.Minute, nil), era2026, plainForms)
	for i, c := range []struct{ name, want string }{
		{"", "elicitation:unknown"},
		{"Ada\u202e\x00\n<b>", "elicitation:Ada<b>"},
		{strings.Repeat("é", 500), "elicitation:" + strings.Repeat("é", 100)},
	} {
		s.name = c.name
		p := s.plans("delete_rows", deletes(i+1))
		o := s.opens(p)
		o.answers(ticked)
		o.ends().ok(t, nil)
		require.Equal(t, []string{c.want}, decidedBy(t, db, p.Token), fmt.Sprintf("%q", c.name))
	}
}
