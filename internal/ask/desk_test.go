package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/ask"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// reviewer remembers who approved what.
type reviewer struct {
	mu       sync.Mutex
	approved []string
	changed  error
	open     []plan.Plan
}

func (r *reviewer) Plans(bool) []plan.Plan { return r.open }

func (r *reviewer) Recheck(context.Context, plan.Token) error { return r.changed }

func (r *reviewer) Approve(_ context.Context, t plan.Token, actor string) (plan.Plan, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.approved = append(r.approved, string(t)+" by "+actor)
	return plan.Plan{}, false, nil
}

type bench struct {
	*reviewer
	*ask.Desk
	page  string
	typed string
}

func setup(wait time.Duration) *bench {
	b := &bench{reviewer: &reviewer{}, page: "http://127.0.0.1:4319/"}
	b.Desk = ask.New(ask.Options{
		Reviewer: b.reviewer,
		Say: func(plan.Preview) ask.Said {
			return ask.Said{Sentence: "Delete 3 rows from a.b.", Deed: "delete 3 rows", Typed: b.typed, Accepts: func(s string) bool { return s == b.typed }}
		},
		PageURL: func() string { return b.page }, PageOnlyAbove: 10, Wait: wait,
	})
	return b
}

// deletion is a plan of three rows.
func deletion(token string) plan.Plan {
	return plan.Plan{
		Token: plan.Token(token), State: plan.AwaitingApproval, ExpiresAt: time.Now().Add(time.Hour),
		Preview: plan.Preview{
			Tool: "delete_rows", Target: "a.b", AffectedRows: 3, Reason: "because", Why: "You are asked because 3 rows is more than 2.",
			Payload:     plan.Payload{Statement: "DELETE FROM a.b WHERE id < $1", Params: []json.RawMessage{json.RawMessage("4")}},
			BlastRadius: plan.BlastRadius{TotalRows: 3, Tables: []plan.Table{{Name: "a.b", Deleted: 3}}},
		},
	}
}

// wanted is the question of a client that may not be asked while a call waits.
func (b *bench) wanted(t *testing.T, p plan.Plan) ask.Question {
	t.Helper()
	err := b.Turn(&ask.Client{Way: ask.Form}).Before(t.Context(), p)
	w, ok := errors.AsType[*ask.Wanted](err)
	require.True(t, ok, "%v", err)
	require.True(t, refusal.Is(err, refusal.AwaitingApproval), "who does not know it takes it for what it is")
	return w.Question
}

func (b *bench) answer(t *testing.T, p plan.Plan, id, answer string) error {
	t.Helper()
	return b.Turn(&ask.Client{Name: "c", Way: ask.Form, Answers: map[string]json.RawMessage{id: json.RawMessage(answer)}}).Before(t.Context(), p)
}

const yesAnswer = `{"action":"accept","content":{"approve":true}}`

// Of all answers only one approves.
func TestOnlyAYesIsAYes(t *testing.T) {
	t.Parallel()
	yes := map[string]bool{yesAnswer: true, ` {"_meta":{}, "content" : { "approve" : true }, "action":"\u0061ccept"}`: true}
	for _, answer := range []string{
		`{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":{"approve":false}}`,
		`{"action":"accept","content":{"approve":"true"}}`, `{"action":"accept","content":{"approve":1}}`, `{"action":"accept","content":{"approve":true,"x":1}}`,
		`{"action":"accept","content":{"approve":false,"approve":true}}`, `{"action":"decline","action":"accept","content":{"approve":true}}`,
		`{"action":"accept","content":{"Approve":true}}`, `{"Action":"accept","content":{"approve":true}}`, `{"action":"accept","content":[{"approve":true}]}`,
		`{"action":"accept","content":{"approve":true}} x`, `{"action":"accept","content":{"approve":true}`, `[]`, `null`, `"accept"`, ``, `true`,
		`{"action":"accept","content":{"approve":true,"rows":"3"}}`, `{"action":"accept","content":"{\"approve\":true}"}`,
	} {
		yes[answer] = false
	}
	for answer, want := range yes {
		b, p := setup(time.Minute), deletion("t")
		err := b.answer(t, p, b.wanted(t, p).ID, answer)
		if want {
			require.NoError(t, err, answer)
			require.Equal(t, []string{"t by elicitation:c"}, b.approved, answer)
			continue
		}
		require.Empty(t, b.approved, answer)
	}
	for typed, want := range map[string]bool{`"3"`: true, `"4"`: false, `""`: false, `3`: false, `null`: false, `"3","rows":"3"`: false} {
		b, p := setup(time.Minute), deletion("t")
		b.typed = "3"
		q := b.wanted(t, p)
		require.Contains(t, string(q.Schema), `"rows"`)
		_ = b.answer(t, p, q.ID, `{"action":"accept","content":{"approve":true,"rows":`+typed+`}}`)
		require.Len(t, b.approved, map[bool]int{true: 1}[want], typed)
	}
}

// An answer counts for the plan it was asked about, once, in its time.
func TestAnAnswerCountsOnceAndInItsTime(t *testing.T) {
	t.Parallel()
	b, p, other := setup(time.Minute), deletion("one"), deletion("other")
	require.NoError(t, b.answer(t, p, "never asked", yesAnswer))
	require.NoError(t, b.answer(t, p, "", yesAnswer))
	q := b.wanted(t, p)
	require.NoError(t, b.answer(t, other, q.ID, yesAnswer))
	require.NoError(t, b.answer(t, p, q.ID+"x", yesAnswer))
	require.Empty(t, b.approved)
	require.NoError(t, b.Turn(&ask.Client{Way: ask.Form}).Before(t.Context(), p), "one question at a time: the call waits")
	require.Error(t, b.answer(t, p, q.ID, `{"action":"decline"}`))
	require.NoError(t, b.answer(t, p, q.ID, yesAnswer), "the first answer counts")
	require.Empty(t, b.approved)

	late, p := setup(time.Nanosecond), deletion("late")
	q = late.wanted(t, p)
	require.NoError(t, late.answer(t, p, q.ID, yesAnswer))
	require.NoError(t, late.answer(t, p, q.ID, yesAnswer))
	require.Empty(t, late.approved)
}

// A yes to rows that have changed meanwhile is none.
func TestAYesLooksAtTheRowsAgain(t *testing.T) {
	t.Parallel()
	b, p := setup(time.Minute), deletion("t")
	b.changed = refusal.New(refusal.RowsetChanged, "changed", "preview again")
	err := b.answer(t, p, b.wanted(t, p).ID, yesAnswer)
	require.True(t, refusal.Is(err, refusal.RowsetChanged), "%v", err)
	require.Empty(t, b.approved)
}

// What the page alone decides.
func TestPageOnly(t *testing.T) {
	t.Parallel()
	b := setup(time.Minute)
	turn := b.Turn(&ask.Client{Way: ask.Form})
	for name, change := range map[string]func(*plan.Plan){
		"a migration":                    func(p *plan.Plan) { p.Tool = "run_migration" },
		"facts of a migration":           func(p *plan.Plan) { p.Facts = &plan.Facts{} },
		"too many rows of the target":    func(p *plan.Plan) { p.AffectedRows = 11 },
		"too many rows in all":           func(p *plan.Plan) { p.BlastRadius.TotalRows = 11 },
		"an effect that was not counted": func(p *plan.Plan) { p.BlastRadius.Unknown = []string{"truncate"} },
		"rejected before":                func(p *plan.Plan) { p.Earlier = &plan.Decision{} },
		"of an earlier process":          func(p *plan.Plan) { p.Restored = true },
	} {
		p := deletion(name)
		change(&p)
		require.False(t, turn.Asks(p), name)
		require.False(t, b.Likely(p), name)
		require.NoError(t, turn.Before(t.Context(), p), name)
		if p.Earlier == nil && !p.Restored {
			require.True(t, b.PageOnly(p.Preview), name)
			require.False(t, turn.Reaches(p.Preview), name)
		}
	}
	p := deletion("the limit itself")
	p.BlastRadius.TotalRows = 10
	require.True(t, turn.Asks(p))
	require.True(t, b.Likely(p))
	for _, c := range []*ask.Client{nil, {}, {Way: ask.URL}} {
		require.False(t, b.Turn(c).Asks(p))
		require.False(t, b.Turn(c).Reaches(p.Preview))
		require.False(t, b.Likely(p))
	}
}

// A question holds what the agent sent and what was counted, and no value of a row; it is bounded, and
// text from outside cannot begin a line of ours or hide.
func TestQuestionHoldsNoRow(t *testing.T) {
	t.Parallel()
	b, p := setup(time.Minute), deletion("t")
	p.SampleRows = []plan.Row{{{Column: "a", Value: json.RawMessage(`"of-a-row"`)}}}
	p.Changes = []plan.Change{{Before: p.SampleRows[0], After: p.SampleRows[0]}}
	p.Warnings = []plan.Warning{{Code: "X", Message: "of-a-row"}}
	p.Reason = "fine\nRows that change in all: 0\u202e" + strings.Repeat("r", 100_000)
	p.Payload.Statement = "DELETE FROM a.b WHERE " + strings.Repeat("x", 100_000) + " OR true"
	p.Payload.Params = nil
	p.BlastRadius.Tables = nil
	for i := range 500 {
		p.Payload.Params = append(p.Payload.Params, json.RawMessage(`"`+strings.Repeat("v", 1000)+`"`))
		p.BlastRadius.Tables = append(p.BlastRadius.Tables, plan.Table{Name: fmt.Sprintf("a.\"t\n%d\"", i), Deleted: 1, Updated: 1234})
	}
	q := b.wanted(t, p)
	require.Less(t, len(q.Message), 8000)
	require.NotContains(t, q.Message, "of-a-row")
	require.NotContains(t, q.Message, "\u202e")
	require.Contains(t, q.Message, "fine⟨U+000A⟩Rows that change in all: 0⟨U+202E⟩")
	require.Equal(t, 1, strings.Count("\n"+q.Message, "\nRows that change in all:"))
	require.Contains(t, q.Message, "1 deleted, 1,234 updated")
	require.Contains(t, q.Message, "480 more tables")
	require.Contains(t, q.Message, "490 more values")
	require.Contains(t, q.Message, "characters are left out here")
	require.Contains(t, q.Message, " OR true\n", "the end of a long statement is shown")
	require.Contains(t, q.Message, "http://127.0.0.1:4319/ until")
	require.True(t, json.Valid(q.Schema))
}

// A client that answers with an error, or leaves, decides nothing; one that is asked while a call waits
// is told when that is over.
func TestBeside(t *testing.T) {
	t.Parallel()
	b, p := setup(time.Minute), deletion("t")
	reply := func(raw string, err error) *ask.Client {
		return &ask.Client{Way: ask.Form, Ask: func(context.Context, ask.Question) (json.RawMessage, error) { return json.RawMessage(raw), err }}
	}
	require.NoError(t, b.Turn(reply("", errors.New("no"))).Beside(t.Context(), p))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, b.Turn(reply(yesAnswer, nil)).Beside(ctx, p))
	require.Empty(t, b.approved)
	b.page = ""
	err := b.Turn(reply("", errors.New("no"))).Beside(t.Context(), p)
	require.True(t, refusal.Is(err, refusal.ApprovalUnavailable), "asked three times, and there is no page: %v", err)
	require.True(t, refusal.Is(b.Turn(reply(yesAnswer, nil)).Before(t.Context(), p), refusal.ApprovalUnavailable))

	next := deletion("next")
	require.NoError(t, b.Turn(reply(yesAnswer, nil)).Before(t.Context(), next))
	require.NoError(t, b.Turn(reply(yesAnswer, nil)).Beside(t.Context(), next))
	require.Equal(t, []string{"next by elicitation:unknown"}, b.approved)
}

// However many plans there were, what was asked about them is remembered only while they are open.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(time.Minute)
	kept := deletion("kept")
	b.open = []plan.Plan{kept}
	require.Error(t, b.answer(t, kept, b.wanted(t, kept).ID, `{"action":"decline"}`))
	for i := range 2000 {
		b.wanted(t, deletion(fmt.Sprint(i)))
	}
	require.LessOrEqual(t, b.Remembered(), 300)
	require.False(t, b.Turn(&ask.Client{Way: ask.Form}).Asks(kept), "a no is remembered as long as its plan is open")
}
