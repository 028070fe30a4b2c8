package approvalui

import (
	"crypto/hmac"
	"crypto/sha256"
	"sync"
	"time"
)

// codeLife is how long a one-time code works.
const codeLife = 30 * time.Second

// maxCodes bounds the codes that are alive; the oldest goes first.
const maxCodes = 16

// codes holds the one-time codes that a page exchanges for the session's secret. Only hashes are
// kept. A code works once. See TestOneTimeCodes.
type codes struct {
	now   func() time.Time
	mu    sync.Mutex
	alive []oneTime
	wrong bucket
	opens bucket
}

type oneTime struct {
	hash  [sha256.Size]byte
	until time.Time
}

func newCodes(now func() time.Time) *codes {
	return &codes{
		now:   now,
		wrong: bucket{size: 10, every: 6 * time.Second},
		opens: bucket{size: 3, every: 10 * time.Second},
	}
}

// issue makes a code of 128 random bits.
func (c *codes) issue() string {
	code := random(16)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	if len(c.alive) >= maxCodes {
		c.alive = c.alive[1:]
	}
	c.alive = append(c.alive, oneTime{sha256.Sum256([]byte(code)), c.now().Add(codeLife)})
	return code
}

// redeem uses a code up. A wrong one costs a try; when these are used up, again is false. A right
// code works regardless, so that nobody can lock a person out by guessing.
func (c *codes) redeem(code string) (ok, again bool) {
	h := sha256.Sum256([]byte(code))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	for i, a := range c.alive {
		if hmac.Equal(a.hash[:], h[:]) {
			c.alive = append(c.alive[:i], c.alive[i+1:]...)
			return true, true
		}
	}
	return false, c.wrong.take(c.now())
}

// mayOpen says whether the server may open a browser now.
func (c *codes) mayOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opens.take(c.now())
}

func (c *codes) sweep() {
	now, keep := c.now(), c.alive[:0]
	for _, a := range c.alive {
		if a.until.After(now) {
			keep = append(keep, a)
		}
	}
	c.alive = keep
}

// bucket is a token bucket: size at once, then one every interval.
type bucket struct {
	size  int
	every time.Duration
	used  int
	since time.Time
}

func (b *bucket) take(now time.Time) bool {
	if n := int(now.Sub(b.since) / b.every); n > 0 {
		b.used = max(0, b.used-n)
		b.since = now
	}
	if b.used >= b.size {
		return false
	}
	b.used++
	return true
}

func mac(key, message string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(message))
	return h.Sum(nil)
}
