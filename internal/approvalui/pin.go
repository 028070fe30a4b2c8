package approvalui

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// PIN checks the number that only the person knows.
type PIN interface {
	// Matches may take its time: it is made to be slow.
	Matches(pin string) bool
}

const (
	// pinTries is how many wrong PINs in a row are taken before a pause.
	pinTries = 5
	// pinPause is the first pause. Each further one is twice as long, up to maxPinPause.
	pinPause    = time.Minute
	maxPinPause = 16 * time.Minute
	// maxPin is the longest PIN in bytes that is looked at.
	maxPin = 400
)

var (
	errPinMissing = problem{http.StatusForbidden, "PIN_REQUIRED", "Approving needs the PIN.", "Nothing was decided. Rejecting needs none."}
	errPinWrong   = problem{http.StatusForbidden, "PIN_REQUIRED", "That is not the PIN.", "Nothing was decided."}
)

// pinGate counts wrong PINs over all plans, pages and connections, and checks one at a time: many
// at once would get no more tries than one after the other, and no more memory. A right PIN during
// a pause is not looked at, else a pause would be none. See TestPINTriesAreCountedOverEverything.
type pinGate struct {
	pin PIN // nil: none is asked for
	now func() time.Time

	mu     sync.Mutex
	wrong  int // in a row
	pauses int
	until  time.Time
	said   time.Time // the end of the pause of which the log has said that tries came in it
}

// check returns nil when the PIN is right, or none is needed.
func (g *pinGate) check(pin string) *problem {
	if g.pin == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if left := g.until.Sub(g.now()); left > 0 {
		p := errTooManyTries
		p.Message = "Too many wrong PINs."
		p.Hint = "Nothing was decided. Wait " + waitWords(left) + ", then try again."
		return &p
	}
	switch {
	case pin == "":
		return &errPinMissing // costs no try: a page asks for it only now
	case len(pin) <= maxPin && g.pin.Matches(pin):
		g.wrong, g.pauses = 0, 0
		return nil
	}
	g.wrong++
	if g.wrong < pinTries {
		p := errPinWrong
		p.Hint += " " + strconv.Itoa(pinTries-g.wrong) + plural(int64(pinTries-g.wrong), " more try", " more tries") + ", then a pause."
		return &p
	}
	pause := maxPinPause
	if g.pauses < 4 {
		pause = pinPause << g.pauses
	}
	g.wrong, g.pauses, g.until = 0, g.pauses+1, g.now().Add(pause)
	p := errPinWrong
	p.Hint += " That was one try too many: wait " + waitWords(pause) + "."
	return &p
}

// waitWords says how long, rounded up.
func waitWords(d time.Duration) string {
	if d <= 90*time.Second {
		s := int((d + time.Second - 1) / time.Second)
		return strconv.Itoa(s) + plural(int64(s), " second", " seconds")
	}
	m := int((d + time.Minute - 1) / time.Minute)
	return strconv.Itoa(m) + " minutes"
}

// firstInPause is true once per pause.
func (g *pinGate) firstInPause() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.said.Equal(g.until) {
		return false
	}
	g.said = g.until
	return true
}

// pinRight checks the PIN of an approval. A wrong one leaves a trace: a line in the log, and a row of the
// audit log. There are never more of them than tries: what comes during a pause is one line in the log.
// See TestWrongPINsLeaveATrace.
func (s *Server) pinRight(ctx context.Context, pin string, p plan.Plan, actor string) *problem {
	bad := s.pin.check(pin)
	switch {
	case bad == nil, pin == "":
	case bad.Code == errPinWrong.Code:
		s.log.Warn("a wrong PIN was given on the approval page", "actor", actor, "plan_token_prefix", string(p.Token[:min(4, len(p.Token))]))
		if s.opts.Denied != nil {
			s.opts.Denied(ctx, p, actor, bad.Code)
		}
	case s.pin.firstInPause():
		s.log.Warn("PINs are given on the approval page during the pause after too many wrong ones; they are not looked at", "until", s.pin.pauseEnd())
	}
	return bad
}

func (g *pinGate) pauseEnd() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}
