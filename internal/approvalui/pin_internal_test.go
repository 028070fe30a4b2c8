package approvalui

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slowPIN counts how often it is asked, and how many ask at once.
type slowPIN struct {
	asked, now, most atomic.Int64
}

func (s *slowPIN) Matches(pin string) bool {
	s.asked.Add(1)
	if n := s.now.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.now.Add(-1)
	return pin == "246810"
}

// The pauses grow, a right PIN ends the count, and a pause is not looked through.
func TestPINPauses(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	pin := &slowPIN{}
	g := pinGate{pin: pin, now: func() time.Time { return now }}
	require.Nil(t, g.check("246810"))
	for range 3 {
		require.Equal(t, errPinMissing, *g.check(""))
	}
	require.EqualValues(t, 1, pin.asked.Load(), "a missing PIN costs no try")
	for i := range pinTries - 1 {
		p := g.check("111111")
		require.Equal(t, "PIN_REQUIRED", p.Code)
		require.Contains(t, p.Hint, []string{"4 more tries", "3 more tries", "2 more tries", "1 more try,"}[i])
	}
	require.Nil(t, g.check("246810"), "a right one ends the count")
	for _, minutes := range []int{1, 2, 4, 8, 16, 16, 16} {
		for range pinTries {
			require.Equal(t, "PIN_REQUIRED", g.check("111111").Code)
		}
		before := pin.asked.Load()
		for _, given := range []string{"246810", "111111", ""} {
			require.Equal(t, "TOO_MANY_TRIES", g.check(given).Code)
		}
		require.Equal(t, before, pin.asked.Load(), "nothing is looked at during a pause")
		now = now.Add(time.Duration(minutes)*time.Minute - time.Nanosecond)
		require.Contains(t, g.check("246810").Hint, "Wait 1 second,")
		now = now.Add(time.Nanosecond)
	}
	require.Nil(t, g.check("246810"))
	for range pinTries {
		g.check(strings.Repeat("1", maxPin+1))
	}
	require.Contains(t, g.check("246810").Hint, "Wait 60 seconds,", "after a right one the pauses begin again")
	before := pin.asked.Load()
	now = now.Add(time.Minute)
	require.Equal(t, "PIN_REQUIRED", g.check(strings.Repeat("1", 60_000)).Code)
	require.Equal(t, before, pin.asked.Load(), "what is too long for a PIN is not hashed, and is wrong")
}

// Many at once get no more tries than one after the other, and are looked at one by one.
func TestPINManyAtOnce(t *testing.T) {
	t.Parallel()
	pin := &slowPIN{}
	g := pinGate{pin: pin, now: time.Now}
	var wg sync.WaitGroup
	var wrong, paused atomic.Int64
	for range 200 {
		wg.Go(func() {
			switch g.check("111111").Code {
			case "PIN_REQUIRED":
				wrong.Add(1)
			case "TOO_MANY_TRIES":
				paused.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, pinTries, wrong.Load())
	require.EqualValues(t, 200-pinTries, paused.Load())
	require.EqualValues(t, pinTries, pin.asked.Load())
	require.EqualValues(t, 1, pin.most.Load())
}

func TestWaitWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Nanosecond: "1 second", time.Second: "1 second", 1001 * time.Millisecond: "2 seconds", time.Minute: "60 seconds",
		91 * time.Second: "2 minutes", 2 * time.Minute: "2 minutes", 121 * time.Second: "3 minutes",
	} {
		require.Equal(t, want, waitWords(d), d)
	}
}
