package ask

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// maxQuestions is how often a client is asked about one plan. Whoever is asked again and again says yes
// in the end.
const maxQuestions = 3

// decisionTime bounds a decision with its audit entry, as on the page.
const decisionTime = 15 * time.Second

// pruneAbove is when the memory of plans that are over is swept.
const pruneAbove = 256

// Reviewer is the page's own way to a decision. *writecore.TwoPhaseWrite implements it.
type Reviewer interface {
	// Plans lists the open plans.
	Plans(all bool) []plan.Plan
	// Recheck looks whether the rows are still those that were previewed.
	Recheck(ctx context.Context, t plan.Token) error
	// Approve records a yes; the bool says that it had been given before.
	Approve(ctx context.Context, t plan.Token, actor string) (plan.Plan, bool, error)
}

// Options make a Desk. All are required but Logger.
type Options struct {
	Reviewer Reviewer
	// Say is what the card says about a plan.
	Say func(p plan.Preview) Said
	// PageURL is where else a person can decide, without the secret; "" = nowhere.
	PageURL func() string
	// PageOnlyAbove: plans that change more rows are decided on the page only.
	PageOnlyAbove int64
	// Wait is how long an answer is waited for.
	Wait   time.Duration
	Logger *slog.Logger
}

// Desk knows which questions are open and what was asked. It is safe for concurrent use.
type Desk struct {
	o    Options
	way  atomic.Int64 // of the last client
	mu   sync.Mutex
	seen map[plan.Token]*history
}

// history is what was asked about one plan.
type history struct {
	count    int
	declined bool
	pointed  bool   // the client was led to the page
	open     string // the question that waits for its answer, "" = none
	way      Way
	until    time.Time
}

// New makes a desk.
func New(o Options) *Desk {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Desk{o: o, seen: map[plan.Token]*history{}}
}

// PageOnly says that nobody but the page may decide about a plan: a migration, more rows than
// approval.pageOnlyAboveRows, an effect that could not be counted. See TestPageOnly.
func (d *Desk) PageOnly(p plan.Preview) bool {
	return p.Facts != nil || p.Tool == "run_migration" || total(p) > d.o.PageOnlyAbove || len(p.BlastRadius.Unknown) > 0
}

// Likely says that the client will be asked about a plan, as far as the last call of a client told.
func (d *Desk) Likely(p plan.Plan) bool {
	return Way(d.way.Load()) == Form && d.mayAsk(p)
}

// mayAsk also leaves to the page what a person has rejected before: there they see that.
func (d *Desk) mayAsk(p plan.Plan) bool {
	return !d.PageOnly(p.Preview) && p.Earlier == nil && !p.Restored
}

// Turn is one call of a client; nil is one that cannot be asked.
func (d *Desk) Turn(c *Client) *Turn {
	if c == nil {
		c = &Client{}
	}
	d.way.Store(int64(c.Way))
	return &Turn{d: d, c: *c}
}

// take opens a question about a plan, or says that none may be asked now.
func (d *Desk) take(token plan.Token, q Question) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.history(token)
	if h.waits() || q.Way == Form && !h.more() || q.Way == URL && h.pointed {
		return false
	}
	if q.Way == Form {
		h.count++
	} else {
		h.pointed = true
	}
	h.open, h.way, h.until = q.ID, q.Way, time.Now().Add(d.o.Wait)
	return true
}

// more says that a form may be shown about the plan once more.
func (h *history) more() bool { return !h.declined && h.count < maxQuestions }

// waits says that a question is open and in its time.
func (h *history) waits() bool { return h.open != "" && time.Now().Before(h.until) }

// close ends a question. It says whether that one was open and in its time: only then its answer counts,
// and only once. See TestAnAnswerCountsOnceAndInItsTime.
func (d *Desk) close(token plan.Token, id string) (inTime bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.history(token)
	if h.open == "" || h.open != id {
		return false
	}
	inTime = h.waits()
	h.open = ""
	return inTime
}

// declined notes that a person does not want to be asked about a plan again.
func (d *Desk) declined(token plan.Token) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.history(token).declined = true
}

// pending is the open question of a plan.
func (d *Desk) pending(token plan.Token) (id string, way Way) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.history(token)
	return h.open, h.way
}

// hope says that a person can still be reached through a client: a question is open, or may be asked.
func (d *Desk) hope(token plan.Token, mayAsk bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.history(token)
	return h.waits() && h.way == Form || mayAsk && h.more()
}

// history is called with the lock held.
func (d *Desk) history(token plan.Token) *history {
	h := d.seen[token]
	if h == nil {
		if len(d.seen) >= pruneAbove {
			d.prune()
		}
		h = &history{}
		d.seen[token] = h
	}
	return h
}

// prune forgets the plans that are over.
func (d *Desk) prune() {
	open := map[plan.Token]bool{}
	for _, p := range d.o.Reviewer.Plans(true) {
		open[p.Token] = true
	}
	for token := range d.seen {
		if !open[token] {
			delete(d.seen, token)
		}
	}
}
