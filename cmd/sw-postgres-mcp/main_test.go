package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// The test binary is the program when it is told so: what is tested is main itself, with the race
// detector in it.
func TestMain(m *testing.M) {
	if os.Getenv("SW_TEST_BE_MAIN") == "1" {
		main()
		return
	}
	// Servers of one user find each other: those of the tests must not meet the person's own.
	var err error
	if runtimeDir, err = os.MkdirTemp("", "sw-rt-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(runtimeDir)
	os.Exit(code)
}

// runtimeDir is where the servers of these tests find each other.
var runtimeDir string

// process is one running server and its raw client.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr *safeBuffer
	ended  chan struct{}
	code   int
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
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

// command is the program with a clean environment and a directory of its own.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"SW_TEST_BE_MAIN=1", "HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + runtimeDir, "SW_APPROVAL_SERVER_PORT=0", "SW_APPROVAL_SERVER_OPEN_BROWSER=never"}, env...)
	return cmd
}

// once runs a command to its end.
func once(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &exit), "%v", err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, env, args...), lines: make(chan string, 1000), stderr: &safeBuffer{}, ended: make(chan struct{})}
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	p.in = in
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr = p.stderr
	require.NoError(t, p.cmd.Start())
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				p.lines <- line
			}
			if err != nil {
				break
			}
		}
		close(p.lines)
		_ = p.cmd.Wait() // the code is read below
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.in.Close()
		select {
		case <-p.ended:
		case <-time.After(10 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		if t.Failed() {
			t.Logf("stderr:\n%s", p.stderr)
		}
		for line := range p.lines { // S19: whatever is left is the protocol too
			require.True(t, json.Valid([]byte(line)), line)
		}
	})
	return p
}

func (p *process) send(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.t, err)
}

// next is the next answer. S19: each line parses.
func (p *process) next() map[string]json.RawMessage {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		require.True(p.t, ok, "the server ended: %s", p.stderr)
		var m map[string]json.RawMessage
		require.NoError(p.t, json.Unmarshal([]byte(line), &m), line)
		require.Equal(p.t, `"2.0"`, string(m["jsonrpc"]))
		return m
	case <-time.After(30 * time.Second):
		p.t.Fatalf("no answer within 30 s; stderr: %s", p.stderr)
		return nil
	}
}

func (p *process) initialize() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Contains(p.t, string(p.next()["result"]), `"name":"sw-postgres-mcp"`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// call calls a tool and returns its text, and whether it is an error.
func (p *process) call(tool string, arguments any) (text string, isError bool) {
	p.t.Helper()
	p.sendCall(1, tool, arguments)
	return p.result()
}

func (p *process) sendCall(id int, tool string, arguments any) {
	p.t.Helper()
	a, err := json.Marshal(arguments)
	require.NoError(p.t, err)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, a))
}

func (p *process) result() (text string, isError bool) {
	p.t.Helper()
	var r struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	m := p.next()
	require.NoError(p.t, json.Unmarshal(m["result"], &r), "%s", m["error"])
	require.Len(p.t, r.Content, 1)
	if !r.IsError {
		require.JSONEq(p.t, r.Content[0].Text, string(r.StructuredContent))
	}
	return r.Content[0].Text, r.IsError
}

// ends requires that the process ends by itself in time, and returns its exit code.
func (p *process) ends(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.code
	case <-time.After(within):
		p.t.Fatalf("still running after %s; stderr: %s", within, p.stderr)
		return -1
	}
}

type args map[string]any

// database is a real one with app.items in it.
func database(t *testing.T) (*pgtemp.DB, []string) {
	t.Helper()
	db := pgtemp.New(t)
	db.Exec(t, `CREATE SCHEMA app; CREATE TABLE app.items (id bigint PRIMARY KEY, name text);
		INSERT INTO app.items SELECT g, 'n' || g FROM generate_series(1, 500) g;
		GRANT USAGE ON SCHEMA app TO readonly, writer; GRANT SELECT ON app.items TO readonly;
		GRANT SELECT, INSERT, UPDATE, DELETE ON app.items TO writer`)
	return db, []string{"DATABASE_URL_READONLY=" + db.Readonly, "DATABASE_URL_WRITER=" + db.Writer, "SW_POSTGRES_CONFIG=" + configFile(t)}
}

func configFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"allowlist":{"write":{"schemas":["app"]}},"callerId":"test"}`), 0o600))
	return path
}

// nowhere is a pair of addresses where nothing listens.
var nowhere = []string{
	"DATABASE_URL_READONLY=postgres://reader:S3cr3t@127.0.0.1:1/x", "DATABASE_URL_WRITER=postgres://writer:S3cr3t@127.0.0.1:1/x",
}

func noSecret(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		require.False(t, strings.Contains(s, "S3cr3t"), s)
	}
}
