package runtimedir

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// State is what a server says of itself to the other programs of this user. No field may ever hold
// a secret: whoever runs as this user can ask.
type State struct {
	PID      int       `json:"pid"`
	Port     int       `json:"port"` // of the page, on 127.0.0.1
	Waiting  int       `json:"waiting"`
	Database string    `json:"database"`
	Host     string    `json:"host"` // host:port of the database
	Caller   string    `json:"caller"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	// CanOpen says that the server can open a browser on its desktop.
	CanOpen bool `json:"can_open"`
}

// Page is what stands behind a socket. Both methods are called from several goroutines.
type Page interface {
	// State is asked now; PID and Port are filled in here.
	State() State
	// Open shows the page in the browser of this desktop. The caller gets nothing but the error's text.
	Open() error
}

const (
	// answerWithin bounds one exchange, on both sides.
	answerWithin = time.Second
	// maxRequest and maxAnswer bound what is read, in bytes.
	maxRequest = 256
	maxAnswer  = 8 << 10
	// maxTalks bounds how many are answered at once.
	maxTalks = 16
)

type request struct {
	Ask string `json:"ask"`
}

type answer struct {
	State *State `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// Entry is this server's socket in the directory.
type Entry struct {
	dir  Dir
	path string
	page Page
	port int
	log  *slog.Logger
	// mend is how often the socket is looked after, within how long an asker has.
	mend, within time.Duration

	mu    sync.Mutex
	ln    *net.UnixListener
	talks map[net.Conn]bool
	done  chan struct{}
	wg    sync.WaitGroup
}

// mendEvery is how often a server looks whether its socket is still there: directories for temporary
// files are cleaned by age.
const mendEvery = 30 * time.Second

// Register makes the socket of this process. A log of nil logs nothing.
func (d Dir) Register(port int, page Page, log *slog.Logger) (*Entry, error) {
	return d.register(port, page, log, mendEvery, answerWithin)
}

func (d Dir) register(port int, page Page, log *slog.Logger, mend, within time.Duration) (*Entry, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Entry{dir: d, path: filepath.Join(d.path, socketName(os.Getpid(), port)), page: page, port: port, log: log, mend: mend, within: within, talks: map[net.Conn]bool{}, done: make(chan struct{})}
	ln, err := e.listen()
	if err != nil {
		return nil, err
	}
	e.ln = ln
	e.wg.Go(func() { e.serve(ln) })
	e.wg.Go(e.keep)
	return e, nil
}

func socketName(pid, port int) string { return fmt.Sprintf("%d-%d.sock", pid, port) }

// parseName reads a socket's name back.
func parseName(name string) (pid, port int, ok bool) {
	rest, ok := strings.CutSuffix(name, ".sock")
	a, b, cut := strings.Cut(rest, "-")
	if !ok || !cut {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(a)
	port, err2 := strconv.Atoi(b)
	ok = err1 == nil && err2 == nil && pid > 0 && port > 0 && port <= 65535 && socketName(pid, port) == name
	return pid, port, ok
}

// newSuffix ends the name that a socket has before it listens.
const newSuffix = ".new"

// listen makes the socket under another name first: between its making and its listening it refuses
// connections, and would be taken for one left behind.
func (e *Entry) listen() (*net.UnixListener, error) {
	if err := check(e.dir.path); err != nil {
		return nil, fmt.Errorf("making the server's socket: %w", err)
	}
	first := e.path + newSuffix
	// What has our process id and is not ours was left by a process that had it before.
	if err := os.Remove(first); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("making the server's socket: %w", err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: first, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("making the server's socket: %w", err)
	}
	ln.SetUnlinkOnClose(false) // under that name it is no longer there
	if err := os.Rename(first, e.path); err != nil {
		_ = ln.Close()
		_ = os.Remove(first) // the first error says more
		return nil, fmt.Errorf("making the server's socket: %w", err)
	}
	return ln, nil
}

// keep makes the socket again when somebody has cleaned it away.
func (e *Entry) keep() {
	tick := time.NewTicker(e.mend)
	defer tick.Stop()
	for {
		select {
		case <-e.done:
			return
		case <-tick.C:
		}
		if at, err := os.Lstat(e.path); err == nil && at.Mode().Type() == os.ModeSocket {
			continue
		}
		e.again()
	}
}

func (e *Entry) again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.done:
		return
	default:
	}
	// The directory may have gone with it; somebody else may have made one.
	if err := os.Mkdir(e.dir.path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		e.log.Warn("the directory in which servers find each other is gone", "cause", err)
		return
	}
	ln, err := e.listen()
	if err != nil {
		e.log.Warn("the other servers cannot find this one", "cause", err)
		return
	}
	_ = e.ln.Close()
	e.ln = ln
	e.wg.Go(func() { e.serve(ln) })
}

// Close ends the answers and removes the socket.
func (e *Entry) Close() {
	e.mu.Lock()
	select {
	case <-e.done:
		e.mu.Unlock()
		return
	default:
	}
	close(e.done)
	_ = os.Remove(e.path) // a listing removes what could not be removed
	_ = e.ln.Close()
	for c := range e.talks {
		_ = c.Close() // who asks slowly must not hold up the end
	}
	e.mu.Unlock()
	e.wg.Wait()
}

func (e *Entry) serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				e.log.Warn("the other servers cannot ask this one", "cause", err)
			}
			return
		}
		if !e.begin(c) {
			_ = c.Close()
			continue
		}
		e.wg.Go(func() {
			defer e.end(c)
			e.talk(c)
		})
	}
}

// begin keeps a connection, so that Close can end it; false when there are too many, or none is wanted.
func (e *Entry) begin(c net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.done:
		return false
	default:
	}
	if len(e.talks) >= maxTalks {
		return false
	}
	e.talks[c] = true
	return true
}

func (e *Entry) end(c net.Conn) {
	_ = c.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.talks, c)
}

// talk answers one question. Whatever is no question gets no answer.
func (e *Entry) talk(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(e.within)) // fails on a closed connection only
	line, err := bufio.NewReader(io.LimitReader(c, maxRequest)).ReadBytes('\n')
	if err != nil {
		return
	}
	var q request
	if json.Unmarshal(line, &q) != nil {
		return
	}
	var a answer
	switch q.Ask {
	case "state":
		s := e.page.State()
		s.PID, s.Port = os.Getpid(), e.port
		a.State = &s
	case "open":
		if err := e.page.Open(); err != nil {
			a.Error = err.Error()
		}
	default:
		return
	}
	out, err := json.Marshal(a)
	if err != nil {
		return // strings, numbers and a time always marshal
	}
	_, _ = c.Write(append(out, '\n')) // who asked may have left
}
