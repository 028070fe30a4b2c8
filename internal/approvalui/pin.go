package approvalui

import (
	"net/http"
	"strconv"
	"sync"
	"time"
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

// pinRight checks the PIN of an approval and says in the log that a wrong one was given.
func (s *Server) pinRight(pin string) *problem {
	bad := s.pin.check(pin)
	if bad != nil && pin != "" {
		s.log.Warn("a wrong PIN was given on the approval page, or one during the pause", "code", bad.Code)
	}
	return bad
}
