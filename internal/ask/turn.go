package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Turn is the part of one call in a decision.
type Turn struct {
	d *Desk
	c Client
}

// Reaches says that this call's client can be asked about such a plan: a person can decide about it also
// where there is no page.
func (t *Turn) Reaches(p plan.Preview) bool { return t.c.Way == Form && !t.d.PageOnly(p) }

// Asks says that execute_plan will ask this call's client about the plan.
func (t *Turn) Asks(p plan.Plan) bool {
	return t.c.Way == Form && t.d.mayAsk(p) && t.d.hope(p.Token, true)
}

// Before runs for a plan that waits for a person, before the call does. An error ends the call: it asks
// for the answer ([Wanted]), or tells that nobody can say yes. nil: the gates are asked again, and the
// call waits.
func (t *Turn) Before(ctx context.Context, p plan.Plan) error {
	switch {
	case len(t.c.Answers) > 0:
		// Never another question in a call that came with answers: a client that answers by itself would go round.
		if decided, err := t.answered(ctx, p); decided || err != nil {
			return err
		}
	case t.c.Ask == nil:
		if q, ok := t.question(p); ok && t.d.take(p.Token, q) {
			return &Wanted{Question: q}
		}
	}
	return t.somewhere(p)
}

// somewhere refuses to wait where nobody can decide.
func (t *Turn) somewhere(p plan.Plan) error {
	if t.d.o.PageURL() != "" || t.d.hope(p.Token, t.c.Way == Form && t.d.mayAsk(p)) {
		return nil
	}
	return nobody("This plan needs a person's decision. There is no approval page, and the client is not asked about it (any more).")
}

func nobody(message string) error {
	return refusal.New(refusal.ApprovalUnavailable, message,
		"Nothing was changed. Talk to your user; the person who runs this server can enable approvalServer.")
}

// answered looks for the answer to the plan's open question among those that came with the call.
func (t *Turn) answered(ctx context.Context, p plan.Plan) (decided bool, err error) {
	id, way := t.d.pending(p.Token)
	raw, ok := t.c.Answers[id]
	if !ok || id == "" {
		return false, nil // to a question that was not asked, or is answered, or is about another plan
	}
	inTime := t.d.close(p.Token, id)
	if way != Form {
		return false, nil // led to the page
	}
	if !inTime {
		t.d.o.Logger.Info("an answer of the client came too late and does not count", "tool", p.Tool, "target", p.Target)
		return false, nil
	}
	return t.settle(ctx, p, raw)
}

// question is what this client would be asked about the plan.
func (t *Turn) question(p plan.Plan) (Question, bool) {
	page := t.d.o.PageURL()
	switch {
	case t.c.Way == Form && t.d.mayAsk(p):
		return form(p, t.d.o.Say(p.Preview), page), true
	case t.c.Way == URL && page != "":
		return pointer(t.d.o.Say(p.Preview), page), true
	}
	return Question{}, false
}

// Beside runs while the call waits, and ends when ctx does. An error ends the wait; nil does not.
func (t *Turn) Beside(ctx context.Context, p plan.Plan) error {
	if t.c.Ask == nil {
		return nil
	}
	q, ok := t.question(p)
	if !ok || !t.d.take(p.Token, q) {
		return nil
	}
	raw, err := t.c.Ask(ctx, q)
	inTime := t.d.close(p.Token, q.ID)
	if ctx.Err() != nil || q.Way != Form {
		return nil // decided elsewhere, expired, or the client left
	}
	if err != nil {
		t.d.o.Logger.Warn("the client did not put the question to the person", "cause", err.Error())
		return t.undecided(p, "the client could not ask the person")
	}
	if !inTime {
		return nil
	}
	_, err = t.settle(ctx, p, raw)
	return err
}

// settle acts on the answer to a form. A yes takes the same way as on the page: the rows are looked at
// again, then the plan is approved (decided). Else an error ends the call, and without one it waits on at
// the page.
func (t *Turn) settle(ctx context.Context, p plan.Plan, raw json.RawMessage) (decided bool, err error) {
	v := judge(raw, t.d.o.Say(p.Preview))
	t.d.o.Logger.Info("the client answered the question about a plan", "tool", p.Tool, "target", p.Target, "client", actor(t.c.Name), "answer", v.String())
	switch v {
	case yes:
		err := t.approve(ctx, p)
		return err == nil, err
	case declined:
		t.d.declined(p.Token)
		if t.d.o.PageURL() == "" {
			return false, nobody("The person was asked through the client and declined. There is no approval page, so nobody can approve this plan any more.")
		}
		return false, t.stillWaits(p, v.String(), "They are not asked here again: they can decide on the approval page. Do not try the same in another form without asking them.")
	case cancelled:
		return false, t.undecided(p, v.String())
	case unticked, mistyped, malformed:
	}
	return false, t.stillWaits(p, v.String(), "Tell your user. Call execute_plan again with the same arguments when they want to decide; where they can be asked once more, they are.")
}

func (t *Turn) approve(ctx context.Context, p plan.Plan) error {
	if err := t.d.o.Reviewer.Recheck(ctx, p.Token); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// A client that leaves now does not undo what the person said; nothing commits by that alone.
	decide, cancel := context.WithTimeout(context.WithoutCancel(ctx), decisionTime)
	defer cancel()
	_, _, err := t.d.o.Reviewer.Approve(decide, p.Token, actor(t.c.Name))
	return err
}

// undecided lets the call wait on where the person can still go to the page.
func (t *Turn) undecided(p plan.Plan, what string) error {
	if t.d.o.PageURL() != "" {
		return nil
	}
	if err := t.somewhere(p); err != nil {
		return err
	}
	return t.stillWaits(p, what, "Tell your user. Call execute_plan again with the same arguments when they want to decide.")
}

func (*Turn) stillWaits(p plan.Plan, what, hint string) error {
	return refusal.New(refusal.AwaitingApproval,
		fmt.Sprintf("The plan is not approved: %s. It waits until %s.", what, p.ExpiresAt.UTC().Format(time.RFC3339)), hint)
}
