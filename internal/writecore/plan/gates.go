package plan

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Echo is what execute_plan gives back of the preview.
type Echo struct {
	// Payload holds the statement and params. Params nil means "not given": then Fingerprint must
	// stand for them, or the plan has none. A nil Payload matches nothing.
	Payload *Payload
	// Fingerprint, when given, must be the plan's, whatever else is given.
	Fingerprint Fingerprint
}

// echo is an Echo with its fingerprint worked out, once and outside the lock.
type echo struct {
	Echo
	computed Fingerprint
	err      error
}

func (e Echo) prepare() *echo {
	p := &echo{Echo: e}
	p.Fingerprint = Fingerprint(strings.ToLower(strings.TrimSpace(string(e.Fingerprint))))
	if e.Payload != nil {
		p.computed, p.err = FingerprintOf(*e.Payload)
	}
	return p
}

// gate is the only judge of whether a token may do something: the gates of the contract, in its
// order. given nil asks only whether the plan can still be decided about (approve, reject); else
// also whether what was given back fits, and whether a person still has to say yes.
//
// known is false for a token this store has never seen (or forgot long after its plan ended): the
// caller may then look in the ledger. See TestGatesInOrder.
func gate(p *Plan, known bool, now time.Time, given *echo) error {
	if !known {
		return refusal.New(refusal.UnknownToken, "No plan with this token is known to this server.",
			"Preview the statement again and use the plan_token of that reply; plans outlive a restart of the server only with a journal.")
	}
	switch p.State {
	case Rejected:
		return rejected(p)
	case Superseded:
		return refusal.New(refusal.SupersededPlan, "This plan was replaced: the same statement was previewed again and met other rows.",
			fmt.Sprintf("Execute the newer plan instead (plan_token %q), or preview again.", p.SupersededBy))
	case Executed:
		rows := ""
		if p.ExecutedRows >= 0 {
			rows = strconv.FormatInt(p.ExecutedRows, 10)
		}
		return UsedTokenError(stamp(p.ExecutedAt), rows)
	case Executing:
		return refusal.New(refusal.AlreadyExecuting, "Another call is executing this plan right now.",
			"Wait for that call's answer, or call execute_plan again in a few seconds: USED_TOKEN then means that it was committed.")
	case Unknown:
		return outcomeUnknown(p)
	case Stopped:
		return stopped(p)
	case Expired:
		return expired(p)
	case Previewed, AwaitingApproval, Approved:
	}
	if due(p, now) {
		return expired(p)
	}
	if p.Restored {
		return restored(given)
	}
	if given == nil {
		return nil
	}
	if err := given.match(p); err != nil {
		return err
	}
	if p.State == AwaitingApproval {
		return refusal.New(refusal.AwaitingApproval,
			fmt.Sprintf("A person has to decide about this plan, and has not yet; it waits until %s.", stamp(p.ExpiresAt)),
			"Call execute_plan again with the same plan_token; a person decides at the approval page.")
	}
	return nil
}

// UsedTokenError is what every later call with an executed plan's token gets, whoever finds it out: the
// store, or the ledger. at is when, in RFC 3339 and UTC, rows how many rows of the target changed, in
// digits; either is "" where it is not known.
func UsedTokenError(at, rows string) *refusal.Error {
	message := "This plan was already executed"
	if at != "" {
		message += " at " + at
	}
	switch rows {
	case "":
	case "1":
		message += " and changed 1 row of its target"
	default:
		message += " and changed " + rows + " rows of its target"
	}
	return refusal.New(refusal.UsedToken, message+".",
		"It is done; do not run it again. Preview a new statement for another change.")
}

// due reports that the plan's time is over. Both clocks are asked: the monotonic one cannot be set
// back, the wall clock goes on while a laptop sleeps.
func due(p *Plan, now time.Time) bool {
	return !now.Before(p.ExpiresAt) || !now.Round(0).Before(p.ExpiresAt.Round(0))
}

// restored is what a plan of an earlier process answers until its statement was given back.
func restored(given *echo) error {
	if given == nil {
		return refusal.New(refusal.UnknownToken, "This plan was made before the server restarted, and its statement is not known any more.",
			"The agent has to call execute_plan with the statement and all params, or preview again.")
	}
	return refusal.New(refusal.StatementMismatch,
		"The server was restarted since the preview, and the statement and params given back are not those that were previewed.",
		"Give back statement and params in full and exactly as in the preview's reply (the fingerprint alone does not do after a restart), or preview again.")
}

func rejected(p *Plan) error {
	d := Decision{}
	if p.Decision != nil {
		d = *p.Decision
	}
	message := "A person rejected this plan"
	if !d.At.IsZero() {
		message += " at " + stamp(d.At)
	}
	if d.Reason != "" {
		message += fmt.Sprintf("; the reason given: %q", d.Reason)
	} else if d.Actor != "" { // else the decision's words were forgotten, long after
		message += " and gave no reason"
	}
	return refusal.New(refusal.PlanRejected, message+".",
		"The decision is final: do not retry it, also not in another form, without asking the person first.")
}

func outcomeUnknown(p *Plan) error {
	message := p.StopMessage
	if message == "" {
		message = "COMMIT was sent for this plan and its answer was lost, so it is not known whether the change was made."
	}
	return refusal.New(refusal.OutcomeUnknown, message,
		fmt.Sprintf("Call execute_plan again with the same plan_token when the database is reachable: the server then looks in the ledger. "+
			"Or ask a person to look for plan_token %q with status 'executed' in mcp_audit.log. Do not preview the change again before that is known.", p.Token))
}

func stopped(p *Plan) error {
	message := p.StopMessage
	if message == "" {
		message = "An execution of this plan was stopped before COMMIT (" + p.StopCode + "); nothing was changed."
	}
	return refusal.New(refusal.Code(p.StopCode), message, "Preview the statement again to see the rows as they are now.")
}

func expired(p *Plan) error {
	return refusal.New(refusal.ExpiredToken, fmt.Sprintf("This plan expired at %s; nothing was changed.", stamp(p.ExpiresAt)),
		"Preview the statement again and execute the new plan before its expires_at.")
}

const mismatchHint = "Give back statement and params exactly as in the preview's reply (or the reply's fingerprint in place of long params). " +
	"To change anything preview again."

// match holds what was given back against the plan.
func (e *echo) match(p *Plan) error {
	mismatch := func(format string, a ...any) error {
		return refusal.New(refusal.StatementMismatch, fmt.Sprintf(format, a...), mismatchHint)
	}
	if e.Payload == nil || trim(e.Payload.Statement) != trim(p.Payload.Statement) {
		return mismatch("The statement is not the one that was previewed.")
	}
	if e.Fingerprint != "" && e.Fingerprint != p.Fingerprint {
		return mismatch("The fingerprint is not the plan's.")
	}
	if e.Payload.Params == nil && e.Fingerprint != "" {
		return nil
	}
	if e.err != nil {
		return mismatch("The params are not those that were previewed: %s", message(e.err))
	}
	if e.computed == p.Fingerprint {
		return nil
	}
	if len(e.Payload.Params) != len(p.Payload.Params) {
		return mismatch("The preview had %d params, %d were given back.", len(p.Payload.Params), len(e.Payload.Params))
	}
	for i := range p.Payload.Params {
		was, err := canonicalParam(p.Payload.Params[i])
		if err != nil {
			return badParam(i, err)
		}
		is, err := canonicalParam(e.Payload.Params[i])
		if err != nil {
			return badParam(i, err)
		}
		if !bytes.Equal(was, is) {
			return mismatch("params[%d] is not the value that was previewed.", i)
		}
	}
	return mismatch("Statement and params are not those that were previewed.")
}

func message(err error) string {
	if r, ok := refusal.As(err); ok {
		return r.Message
	}
	return err.Error()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func rowCount(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
