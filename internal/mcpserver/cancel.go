package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
)

// maxCalls bounds what malformed requests can leave behind in calls.
const maxCalls = 4096

// calls knows every tools/call from the moment its line was read. The library knows a call only
// once a worker runs it, so a cancel that comes right behind a call, or while it is queued, would be
// lost and the call would run in full, a commit included.
type calls struct {
	mu sync.Mutex
	m  map[string]*inflight
}

type inflight struct {
	cancelled bool
	cancel    context.CancelFunc
}

// callKey is one spelling for an id, whether it comes from the line or from the library (which
// decodes numbers as float64). "" means that it is no usable id.
func callKey(id any) string {
	raw, err := json.Marshal(id)
	if err != nil || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// seen notes that the line of a call was read.
func (c *calls) seen(id json.RawMessage) {
	key := callKey(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[string]*inflight{}
	}
	if key != "" && len(c.m) < maxCalls {
		c.m[key] = &inflight{}
	}
}

// cancel ends the call with that id, now or when it starts.
func (c *calls) cancel(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.m[callKey(id)]; call != nil {
		call.cancelled = true
		if call.cancel != nil {
			call.cancel()
		}
	}
}

// start ties the call to a context and tells whether it still wants to run. done must be called.
func (c *calls) start(ctx context.Context, key string) (_ context.Context, done func(), wanted bool) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.m[key]
	if call == nil {
		return ctx, cancel, true
	}
	call.cancel = cancel
	if call.cancelled {
		cancel()
	}
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.m[key] == call { // not a later call that reuses the id
			delete(c.m, key)
		}
	}, !call.cancelled
}

// forget drops a call that ended before any handler saw it.
func (c *calls) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.m[key]; call != nil && call.cancel == nil {
		delete(c.m, key)
	}
}
