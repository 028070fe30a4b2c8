package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// How many tool calls may be open at once, that is read and not answered, and how long their lines may
// be together. The library queues calls that no worker is free for, and runs them on its read loop
// when the queue is full: from then on neither a cancel nor the end of stdin is seen until that call
// ends. So calls are refused before. See TestS21TooManyCalls.
const (
	maxOpen      = 160
	maxOpenBytes = 64 << 20
	queueSize    = 2 * maxOpen // more than can ever be open
)

// admission counts the calls that are open. It goes by the lines that come in and go out, so what the
// library answers by itself (an unknown tool, a malformed call) is not counted for ever.
type admission struct {
	mu    sync.Mutex
	open  map[string][]int // per id: the lengths of its open calls' lines; clients may reuse an id
	calls int
	bytes int
}

// admit notes a call, or returns why there are too many.
func (a *admission) admit(id json.RawMessage, size int) *refusal.Error {
	key := callKey(id)
	if key == "" {
		return nil // no id that anything could be answered under
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls >= maxOpen || a.calls > 0 && a.bytes+size > maxOpenBytes {
		return refusal.New(refusal.TooBusy,
			fmt.Sprintf("%d calls of this client, of %d bytes together, are not answered yet. This one was not begun.", a.calls, a.bytes),
			"Wait for answers before sending more calls.")
	}
	if a.open == nil {
		a.open = map[string][]int{}
	}
	a.open[key] = append(a.open[key], size)
	a.calls++
	a.bytes += size
	return nil
}

// answered takes note of a line that goes out.
func (a *admission) answered(line []byte) {
	id := answeredID(line)
	if id == nil {
		return
	}
	key := callKey(id)
	a.mu.Lock()
	defer a.mu.Unlock()
	sizes := a.open[key]
	if len(sizes) == 0 {
		return
	}
	a.calls--
	a.bytes -= sizes[0]
	if a.open[key] = sizes[1:]; len(sizes) == 1 {
		delete(a.open, key)
	}
}

// answeredID is the id of a response, nil of every other message. It reads no further than the name of
// the member behind the id: responses are long, and both their makers (the library and this package)
// write jsonrpc and id first.
func answeredID(line []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var id json.RawMessage
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		switch name {
		case "result", "error":
			return id
		case "id":
			if d.Decode(&id) != nil {
				return nil
			}
		case "jsonrpc":
			if _, err := d.Token(); err != nil {
				return nil
			}
		default:
			return nil
		}
	}
	return nil
}
