package plan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// What was given back is held against what was previewed, by value.
func TestEcho(t *testing.T) {
	t.Parallel()
	const statement = "UPDATE app.t SET a = $1 WHERE b = $2"
	given := preview(statement, "rows")
	given.Payload = payload(statement, `1`, `"x"`, `{"a":1,"b":[9007199254740993,null]}`, `9007199254740993`, `"1"`)
	good := func() *plan.Payload {
		p := payload(statement, `1`, `"x"`, `{"a":1,"b":[9007199254740993,null]}`, `9007199254740993`, `"1"`)
		return &p
	}
	changed := func(change func(*plan.Payload)) plan.Echo {
		p := good()
		change(p)
		return plan.Echo{Payload: p}
	}
	param := func(i int, text string) plan.Echo {
		return changed(func(p *plan.Payload) { p.Params[i] = json.RawMessage(text) })
	}
	fingerprint, err := plan.FingerprintOf(given.Payload)
	require.NoError(t, err)

	for name, e := range map[string]plan.Echo{
		"exactly":                    {Payload: good()},
		"with fingerprint":           {Payload: good(), Fingerprint: fingerprint},
		"white space around":         changed(func(p *plan.Payload) { p.Statement = "\n\t " + statement + " \r\n" }),
		"1 as 1.0":                   param(0, "1.0"),
		"1 as 10e-1":                 param(0, "10e-1"),
		"object keys in other order": param(2, `{ "b": [9007199254740993.0, null], "a": 1 }`),
		"large number as string":     param(3, `"9007199254740993"`),
		"escaped string":             param(1, `"\u0078"`),
		"fingerprint for params":     {Payload: &plan.Payload{Statement: statement}, Fingerprint: fingerprint},
		"fingerprint, upper case":    {Payload: &plan.Payload{Statement: " " + statement}, Fingerprint: plan.Fingerprint(" " + strings.ToUpper(string(fingerprint)))},
	} {
		t.Run("fits/"+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.create(t, given, false)
			require.NoError(t, b.Await(t.Context(), p.Token, e))
			b.begin(t, p.Token, e)
		})
	}

	for name, c := range map[string]struct {
		echo plan.Echo
		says string
	}{
		"nothing":                     {plan.Echo{}, "The statement is not the one"},
		"fingerprint alone":           {plan.Echo{Fingerprint: fingerprint}, "The statement is not the one"},
		"other statement":             {changed(func(p *plan.Payload) { p.Statement += " OR true" }), "The statement is not the one"},
		"case of the statement":       {changed(func(p *plan.Payload) { p.Statement = strings.ToLower(p.Statement) }), "The statement is not the one"},
		"white space inside":          {changed(func(p *plan.Payload) { p.Statement = strings.Replace(p.Statement, " ", "  ", 1) }), "The statement is not the one"},
		"no-break space around":       {changed(func(p *plan.Payload) { p.Statement += "\u00a0" }), "The statement is not the one"},
		"other statement, right hash": {plan.Echo{Payload: &plan.Payload{Statement: statement + ";"}, Fingerprint: fingerprint}, "The statement is not the one"},
		"no params":                   {changed(func(p *plan.Payload) { p.Params = nil }), "The preview had 5 params, 0 were given back"},
		"empty params, right hash":    {plan.Echo{Payload: &plan.Payload{Statement: statement, Params: []json.RawMessage{}}, Fingerprint: fingerprint}, "The preview had 5 params"},
		"no params, wrong hash":       {plan.Echo{Payload: &plan.Payload{Statement: statement}, Fingerprint: "00"}, "The fingerprint is not the plan's"},
		"right params, wrong hash":    {plan.Echo{Payload: good(), Fingerprint: "00"}, "The fingerprint is not the plan's"},
		"one more":                    {changed(func(p *plan.Payload) { p.Params = append(p.Params, json.RawMessage("null")) }), "6 were given back"},
		"reordered":                   {changed(func(p *plan.Payload) { p.Params[0], p.Params[1] = p.Params[1], p.Params[0] }), "params[0] is not the value"},
		"1 as \"1\"":                  {param(0, `"1"`), "params[0] is not the value"},
		"\"1\" as 1":                  {param(4, `1`), "params[4] is not the value"},
		"…993 to …992":                {param(3, `9007199254740992`), "params[3] is not the value"},
		"…993 to …992 in an object":   {param(2, `{"a":1,"b":[9007199254740992,null]}`), "params[2] is not the value"},
		"null for an object":          {param(2, `null`), "params[2] is not the value"},
		"not JSON":                    {param(2, `{"a":`), "params[2]: is not complete JSON"},
	} {
		t.Run("differs/"+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.create(t, given, true) // a mismatch answers at once, also where a person is awaited
			r := requireCode(t, b.Await(t.Context(), p.Token, c.echo), refusal.StatementMismatch)
			require.Contains(t, r.Message, c.says)
			require.Contains(t, r.Hint, "exactly as in the preview")
			_, _, err := b.Approve(p.Token, "maria")
			require.NoError(t, err)
			_, err = b.Begin(p.Token, c.echo)
			requireCode(t, err, refusal.StatementMismatch)
			require.Equal(t, plan.Approved, b.state(t, p.Token), "a wrong echo costs the plan nothing")
		})
	}
}

// Where several gates are shut, the first of the contract's order speaks: each state here also has
// a wrong echo and (where it can) is long expired.
func TestGatesInOrder(t *testing.T) {
	t.Parallel()
	wrong := plan.Echo{Payload: &plan.Payload{Statement: "DELETE FROM app.other"}}
	for state, code := range map[plan.State]refusal.Code{
		nowhere: refusal.UnknownToken, plan.Rejected: refusal.PlanRejected, plan.Superseded: refusal.SupersededPlan,
		plan.Executed: refusal.UsedToken, plan.Executing: refusal.AlreadyExecuting, plan.Unknown: refusal.OutcomeUnknown,
		plan.Stopped: refusal.RowsetChanged, plan.Previewed: refusal.ExpiredToken, plan.AwaitingApproval: refusal.ExpiredToken,
		plan.Approved: refusal.ExpiredToken, plan.Expired: refusal.ExpiredToken,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &situation{b: setup(t), given: preview("DELETE FROM app.t", "rows")}
				arrange[state](t, s)
				time.Sleep(approvalTTL + planTTL)
				requireCode(t, s.b.Await(t.Context(), s.token, wrong), code)
				_, err := s.b.Begin(s.token, wrong)
				requireCode(t, err, code)
			})
		})
	}
}

// What a refusal tells is what the one who reads it needs next.
func TestRefusalsSayWhatHappenedAndWhatToDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := func(state plan.State) (*refusal.Error, *situation) {
			s := &situation{b: setup(t), given: preview("DELETE FROM app.t", "rows")}
			arrange[state](t, s)
			_, err := s.b.Begin(s.token, echoOf(s.given))
			r, ok := refusal.As(err)
			require.True(t, ok)
			return r, s
		}
		start := time.Now().UTC().Format(time.RFC3339)

		r, _ := refused(plan.Executed)
		require.Equal(t, "This plan was already executed at "+start+" and changed 8 rows of its target.", r.Message)
		r, _ = refused(plan.Rejected)
		require.Equal(t, "A person rejected this plan at "+start+`; the reason given: "wrong tenant".`, r.Message)
		require.Contains(t, r.Hint, "without asking the person")
		r, s := refused(plan.Superseded)
		old, _ := s.b.Get(s.token)
		require.Contains(t, r.Hint, string(old.SupersededBy))
		r, s = refused(plan.AwaitingApproval)
		waiting, _ := s.b.Get(s.token)
		require.Contains(t, r.Message, waiting.ExpiresAt.UTC().Format(time.RFC3339))
		require.Contains(t, r.Hint, "same plan_token")
		r, _ = refused(plan.Stopped)
		require.Equal(t, "The rows changed.", r.Message)
		r, s = refused(plan.Unknown)
		require.Contains(t, r.Message, "The connection was lost.")
		require.Contains(t, r.Hint, string(s.token))
		r, s = refused(plan.Expired)
		gone, _ := s.b.Get(s.token)
		require.Contains(t, r.Message, gone.ExpiresAt.UTC().Format(time.RFC3339))
	})
}

// One second before the end a plan runs, at the end it does not.
func TestExpiryIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		early := b.create(t, preview("DELETE FROM app.a", "rows"), false)
		late := b.create(t, preview("DELETE FROM app.b", "rows"), false)
		require.Equal(t, time.Now().Add(planTTL), late.ExpiresAt)
		time.Sleep(planTTL - time.Second)
		b.begin(t, early.Token, echo(early)).Confirm(8, time.Now())
		time.Sleep(time.Second)
		_, err := b.Begin(late.Token, echo(late))
		requireCode(t, err, refusal.ExpiredToken)
		_, _, err = b.Approve(late.Token, "maria")
		requireCode(t, err, refusal.ExpiredToken)
		_, _, err = b.Reject(late.Token, "maria", "no")
		requireCode(t, err, refusal.ExpiredToken)
	})
}

// Options.Now rules, not the timer: a plan is over as soon as that clock says so.
func TestTheGivenClockRules(t *testing.T) {
	t.Parallel()
	clock := time.Now().Round(0)
	b := setup(t, func(o *plan.Options) { o.Now = func() time.Time { return clock } })
	p := b.create(t, preview("DELETE FROM app.t", "rows"), false)
	clock = clock.Add(planTTL)
	_, err := b.Begin(p.Token, echo(p))
	requireCode(t, err, refusal.ExpiredToken)
}

// An approval gives at least PlanTTL more, and takes nothing away.
func TestApprovalRenews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
		q := b.create(t, preview("DELETE FROM app.u", "rows"), true)
		approved, _, err := b.Approve(q.Token, "  ")
		require.NoError(t, err)
		require.Equal(t, q.ExpiresAt, approved.ExpiresAt)
		require.Equal(t, "unknown", approved.Decision.Actor)
		time.Sleep(approvalTTL - time.Second)
		approved, _, err = b.Approve(p.Token, "maria")
		require.NoError(t, err)
		require.Equal(t, time.Now().Add(planTTL), approved.ExpiresAt)
		require.Equal(t, &plan.Decision{Actor: "maria", At: time.Now()}, approved.Decision)
	})
}

// A long reason is kept, but not without end; white space around it goes.
func TestDecisionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.create(t, preview("DELETE FROM app.t", "rows"), true)
	rejected, _, err := b.Reject(p.Token, strings.Repeat("m", 1<<20), "  "+strings.Repeat("é", 1<<20))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 2000)+"…", rejected.Decision.Reason)
	require.Equal(t, strings.Repeat("m", 200)+"…", rejected.Decision.Actor)
}
