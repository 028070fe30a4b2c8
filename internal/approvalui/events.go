package approvalui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// maxStreams bounds the open event streams, streamBuffer the frames one of them may be behind:
// a page that reads too slowly is told to load everything again instead.
const (
	maxStreams   = 256
	streamBuffer = 64
	heartbeat    = 15 * time.Second
	writeTime    = 10 * time.Second
)

// hub renders each event once and hands it to every open stream. It never waits for a reader.
type hub struct {
	s      *Server
	mu     sync.Mutex
	open   map[*stream]bool
	opened bool  // the browser was opened for the first plan
	seq    int64 // how many events of plans were told
}

// stream is one page that listens.
type stream struct {
	frames chan []byte
	behind bool // guarded by hub.mu: frames were dropped, a resync is due
}

func newHub(s *Server) *hub { return &hub{s: s, open: map[*stream]bool{}} }

// run forwards events until the server closes or the watcher ends.
func (h *hub) run(events <-chan plan.Event) {
	for {
		select {
		case <-h.s.done:
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			h.publish(e)
		}
	}
}

func (h *hub) publish(e plan.Event) {
	kind := string(e.Kind)
	body := map[string]any{"kind": kind, "audit_failures": h.s.auditFailures()}
	if kind != "resync" {
		body["plan"] = h.s.card(e.Plan)
	}
	data, err := json.Marshal(body)
	if err != nil {
		h.s.log.Error("rendering an event failed", "cause", err)
		return
	}
	name := "plan"
	if kind == "resync" {
		name = "resync"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	h.send(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data))
	if h.s.opts.OpenOnFirstPlan && !h.opened && e.Plan.State == plan.AwaitingApproval && (h.s.opts.OpenFor == nil || h.s.opts.OpenFor(e.Plan)) {
		h.opened = true
		if len(h.open) == 0 && h.s.opts.OpenBrowser != nil {
			go func() {
				if err := h.s.Open(); err != nil {
					h.s.log.Warn("the browser could not be opened", "cause", err)
				}
			}()
		}
	}
}

// send hands a frame to every open stream. h.mu is held.
func (h *hub) send(frame []byte) {
	for st := range h.open {
		select {
		case st.frames <- frame:
		default:
			st.behind = true
		}
	}
}

// refused tells the pages how many refusals there are to see.
func (h *hub) refused(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.send(fmt.Appendf(nil, "event: refused\ndata: {\"count\":%d}\n\n", n))
}

// join opens a stream; seq is how many events it comes too late for.
func (h *hub) join() (st *stream, seq int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) >= maxStreams {
		return nil, 0, false
	}
	st = &stream{frames: make(chan []byte, streamBuffer)}
	h.open[st] = true
	return st, h.seq, true
}

// told is how many events were told so far. A plan changes first and is told of after: whoever reads the
// number and then the plans has, in them, everything that was told by then. See TestBetweenListAndStream.
func (h *hub) told() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

func (h *hub) leave(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, st)
}

// caughtUp says whether st lost frames, once it has read all that are there.
func (h *hub) caughtUp(st *stream) (lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !st.behind || len(st.frames) > 0 {
		return false
	}
	st.behind = false
	return true
}

// events is the live stream. It starts with "hello"; the page then loads the list, so nothing
// falls between the two.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	st, seq, ok := s.hub.join()
	if !ok {
		errBusy.send(w)
		return
	}
	defer s.hub.leave(st)
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // supported by this server's own connections
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	write := func(frame []byte) bool {
		if rc.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
			return false
		}
		if _, err := w.Write(frame); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	hello := fmt.Appendf(nil, "event: hello\ndata: {\"seq\":%d,\"refusals\":%d,\"audit_failures\":%d}\n\n", seq, len(s.opts.Refusals.List()), s.auditFailures())
	if !write(hello) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var frame []byte
		select {
		case <-s.done:
			return
		case <-r.Context().Done():
			return
		case frame = <-st.frames:
		case <-beat.C:
			frame = []byte(": still here\n\n")
		}
		if !write(frame) {
			return
		}
		if s.hub.caughtUp(st) && !write([]byte("event: resync\ndata: {}\n\n")) {
			return
		}
	}
}
