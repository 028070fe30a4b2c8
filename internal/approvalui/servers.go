package approvalui

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Other is another server of this user on this machine. Its texts come from another process and
// are shown as any text from outside.
type Other struct {
	Port     int    `json:"port"`
	Waiting  int    `json:"waiting"`
	Database string `json:"database"`
	Host     string `json:"host"`
	Caller   string `json:"caller"`
	CanOpen  bool   `json:"can_open"`
}

// Others knows the other servers of this user on this machine.
type Others interface {
	// Others lists them, this one left out. It takes a second at most.
	Others(ctx context.Context) ([]Other, error)
	// OpenOther asks one of them to open its page in the browser of its desktop. The person sees the
	// page; nothing that would open it comes back.
	OpenOther(ctx context.Context, port int) error
}

// othersFor is how long a list is good for: many pages ask, and each time every server is asked.
const othersFor = time.Second

// othersCache keeps the last list.
type othersCache struct {
	mu   sync.Mutex
	at   time.Time
	list []Other
}

func (c *othersCache) get(ctx context.Context, from Others) ([]Other, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < othersFor {
		return c.list, nil
	}
	// Not the context of the page that asked: others wait for the same list.
	list, err := from.Others(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	c.at, c.list = time.Now(), list
	return list, nil
}

// Waiting is how many plans wait for a person now.
func (s *Server) Waiting() int {
	n, now := 0, time.Now()
	for _, p := range s.opts.Reviewer.Plans(false) {
		if p.State == plan.AwaitingApproval && p.ExpiresAt.After(now) {
			n++
		}
	}
	return n
}

// Port is the bound port.
func (s *Server) Port() int { return s.port }

// CanOpen says whether [Server.OpenWhenAsked] can work here.
func (s *Server) CanOpen() bool { return s.opts.OpenBrowser != nil }

// OpenWhenAsked opens the page as the page's own button does: so often and no more, whoever asks
// gets nothing but how it went. The error is for people.
func (s *Server) OpenWhenAsked() error {
	if p := s.openWhenAsked(); p != nil {
		return errors.New(strings.TrimSuffix(p.Message, ".") + ". " + p.Hint)
	}
	return nil
}

func (s *Server) openWhenAsked() *problem {
	if s.opts.OpenBrowser == nil {
		return &errNoBrowser
	}
	if !s.codes.mayOpen() {
		return &errTooManyTries
	}
	if err := s.Open(); err != nil {
		s.log.Warn("the browser could not be opened", "cause", err)
		return &errNoBrowser
	}
	return nil
}

// open asks the server to open the page in this desktop's browser: the person sees it, who asked
// gets nothing.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if _, bad := readBody(r); bad != nil {
		bad.send(w)
		return
	}
	if p := s.openWhenAsked(); p != nil {
		p.send(w)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true})
}

// servers lists the other servers of this user.
func (s *Server) servers(w http.ResponseWriter, r *http.Request) {
	list := []Other{}
	if s.opts.Others != nil {
		found, err := s.others.get(r.Context(), s.opts.Others)
		if err != nil { // the list is a convenience: the page works without it
			s.log.Warn("the other servers of this user could not be listed", "cause", err)
		}
		list = append(list, found...)
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "servers": list})
}

// openOther asks another server to open its page. A link would not do: a page does not answer to
// requests that come from another page.
func (s *Server) openOther(w http.ResponseWriter, r *http.Request) {
	body, bad := readBody(r, "port")
	if bad != nil {
		bad.send(w)
		return
	}
	port, err := strconv.Atoi(body["port"])
	if err != nil || port < 1 || port > 65535 {
		badRequest("The port is not one.").send(w)
		return
	}
	if s.opts.Others == nil {
		errNotFound.send(w)
		return
	}
	if err := s.opts.Others.OpenOther(r.Context(), port); err != nil {
		s.log.Warn("another server did not open its page", "port", port, "cause", err)
		problem{http.StatusServiceUnavailable, "BROWSER_UNAVAILABLE", "That server did not open its page.", "Use the link that it printed when it started."}.send(w)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true})
}
