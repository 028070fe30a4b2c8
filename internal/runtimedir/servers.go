package runtimedir

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxEntries bounds how many names are read, and maxServers how many servers are asked.
	maxEntries = 4096
	maxServers = 64
	maxText    = 300 // characters of one text in an answer
)

// Server is one server of this user.
type Server struct {
	State
	// Silent says that the server is there and did not answer in time: it may be stopped. Then only
	// PID and Port are known.
	Silent bool
}

// Servers asks every server of this user how it is, all at once, and returns them by port. What was
// left behind by servers that died is removed. It takes a second at most.
func (d Dir) Servers(ctx context.Context) ([]Server, error) {
	if err := check(d.path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("listing the servers: %w", err)
	}
	f, err := os.Open(d.path)
	if err != nil {
		return nil, fmt.Errorf("listing the servers: %w", err)
	}
	names, err := f.Readdirnames(maxEntries)
	_ = f.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("listing the servers: %w", err)
	}
	slices.Sort(names)
	var (
		mu   sync.Mutex
		out  []Server
		wg   sync.WaitGroup
		many = 0
	)
	for _, name := range names {
		path := filepath.Join(d.path, name)
		if first, ok := strings.CutSuffix(name, newSuffix); ok {
			if pid, _, ok := parseName(first); ok && !alive(pid) {
				removeSocket(path) // its maker died before it listened
			}
			continue
		}
		pid, port, ok := parseName(name)
		if !ok || many == maxServers {
			continue
		}
		if at, err := os.Lstat(path); err != nil || at.Mode().Type() != os.ModeSocket {
			continue // not made by a server: not ours to remove, and never opened
		}
		many++
		wg.Go(func() {
			a, err := ask(ctx, path, "state")
			switch {
			case err != nil && refused(err):
				removeSocket(path)
				return
			case errors.Is(err, os.ErrNotExist):
				return // it ended meanwhile
			}
			s := Server{State: State{PID: pid, Port: port}, Silent: true}
			if err == nil && a.State != nil && a.State.PID == pid && a.State.Port == port && believable(*a.State) {
				s = Server{State: *a.State}
			} else if err == nil {
				return // it answers, and not as a server of ours does
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, s)
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b Server) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.PID, b.PID)) })
	return out, nil
}

// believable refuses an answer that would spoil a page or a terminal.
func believable(s State) bool {
	for _, t := range []string{s.Database, s.Host, s.Caller, s.Version} {
		if !utf8.ValidString(t) || utf8.RuneCountInString(t) > maxText {
			return false
		}
	}
	return s.Waiting >= 0
}

// Clean writes what a server says of itself so that it cannot move a terminal's cursor or turn the
// direction of a line.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// Open asks a server to open its page in the browser of its desktop. The error says in the server's
// own words why it did not.
func (d Dir) Open(ctx context.Context, s Server) error {
	path := filepath.Join(d.path, socketName(s.PID, s.Port))
	a, err := ask(ctx, path, "open")
	if err != nil {
		return fmt.Errorf("asking the server on port %d: %w", s.Port, err)
	}
	if a.Error != "" {
		return errors.New(Clean(a.Error))
	}
	return nil
}

// ask puts one question.
func ask(ctx context.Context, path, what string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var dial net.Dialer
	c, err := dial.DialContext(ctx, "unix", path)
	if err != nil {
		return answer{}, err
	}
	defer c.Close()
	until, _ := ctx.Deadline()
	_ = c.SetDeadline(until) // fails on a closed connection only
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	q, err := json.Marshal(request{Ask: what})
	if err != nil {
		return answer{}, err
	}
	if _, err := c.Write(append(q, '\n')); err != nil {
		return answer{}, err
	}
	line, err := bufio.NewReaderSize(io.LimitReader(c, maxAnswer), maxAnswer).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return answer{}, nil // it does not speak as we do, or was cut: no state
	}
	if err != nil {
		return answer{}, err
	}
	var a answer
	if json.Unmarshal(line, &a) != nil {
		return answer{}, nil // garbage is no state
	}
	return a, nil
}

// removeSocket removes a socket, and nothing else that may have taken its place.
func removeSocket(path string) {
	if at, err := os.Lstat(path); err == nil && at.Mode().Type() == os.ModeSocket {
		_ = os.Remove(path) // another listing may have been faster
	}
}
