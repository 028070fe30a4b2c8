//go:build unix

package runtimedir_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/runtimedir"
)

// fakePage is a page that counts who asks it to open.
type fakePage struct {
	state  runtimedir.State
	fails  error
	opened atomic.Int32
}

func (f *fakePage) State() runtimedir.State { return f.state }

func (f *fakePage) Open() error {
	f.opened.Add(1)
	return f.fails
}

// private is a directory whose path is short enough for sockets, which t.TempDir's need not be.
func private(t *testing.T) runtimedir.Dir {
	t.Helper()
	path, err := os.MkdirTemp("/tmp", "swrt-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(path)) })
	d, err := runtimedir.At(path)
	require.NoError(t, err)
	return d
}

func register(t *testing.T, d runtimedir.Dir, port int, p runtimedir.Page) *runtimedir.Entry {
	t.Helper()
	e, err := d.Register(port, p, nil)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func servers(t *testing.T, d runtimedir.Dir) []runtimedir.Server {
	t.Helper()
	list, err := d.Servers(t.Context())
	require.NoError(t, err)
	return list
}

func content(t *testing.T, d runtimedir.Dir) []string {
	t.Helper()
	var out []string
	list, err := os.ReadDir(d.Path())
	require.NoError(t, err)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// deadPID is the id of a process that was and is not any more.
func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	return cmd.Process.Pid
}

func TestServersFindEachOther(t *testing.T) {
	t.Parallel()
	d := private(t)
	require.Empty(t, servers(t, d))
	first := &fakePage{state: runtimedir.State{Waiting: 2, Database: "shop", Host: "localhost:5432", Caller: "a client", Version: "1", CanOpen: true, Started: time.Unix(1, 0).UTC()}}
	second := &fakePage{state: runtimedir.State{Database: "stock"}, fails: errors.New("there is no desktop\x1b[2J here")}
	e1 := register(t, d, 4319, first)
	register(t, d, 40001, second)
	list := servers(t, d)
	require.Len(t, list, 2)
	want := first.state
	want.PID, want.Port = os.Getpid(), 4319
	require.Equal(t, runtimedir.Server{State: want}, list[0])
	require.Equal(t, 40001, list[1].Port)
	at, err := os.Stat(d.Path())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), at.Mode().Perm())

	require.NoError(t, d.Open(t.Context(), list[0]))
	require.EqualValues(t, 1, first.opened.Load())
	err = d.Open(t.Context(), list[1])
	require.EqualError(t, err, "there is no desktop\uFFFD[2J here")

	e1.Close()
	e1.Close() // twice is once
	require.Len(t, servers(t, d), 1)
	require.Equal(t, []string{runtimedir.SocketName(os.Getpid(), 40001)}, content(t, d))
	require.Error(t, d.Open(t.Context(), list[0]))
}

// S07: whatever is asked of a socket, two questions are answered, and neither answer holds anything
// that opens a page or decides.
func TestTheSocketKnowsTwoQuestions(t *testing.T) {
	t.Parallel()
	d := private(t)
	p := &fakePage{state: runtimedir.State{Database: "shop"}}
	register(t, d, 4319, p)
	path := filepath.Join(d.Path(), runtimedir.SocketName(os.Getpid(), 4319))
	say := func(text string) string {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		_, _ = io.WriteString(c, text) // it may hang up before it has read all
		if u, ok := c.(*net.UnixConn); ok {
			_ = u.CloseWrite()
		}
		out, _ := io.ReadAll(c) // a reset is no answer either
		return string(out)
	}
	for _, text := range []string{
		"", "\n", "state\n", "{}\n", "null\n", "[]\n", `{"ask":null}` + "\n", `{"ask":"state"}`, `{"ask":["state"]}` + "\n", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("x", 1<<20), "\x00\xff\n",
		`{"ask":"state","pad":"` + strings.Repeat("x", 1000) + `"}` + "\n",
	} {
		require.Empty(t, say(text), "%.40q", text)
	}
	for _, ask := range []string{"approve", "reject", "secret", "token", "code", "session", "url", "link", "pin", "plans", "name", "STATE", "open "} {
		require.Empty(t, say(fmt.Sprintf(`{"ask":%q,"plan_token":"t","approve":true}`+"\n", ask)), ask)
	}
	require.Zero(t, p.opened.Load())
	require.Equal(t, "{}\n", say(`{"ask":"open"}`+"\n"))
	require.EqualValues(t, 1, p.opened.Load())
	var got struct{ State map[string]any }
	require.NoError(t, json.Unmarshal([]byte(say(`{"ask":"state"}`+"\n")), &got))
	require.Equal(t, []string{"caller", "can_open", "database", "host", "pid", "port", "started", "version", "waiting"}, slices.Sorted(maps.Keys(got.State)))
}

// behind makes a socket of that name, with talk behind it; nil closes it and leaves it there.
func behind(t *testing.T, d runtimedir.Dir, name string, talk func(net.Conn)) {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(d.Path(), name), Net: "unix"})
	require.NoError(t, err)
	ln.SetUnlinkOnClose(false)
	if talk == nil {
		require.NoError(t, ln.Close())
		return
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = bufio.NewReader(c).ReadString('\n')
				talk(c)
			}()
		}
	}()
}

// What a server that was killed left is removed, also when its process id lives again in another
// process: nobody listens behind it.
func TestServersThatDiedAreRemoved(t *testing.T) {
	t.Parallel()
	d := private(t)
	register(t, d, 4319, &fakePage{})
	live := runtimedir.SocketName(os.Getpid(), 4319)
	dead := deadPID(t)
	behind(t, d, runtimedir.SocketName(dead, 4400), nil)
	behind(t, d, runtimedir.SocketName(os.Getpid(), 4401), nil)        // the id lives, the server does not
	behind(t, d, runtimedir.SocketName(os.Getppid(), 4402), nil)       // and here it is somebody else's
	behind(t, d, runtimedir.SocketName(dead, 4403)+".new", nil)        // died before it listened
	behind(t, d, runtimedir.SocketName(os.Getpid(), 4404)+".new", nil) // about to listen
	require.Len(t, content(t, d), 6)
	list := servers(t, d)
	require.Len(t, list, 1)
	require.Equal(t, 4319, list[0].Port)
	require.Equal(t, []string{live, runtimedir.SocketName(os.Getpid(), 4404) + ".new"}, content(t, d))

	// A server takes the place of one that had its id and its port before.
	behind(t, d, runtimedir.SocketName(os.Getpid(), 4500), nil)
	register(t, d, 4500, &fakePage{})
	register(t, d, 4404, &fakePage{})
	require.Len(t, servers(t, d), 3)
}

// Whatever else is in the directory is neither believed nor touched, and holds nothing up for long.
func TestBadFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	d := private(t)
	register(t, d, 4319, &fakePage{})
	pid := os.Getpid()
	answer := func(text string) func(net.Conn) { return func(c net.Conn) { _, _ = io.WriteString(c, text) } }
	state := func(over string) func(net.Conn) {
		return answer(fmt.Sprintf(`{"state":{"pid":%d,"port":5000%s}}`, pid, over) + "\n")
	}
	bad := map[string]func(net.Conn){
		"garbage":       answer("\x00\x01\xff\n"),
		"not JSON":      answer("hello\n"),
		"another shape": answer(`{"state":[1]}` + "\n"),
		"no state":      answer("{}\n"),
		"1 MB":          answer(strings.Repeat("x", 1<<20) + "\n"),
		"1 MB of state": state(`,"database":"` + strings.Repeat("x", 1<<20) + `"`),
		"long text":     state(`,"caller":"` + strings.Repeat("x", 301) + `"`),
		"negative":      state(`,"waiting":-1`),
		"cut":           func(c net.Conn) { _, _ = io.WriteString(c, `{"state":{`) },
		"hangs up":      func(net.Conn) {},
		"another port":  answer(fmt.Sprintf(`{"state":{"pid":%d,"port":1}}`, pid) + "\n"),
		"another id":    answer(`{"state":{"pid":1,"port":5000}}` + "\n"),
	}
	port := 5000
	for name, talk := range bad {
		only := private(t)
		behind(t, only, runtimedir.SocketName(pid, 5000), talk)
		require.Empty(t, servers(t, only), name)
		require.Len(t, content(t, only), 1, name)
		port++
		behind(t, d, runtimedir.SocketName(pid, port), talk)
	}
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	behind(t, d, runtimedir.SocketName(pid, 6000), func(net.Conn) { <-hold })

	at := func(name string) string { return filepath.Join(d.Path(), name) }
	require.NoError(t, os.Symlink(at(runtimedir.SocketName(pid, 4319)), at(runtimedir.SocketName(pid, 6001))))
	require.NoError(t, os.Symlink("/nowhere", at("7-6002.sock")))
	require.NoError(t, os.WriteFile(at("7-6003.sock"), []byte(strings.Repeat("x", 1<<20)), 0o600))
	require.NoError(t, os.Mkdir(at("7-6004.sock"), 0o700))
	fifo(t, at("7-6005.sock"))
	require.NoError(t, os.WriteFile(at(runtimedir.SocketName(deadPID(t), 6006)+".new"), nil, 0o600))
	for _, name := range []string{"x.sock", "-1-2.sock", "1-0.sock", "1-65536.sock", "01-2.sock", "1-2-3.sock", ".sock", "1-2.sock.", "99999999999999999999-1.sock", "\xff\x1b[2J", strings.Repeat("n", 255)} {
		require.NoError(t, os.WriteFile(at(name), []byte("garbage"), 0o600))
	}
	before := content(t, d)
	list := servers(t, d)
	require.Len(t, list, 2, "%+v", list)
	require.Equal(t, 4319, list[0].Port)
	require.Equal(t, runtimedir.Server{State: runtimedir.State{PID: pid, Port: 6000}, Silent: true}, list[1])
	require.Equal(t, before, content(t, d))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Servers(ctx)
	require.NoError(t, err)
	require.Error(t, d.Open(ctx, list[0]))
}

// Directories for temporary files are cleaned by age: a server that lives makes its socket again.
func TestASocketThatWasCleanedAwayComesBack(t *testing.T) {
	t.Parallel()
	d := private(t)
	said := &safeBuffer{}
	e, err := d.RegisterMending(4319, &fakePage{}, 5*time.Millisecond, slog.New(slog.NewTextHandler(said, nil)))
	require.NoError(t, err)
	t.Cleanup(e.Close)
	// At one blow: the server makes it again while it goes.
	away := func() error {
		if err := os.Rename(d.Path(), d.Path()+"-away"); err != nil {
			return err
		}
		return os.RemoveAll(d.Path() + "-away")
	}
	for _, clean := range []func() error{
		func() error { return os.Remove(filepath.Join(d.Path(), runtimedir.SocketName(os.Getpid(), 4319))) },
		away, // with the directory
	} {
		require.NoError(t, clean())
		require.Eventually(t, func() bool {
			list, err := d.Servers(t.Context())
			return err == nil && len(list) == 1 && !list[0].Silent
		}, 20*time.Second, 5*time.Millisecond)
	}
	// Not in a directory that others have made in its place.
	require.NoError(t, away())
	require.NoError(t, os.MkdirAll(d.Path()+"-elsewhere", 0o700))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(d.Path()+"-elsewhere")) })
	if os.Symlink(d.Path()+"-elsewhere", d.Path()) == nil { // else it was faster and has made its own
		_, err = d.Servers(t.Context())
		require.ErrorContains(t, err, "symbolic link")
		require.Eventually(t, func() bool { return strings.Contains(said.String(), "symbolic link") }, 20*time.Second, 5*time.Millisecond)
	}
	e.Close()
	require.Empty(t, func() []os.DirEntry { l, _ := os.ReadDir(d.Path() + "-elsewhere"); return l }())
}

type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Who asks slowly, or often, does not keep a server from ending or from answering others.
func TestSlowAskersHoldNothingUp(t *testing.T) {
	t.Parallel()
	d := private(t)
	register(t, d, 4319, &fakePage{})
	path := filepath.Join(d.Path(), runtimedir.SocketName(os.Getpid(), 4319))
	for range runtimedir.MaxTalks * 3 {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
	}
	require.Eventually(t, func() bool { // their time is over after a second
		list := servers(t, d)
		return len(list) == 1 && !list[0].Silent
	}, 20*time.Second, 10*time.Millisecond)

	// Those that wait in the middle of a question do not hold up the end, whatever their time.
	patient, err := d.RegisterPatient(4320, &fakePage{})
	require.NoError(t, err)
	path = filepath.Join(d.Path(), runtimedir.SocketName(os.Getpid(), 4320))
	var hungUp atomic.Int32
	for range runtimedir.MaxTalks * 2 {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, `{"ask":`) // it may have hung up already
		go func() {
			_, _ = io.Copy(io.Discard, c)
			hungUp.Add(1)
		}()
	}
	require.Eventually(t, func() bool { return hungUp.Load() == runtimedir.MaxTalks }, 20*time.Second, 5*time.Millisecond, "it listens to no more than so many")
	ended := make(chan struct{})
	go func() {
		patient.Close()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the end waits for who asks")
	}
}
