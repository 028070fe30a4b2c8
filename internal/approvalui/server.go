package approvalui

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

//go:embed static shell.html
var files embed.FS

// Reviewer lists the plans and takes decisions. Approve and Reject audit the decision; the bool
// says that it had been taken before. Errors that are refusals are shown, others are faults.
type Reviewer interface {
	// Plans lists the open plans: those that wait, with all also those decided and not yet ended.
	Plans(all bool) []plan.Plan
	Approve(ctx context.Context, t plan.Token, actor string) (plan.Plan, bool, error)
	Reject(ctx context.Context, t plan.Token, actor, reason string) (plan.Plan, bool, error)
}

// Prober runs the bounded probe of a plan again: nil when the rows are still the ones on the card,
// a ROWSET_CHANGED refusal when they are not.
type Prober interface {
	Recheck(ctx context.Context, t plan.Token) error
}

// Ledger knows plans that have ended.
type Ledger interface {
	// Get finds one plan by its token, for as long as anything at all is remembered of it.
	Get(t plan.Token) (plan.Plan, bool)
	// Recent lists up to n ended plans, newest first.
	Recent(n int) []plan.Plan
}

// Watcher tells what happens to plans while it happens.
type Watcher interface {
	Subscribe() (<-chan plan.Event, func())
}

// Options are what the page is made of. Reviewer and Watcher are required.
type Options struct {
	Reviewer Reviewer
	Watcher  Watcher
	Prober   Prober // nil: the recheck route answers 404
	Ledger   Ledger // nil: no history
	Trail    Trail  // the audit log; nil: the audit route answers 404
	// Refusals is what the agent ran into; nil makes one that stays empty.
	Refusals *Refusals

	Port             int    // 0 is any free port
	RequireAuth      bool   // false switches the 401 gate off, never the 403 gate
	AuthToken        string // the secret; "" generates 256 random bits
	ExposeRawPayload bool
	ConfirmAboveRows int64

	// What the page shows about this server. Host is host:port of the database, never a URL.
	Database, Host, Role, Caller, Version string
	// MigrationRole is the role that migrations run as; "" = Role.
	MigrationRole string
	// PrivilegedRoles says that database.allowPrivilegedRoles is on: the page's header warns of it.
	PrivilegedRoles bool
	// Person is the name that decisions are recorded under until the person gives another.
	Person string
	// The thresholds, shown when nothing waits; 0 leaves them out.
	ApprovalRequiredAboveRows, HardMaxRows int64

	// OpenBrowser opens an address on this desktop; nil where there is none. The address holds a
	// one-time code.
	OpenBrowser func(url string) error
	// OpenOnFirstPlan opens the browser by itself when the first plan waits and no page listens.
	OpenOnFirstPlan bool
	// OpenFor says whether a plan is one to open the browser for; nil = every one is.
	OpenFor func(p plan.Plan) bool
	// OpenCommand is the command line that opens the page, shown on the locked page; "" leaves it out.
	OpenCommand string

	// PIN is asked for by every approval; nil asks for none.
	PIN PIN
	// Denied records an approval that was tried with a wrong PIN; nil: only the log has it.
	Denied func(ctx context.Context, p plan.Plan, actor, code string)
	// Others knows this user's other servers on this machine; nil: there are none.
	Others Others
	// Names remembers the person's name on this machine; nil: only the browser does.
	Names Names

	// AuditFailures counts the audit rows that could not be written; nil = never any.
	AuditFailures func() int64

	Logger *slog.Logger // nil logs nothing
}

// Server is the approval page of one process.
type Server struct {
	opts   Options
	log    *slog.Logger
	secret string
	key    string // proves to a page that this is still the process it was loaded from
	port   int
	taken  bool
	ln     net.Listener
	http   *http.Server
	codes  *codes
	pin    pinGate
	others othersCache
	hub    *hub
	done   chan struct{}
	once   sync.Once
}

// New makes the page. It does not listen yet.
func New(o Options) (*Server, error) {
	if o.Reviewer == nil || o.Watcher == nil {
		return nil, errors.New("making the approval page: a reviewer and a watcher are required")
	}
	if o.Port < 0 || o.Port > 65535 {
		return nil, fmt.Errorf("making the approval page: port %d is not between 0 and 65535", o.Port)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: o, log: o.Logger, secret: o.AuthToken, done: make(chan struct{}), codes: newCodes(time.Now), pin: pinGate{pin: o.PIN, now: time.Now}}
	if s.secret == "" {
		s.secret = random(32)
	}
	s.key = random(32)
	s.hub = newHub(s)
	if s.opts.Refusals == nil {
		s.opts.Refusals = &Refusals{}
	}
	s.opts.Refusals.onAdd(s.hub.refused)
	s.http = &http.Server{
		// "OPTIONS *" would be answered by the library, past every gate.
		DisableGeneralOptionsHandler: true,
		Handler:                      s,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  15 * time.Second, // an event stream lifts both for itself
		WriteTimeout:                 30 * time.Second,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               16 << 10,
		// net/http reports broken connections and panics here; a request's address never stands in it.
		ErrorLog: log.New(logWriter{s.log}, "", 0),
	}
	return s, nil
}

// random returns n random bytes as base64url.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Listen binds 127.0.0.1. If the port cannot be had it takes a free one and says so in the log;
// [Server.PortTaken] tells. An error means that no port at all could be bound.
func (s *Server) Listen() error {
	if s.ln != nil {
		return nil
	}
	ln, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.opts.Port)))
	if err != nil && s.opts.Port != 0 {
		first := err
		if ln, err = net.Listen("tcp4", "127.0.0.1:0"); err == nil {
			s.taken = true
			defer func() {
				s.log.Warn("the port of the approval page is taken, using a free one", "wanted", s.opts.Port, "port", s.port, "cause", first.Error())
			}()
		}
	}
	if err != nil {
		return fmt.Errorf("binding the approval page: %w", err)
	}
	s.ln = ln
	s.port = ln.Addr().(*net.TCPAddr).Port
	return nil
}

// PortTaken says that another port than the configured one was bound.
func (s *Server) PortTaken() bool { return s.taken }

// URL is the page's address without the secret.
func (s *Server) URL() string { return fmt.Sprintf("http://127.0.0.1:%d/", s.port) }

// SecretURL is the page's address with the secret. It is for stderr, once, and for nothing else.
func (s *Server) SecretURL() string {
	if !s.opts.RequireAuth {
		return s.URL()
	}
	return s.URL() + "?token=" + url.QueryEscape(s.secret)
}

// Open lets the server open the browser with a new one-time code.
func (s *Server) Open() error {
	if s.opts.OpenBrowser == nil {
		return errors.New("opening the approval page: no browser can be opened here")
	}
	address := s.URL()
	if s.opts.RequireAuth {
		address += "?code=" + url.QueryEscape(s.codes.issue())
	}
	if err := s.opts.OpenBrowser(address); err != nil {
		return fmt.Errorf("opening the approval page: %w", err)
	}
	return nil
}

// Serve answers until ctx ends or Close is called; then it returns nil.
func (s *Server) Serve(ctx context.Context) error {
	if err := s.Listen(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, s.Close)
	defer stop()
	events, cancel := s.opts.Watcher.Subscribe()
	defer cancel()
	hubDone := make(chan struct{})
	go func() {
		defer close(hubDone)
		s.hub.run(events)
	}()
	err := s.http.Serve(s.ln)
	s.Close()
	<-hubDone
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the approval page: %w", err)
}

// closeGrace is how long an answer that is being written may take after Close.
const closeGrace = 500 * time.Millisecond

// Close ends the event streams at once, gives other answers half a second, and frees the port.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.done)
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close() // what is left has had its time
		}
		if s.ln != nil {
			_ = s.ln.Close() // closed already when it was served
		}
	})
}

// prove answers a page's challenge: only the process that gave the page its key can.
func (s *Server) prove(challenge string) string {
	return hex.EncodeToString(mac(s.key, "sw-postgres-mcp approval page\n"+strconv.Itoa(s.port)+"\n"+challenge))
}

// logWriter hands net/http's own complaints to the log.
type logWriter struct{ log *slog.Logger }

func (l logWriter) Write(p []byte) (int, error) {
	l.log.Debug("approval page", "message", string(p))
	return len(p), nil
}
