package tests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// server is one running program and the client that talks to it: raw lines of JSON, no library, so
// that what the tests see is what is on the wire.
type server struct {
	t           testing.TB
	db          *pgtemp.DB
	cmd         *exec.Cmd
	in          io.WriteCloser
	application string
	secrets     []string // passwords of the connection strings

	mu       sync.Mutex
	next     int
	calls    map[string]chan message
	stdout   []string // every line
	strange  []string // lines that are not JSON-RPC
	notes    []message
	requests []message // what the server asked of the client
	elicit   func(message) any
	stderr   bytes.Buffer

	page   string // with the secret
	pageOK chan struct{}

	outEnd, errEnd chan struct{}
	ended          chan struct{}
	exit           int
	once           sync.Once
	killed         bool
	anyExit        bool // a test that looks at the exit code itself
}

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// reply is the answer to one tool call.
type reply struct {
	text    json.RawMessage // the one text content
	isError bool
	code    string
	message string
	hint    string
	rpc     *rpcError
}

var pageLine = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=[A-Za-z0-9_~.-]+`)

// start runs the server on db and shakes hands. It is stopped, and held to what must hold always,
// when the test ends.
func start(t testing.TB, db *pgtemp.DB, o options) *server {
	t.Helper()
	cmd, application := command(t, db, o)
	s := &server{
		t: t, db: db, cmd: cmd, application: application, calls: map[string]chan message{},
		pageOK: make(chan struct{}), outEnd: make(chan struct{}), errEnd: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, e := range cmd.Env {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "DATABASE_URL") {
			if u, err := url.Parse(value); err == nil && u.User != nil {
				if pw, ok := u.User.Password(); ok {
					s.secrets = append(s.secrets, pw)
				}
			}
		}
	}
	var err error
	s.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	go s.readStdout(out)
	go s.readStderr(errs)
	go func() {
		<-s.outEnd
		<-s.errEnd
		_ = cmd.Wait() // the exit code is in ProcessState
		s.exit = cmd.ProcessState.ExitCode()
		close(s.ended)
	}()
	t.Cleanup(s.finish)
	if o.silent || len(o.through) > 0 {
		return s
	}
	capabilities := o.client
	if capabilities == nil {
		capabilities = map[string]any{}
	}
	s.initialize("2025-06-18", capabilities)
	return s
}

func (s *server) initialize(version string, capabilities map[string]any) json.RawMessage {
	s.t.Helper()
	m := s.request("initialize", map[string]any{
		"protocolVersion": version, "capabilities": capabilities, "clientInfo": map[string]any{"name": "tests", "version": "1"},
	}).wait()
	require.Nil(s.t, m.Error)
	s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return m.Result
}

func (s *server) readStdout(r io.Reader) {
	defer close(s.outEnd)
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			s.line(line, err == nil)
		}
		if err != nil {
			return
		}
	}
}

// line takes one line of stdout: it must be one whole JSON-RPC message (S19).
func (s *server) line(line string, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stdout = append(s.stdout, line)
	m, ok := parseRPC(line)
	if !ok || !whole {
		s.strange = append(s.strange, line)
		return
	}
	switch {
	case m.Method == "":
		if ch := s.calls[string(m.ID)]; ch != nil {
			delete(s.calls, string(m.ID))
			ch <- m
		}
	case len(m.ID) == 0:
		s.notes = append(s.notes, m)
	default:
		s.requests = append(s.requests, m)
		if s.elicit != nil {
			answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": s.elicit(m)})
			go func() { _, _ = s.in.Write(append(answer, '\n')) }()
		}
	}
}

// parseRPC accepts exactly the three shapes of JSON-RPC 2.0: request, notification, response.
func parseRPC(line string) (message, bool) {
	var m message
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &m) != nil || json.Unmarshal([]byte(line), &fields) != nil || m.JSONRPC != "2.0" {
		return m, false
	}
	_, hasID := fields["id"]
	_, hasResult := fields["result"]
	_, hasError := fields["error"]
	if m.Method != "" {
		return m, !hasResult && !hasError
	}
	return m, hasID && hasResult != hasError
}

func (s *server) readStderr(r io.Reader) {
	defer close(s.errEnd)
	in := bufio.NewReader(r)
	found := false
	for {
		line, err := in.ReadString('\n')
		s.mu.Lock()
		s.stderr.WriteString(line)
		if m := pageLine.FindString(line); m != "" && !found {
			found, s.page = true, m
			close(s.pageOK)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// log is what stderr holds so far.
func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

func (s *server) send(m any) {
	s.t.Helper()
	line, err := json.Marshal(m)
	require.NoError(s.t, err)
	s.sendLine(string(line))
}

func (s *server) sendLine(line string) {
	s.t.Helper()
	_, err := s.in.Write([]byte(line + "\n"))
	require.NoError(s.t, err, "writing to the server; its stderr:\n%s", s.log())
}

// pending is a request that was sent.
type pending struct {
	s    *server
	id   int
	what string
	ch   chan message
}

func (s *server) request(method string, params any) *pending {
	s.t.Helper()
	s.mu.Lock()
	s.next++
	p := &pending{s: s, id: s.next, what: method, ch: make(chan message, 1)}
	s.calls[fmt.Sprint(p.id)] = p.ch
	s.mu.Unlock()
	s.send(map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	return p
}

// wait returns the answer. It fails the test when none comes.
func (p *pending) wait() message {
	p.s.t.Helper()
	select {
	case m := <-p.ch:
		return m
	case <-p.s.outEnd:
		select {
		case m := <-p.ch:
			return m
		default:
		}
		p.s.t.Fatalf("the server ended before it answered %s; stderr:\n%s", p.what, p.s.log())
	case <-time.After(time.Minute):
		p.s.t.Fatalf("no answer to %s in a minute; stderr:\n%s", p.what, p.s.log())
	}
	return message{}
}

// answered reports whether the answer is there already.
func (p *pending) answered() bool { return len(p.ch) > 0 }

// cancel sends the client's cancel notification.
func (p *pending) cancel() {
	p.s.t.Helper()
	p.s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": p.id, "reason": "test"}})
}

// begin sends a tool call and does not wait. args is any JSON object, or a json.RawMessage that is
// sent as it is.
func (s *server) begin(tool string, args any) *pending {
	s.t.Helper()
	p := s.request("tools/call", map[string]any{"name": tool, "arguments": args})
	p.what = tool
	return p
}

// call calls a tool and waits. Every answer is held to the contract's shape on the way.
func (s *server) call(tool string, args any) reply {
	s.t.Helper()
	return s.begin(tool, args).reply()
}

func (p *pending) reply() reply {
	p.s.t.Helper()
	m := p.wait()
	r, complaint := readReply(m)
	if complaint != "" {
		p.s.t.Errorf("%s: %s: %s", p.what, complaint, m.Result)
	}
	return r
}

// readReply reads a tool's answer and says what of it breaks the contract.
func readReply(m message) (r reply, complaint string) {
	if m.Error != nil {
		r.rpc, r.isError, r.code, r.message = m.Error, true, fmt.Sprint(m.Error.Code), m.Error.Message
		return r, ""
	}
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		return r, "the result cannot be read: " + err.Error()
	}
	if len(result.Content) != 1 || result.Content[0].Type != "text" {
		return r, "the result is not one text"
	}
	r.text, r.isError = json.RawMessage(result.Content[0].Text), result.IsError
	var object map[string]json.RawMessage
	if err := json.Unmarshal(r.text, &object); err != nil {
		return r, "the text is not a JSON object"
	}
	if !r.isError {
		if !sameJSON(r.text, result.Structured) {
			return r, "structuredContent is not the text"
		}
		return r, ""
	}
	if len(result.Structured) > 0 {
		return r, "an error with structuredContent"
	}
	var e refusal.Error
	if err := json.Unmarshal(r.text, &e); err != nil || len(object) != 3 || e.Code == "" || e.Message == "" || e.Hint == "" {
		return r, "an error that is not {code, message, hint}"
	}
	r.code, r.message, r.hint = string(e.Code), e.Message, e.Hint
	if !slices.Contains(refusal.Codes(), e.Code) {
		return r, "an unknown code"
	}
	if e.Code == refusal.InternalError {
		return r, "a fault"
	}
	return r, ""
}

// sameJSON compares two texts as values, numbers by their digits.
func sameJSON(a, b json.RawMessage) bool {
	var values [2]any
	for i, text := range []json.RawMessage{a, b} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// ok requires a success and decodes it.
func (r reply) ok(t testing.TB, into any) {
	t.Helper()
	require.False(t, r.isError, "refused: %s %s (%s)", r.code, r.message, r.hint)
	if into != nil {
		require.NoError(t, json.Unmarshal(r.text, into), "%s", r.text)
	}
}

// refused requires one of the codes.
func (r reply) refused(t testing.TB, codes ...refusal.Code) {
	t.Helper()
	require.True(t, r.isError, "not refused: %s", r.text)
	require.Contains(t, codes, refusal.Code(r.code), "%s (%s)", r.message, r.hint)
}

// closeIn ends stdin, as a client that leaves does.
func (s *server) closeIn() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.in.Close() // closed twice where a test closed it itself
}

// kill is kill -9.
func (s *server) kill() {
	s.t.Helper()
	s.killed = true
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGKILL))
	s.awaitEnd(patience)
}

// awaitEnd requires the process to end within d and returns how long it took.
func (s *server) awaitEnd(d time.Duration) time.Duration {
	s.t.Helper()
	from := time.Now()
	select {
	case <-s.ended:
	case <-time.After(d):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines, for the reader of the log
		select {
		case <-s.ended:
		case <-time.After(patience):
			_ = s.cmd.Process.Kill()
		}
		s.t.Errorf("the server did not end within %s; stderr:\n%s", d, s.log())
		s.killed = true
	}
	return time.Since(from)
}

// finish stops the server and holds it to what must hold always. It runs once, at the latest when
// the test ends.
func (s *server) finish() {
	s.once.Do(func() {
		s.t.Helper()
		s.closeIn()
		s.awaitEnd(stopWithin + slack)
		s.mu.Lock()
		strange, lines, log := slices.Clone(s.strange), strings.Join(s.stdout, ""), s.stderr.String()
		s.mu.Unlock()
		if s.t.Failed() {
			s.t.Logf("stderr of %s:\n%s", s.application, log)
		}
		if !s.killed && !s.anyExit && s.exit != 0 {
			s.t.Errorf("exit code %d; stderr:\n%s", s.exit, log)
		}
		if strings.Contains(log, "DATA RACE") {
			s.t.Errorf("a race was reported:\n%s", log)
		}
		for _, line := range strange {
			if s.killed && !strings.HasSuffix(line, "\n") {
				continue // cut off by kill -9
			}
			s.t.Errorf("a line of stdout is not JSON-RPC (S19): %.500q", line)
		}
		s.secretsStayIn(lines, log)
		s.nothingLeft()
	})
}

// secretsStayIn is S20 for every test: no password anywhere, the page's secret once on stderr.
func (s *server) secretsStayIn(stdout, stderr string) {
	s.t.Helper()
	for _, pw := range s.secrets {
		if pw != "" && (strings.Contains(stdout, pw) || strings.Contains(stderr, pw)) {
			s.t.Errorf("a password came out (S20); stderr:\n%s", stderr)
		}
	}
	if secret := s.secretOrEmpty(); secret != "" {
		if strings.Contains(stdout, secret) || strings.Count(stderr, secret) != 1 {
			s.t.Errorf("the page's secret came out (S20): %d times on stderr", strings.Count(stderr, secret))
		}
	}
}

// nothingLeft is S18 for every test: no backend of this server is left.
func (s *server) nothingLeft() {
	s.t.Helper()
	if s.db == nil || !s.db.Cluster.Running() {
		return
	}
	var left [][]string
	deadline := time.Now().Add(5 * time.Second)
	for {
		left = s.backends()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(10 * time.Millisecond) // the database tells nobody when a backend has ended
	}
	s.t.Errorf("backends of the server are left (S18): %v", left)
}

// backends lists this server's connections: state and statement.
func (s *server) backends() [][]string {
	s.t.Helper()
	return s.db.Query(s.t, "SELECT state, left(query, 100) FROM pg_stat_activity WHERE application_name = $1", s.application)
}

// running counts the statements of this server that the database is executing right now.
func (s *server) running(like string) int {
	s.t.Helper()
	n := 0
	for _, row := range s.db.Query(s.t, "SELECT query FROM pg_stat_activity WHERE application_name = $1 AND state = 'active'", s.application) {
		if strings.Contains(row[0], like) {
			n++
		}
	}
	return n
}
