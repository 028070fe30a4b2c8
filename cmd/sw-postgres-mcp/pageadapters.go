package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/ask"
	"github.com/jpka/sw-postgres-mcp/internal/audit"
	"github.com/jpka/sw-postgres-mcp/internal/postgres"
	"github.com/jpka/sw-postgres-mcp/internal/tools"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// trail gives the page the audit log. The two packages do not know each other, so the shapes are
// copied here.
type trail struct{ *audit.Trail }

func newTrail(db *postgres.DB) trail {
	return trail{audit.NewTrail(func(ctx context.Context) (audit.Session, error) {
		s, err := db.Readonly().Acquire(ctx)
		if err != nil {
			return nil, err // not s: a nil *Session is not a nil interface
		}
		return s, nil
	}, db.Readonly().Address().User)}
}

// Search implements approvalui.Trail.
func (t trail) Search(ctx context.Context, f approvalui.TrailFilter) ([]approvalui.TrailRow, bool, error) {
	rows, more, err := t.Trail.Search(ctx, audit.Filter(f))
	return trailRows(rows), more, err
}

// ByToken implements approvalui.Trail.
func (t trail) ByToken(ctx context.Context, token string) ([]approvalui.TrailRow, error) {
	rows, err := t.Trail.ByToken(ctx, token)
	return trailRows(rows), err
}

func trailRows(in []audit.Row) []approvalui.TrailRow {
	out := make([]approvalui.TrailRow, len(in))
	for i, r := range in {
		out[i] = approvalui.TrailRow(r)
	}
	return out
}

// said gives a question to the client the words of the page's card, and what has to be typed there.
func said(confirmAbove int64) func(plan.Preview) ask.Said {
	return func(p plan.Preview) ask.Said {
		s, c := approvalui.Say(p), approvalui.ConfirmFor(p, confirmAbove)
		return ask.Said{Sentence: strings.TrimSpace(s.Main.String() + " " + s.Then.String()), Deed: s.Deed, Typed: c.Expect, Accepts: c.Accepts}
	}
}

// observed remembers for the page what every tool refuses.
func observed(list []tools.Tool, refusals *approvalui.Refusals) []tools.Tool {
	for i := range list {
		name, handle := list[i].Name, list[i].Handle
		list[i].Handle = func(ctx context.Context, call tools.Call) (json.RawMessage, error) {
			out, err := handle(ctx, call)
			if err != nil {
				refusals.Add(name, call.Arguments, err)
			}
			return out, err
		}
	}
	return list
}
