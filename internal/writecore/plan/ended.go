package plan

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// How much is remembered of plans that ended. All of it is bounded, so that a server can run for
// months. See TestMemoryIsBounded.
const (
	keepRecent     = 200    // with their statement, for the page's history
	keepTombstones = 20_000 // enough for the right refusal; older executed ones are in the ledger
	keepRejections = 1_000  // with their reason, for "rejected before"

	maxReasonRunes   = 2_000
	maxActorRunes    = 200
	maxKeptStatement = 4 << 10 // bytes
	maxKeptList      = 50
	maxAskedAgain    = 20
	unnamed          = "unknown"
)

// tombstone is what the gates need of a plan that ended.
type tombstone struct {
	state     State
	at        int64 // expiry or execution, Unix milliseconds
	rows      int64
	stopCode  string // a constant of package refusal, so it costs no memory of its own
	rejection *Decision
	successor Token // the plan that replaced it
}

// history is everything remembered of ended plans.
type history struct {
	tombstones map[Token]tombstone
	order      fifo[Token]
	recent     fifo[Plan]

	rejections     map[Fingerprint]*Decision
	rejectionOrder fifo[*rejection]
}

// rejection is one entry of the bounded memory of decisions.
type rejection struct {
	fingerprint Fingerprint
	decision    *Decision // shared with the tombstone
}

func newHistory() history {
	return history{tombstones: make(map[Token]tombstone), rejections: make(map[Fingerprint]*Decision)}
}

// bury takes in a plan that ended.
func (h *history) bury(p *Plan) {
	h.inter(p)
	h.recent.push(slim(p), keepRecent)
}

// inter keeps of a plan that ended what the gates need.
func (h *history) inter(p *Plan) {
	t := tombstone{state: p.State, at: p.ExpiresAt.UnixMilli(), rows: p.ExecutedRows, stopCode: p.StopCode, successor: p.SupersededBy}
	if p.State == Executed {
		t.at = p.ExecutedAt.UnixMilli()
	}
	if p.State == Rejected && p.Decision != nil {
		d := *p.Decision
		t.rejection = &d
		h.remember(p.Fingerprint, &d)
	}
	h.tombstones[p.Token] = t
	if old, full := h.order.push(p.Token, keepTombstones); full {
		delete(h.tombstones, old)
	}
}

func (h *history) remember(f Fingerprint, d *Decision) {
	h.rejections[f] = d
	old, full := h.rejectionOrder.push(&rejection{f, d}, keepRejections)
	if !full {
		return
	}
	if h.rejections[old.fingerprint] == old.decision {
		delete(h.rejections, old.fingerprint)
	}
	// The tombstone stays, and with it that and when it was rejected; long texts go.
	old.decision.Reason, old.decision.Actor = "", ""
}

// earlier is the last rejection of that fingerprint, nil without one.
func (h *history) earlier(f Fingerprint) *Decision {
	d, ok := h.rejections[f]
	if !ok {
		return nil
	}
	c := *d
	return &c
}

// get rebuilds as much of an ended plan as is remembered.
func (h *history) get(token Token) (Plan, bool) {
	t, ok := h.tombstones[token]
	if !ok {
		return Plan{}, false
	}
	for kept := range h.recent.newest() {
		if kept.Token == token {
			return snapshot(kept), true
		}
	}
	p := Plan{Token: token, State: t.state, ExecutedRows: t.rows, StopCode: t.stopCode, SupersededBy: t.successor}
	if t.state == Executed {
		p.ExecutedAt = time.UnixMilli(t.at)
	} else {
		p.ExpiresAt = time.UnixMilli(t.at)
	}
	if t.rejection != nil {
		d := *t.rejection
		p.Decision = &d
	}
	return p, true
}

// slim is a plan without what is large: rows, params, the checked statement, facts.
func slim(p *Plan) Plan {
	s := snapshot(p)
	s.Work, s.SampleRows, s.Changes, s.Facts, s.Payload.Params, s.SetColumns, s.Definitions = nil, nil, nil, nil, nil, nil, nil
	if len(s.Payload.Statement) > maxKeptStatement {
		s.Payload.Statement = strings.ToValidUTF8(s.Payload.Statement[:maxKeptStatement], "") + fmt.Sprintf("… (%d bytes)", len(p.Payload.Statement))
	} else {
		s.Payload.Statement = strings.Clone(s.Payload.Statement)
	}
	s.Reason = clip(s.Reason, maxReasonRunes)
	s.StopMessage = clip(s.StopMessage, maxReasonRunes)
	s.BlastRadius.Tables = slices.Clip(s.BlastRadius.Tables[:min(len(s.BlastRadius.Tables), maxKeptList)])
	s.BlastRadius.Unknown = slices.Clip(s.BlastRadius.Unknown[:min(len(s.BlastRadius.Unknown), maxKeptList)])
	s.Warnings = slices.Clip(s.Warnings[:min(len(s.Warnings), maxKeptList)])
	return s
}

// snapshot copies a plan so far that neither side can change the other's. Values of params and
// rows are shared: nobody writes into them.
func snapshot(p *Plan) Plan {
	c := *p
	c.Payload.Params = slices.Clone(p.Payload.Params)
	c.BlastRadius.Tables = slices.Clone(p.BlastRadius.Tables)
	c.BlastRadius.Unknown = slices.Clone(p.BlastRadius.Unknown)
	c.Warnings = slices.Clone(p.Warnings)
	c.SetColumns, c.Definitions = slices.Clone(p.SetColumns), slices.Clone(p.Definitions)
	c.AskedAgain = slices.Clone(p.AskedAgain)
	c.SampleRows, c.Changes = slices.Clone(p.SampleRows), slices.Clone(p.Changes)
	for i, r := range c.SampleRows {
		c.SampleRows[i] = slices.Clone(r)
	}
	for i, ch := range c.Changes {
		c.Changes[i] = Change{slices.Clone(ch.Key), slices.Clone(ch.Before), slices.Clone(ch.After)}
	}
	c.Earlier, c.Decision, c.Facts = clone(p.Earlier), clone(p.Decision), clone(p.Facts)
	if f := c.Facts; f != nil {
		f.Locks, f.Rewrites, f.Scans = slices.Clone(f.Locks), slices.Clone(f.Rewrites), slices.Clone(f.Scans)
		f.Drops, f.Lost = slices.Clone(f.Drops), slices.Clone(f.Lost)
		f.Unreadable, f.Notices, f.RowsLost = slices.Clone(f.Unreadable), slices.Clone(f.Notices), maps.Clone(f.RowsLost)
	}
	return c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// clip cuts a text of people or agents to a length that can be kept.
func clip(s string, runes int) string {
	if len(s) <= runes || utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes]) + "…"
}

// fifo is a queue with a bound.
type fifo[T any] struct {
	items []T
	next  int
}

// push takes in x and, once limit is reached, gives back the oldest in its place.
func (f *fifo[T]) push(x T, limit int) (old T, full bool) {
	if len(f.items) < limit {
		f.items = append(f.items, x)
		return old, false
	}
	old, f.items[f.next] = f.items[f.next], x
	f.next = (f.next + 1) % limit
	return old, true
}

// newest walks from the newest item to the oldest.
func (f *fifo[T]) newest() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		n := len(f.items)
		for i := range n {
			if !yield(&f.items[(f.next-1-i+2*n)%n]) {
				return
			}
		}
	}
}
