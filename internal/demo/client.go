package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// client speaks MCP over stdio to the real binary (MCP 2025-11-25, transports: stdio), one line of
// JSON-RPC a message. It is as small as a client can be on purpose: what the tour prints is what
// went over the wire.
type client struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	mu    sync.Mutex
	next  int
	calls map[int]chan response
	done  chan struct{} // closed when the server's stdout ended
	page  chan string   // the page's address with its secret, once, from stderr
	log   *tail
}

type response struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// pageLine finds the one line of stderr that carries the page's address with its secret.
var pageLine = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=[A-Za-z0-9_-]+`)

// startClient runs the server and shakes hands.
func startClient(ctx context.Context, binary string, args []string, env map[string]string) (*client, error) {
	cmd := exec.Command(binary, args...) //nolint:gosec // the binary is this very program
	for _, e := range os.Environ() {
		// The reader's own settings of the server must not bend the tour.
		if !strings.HasPrefix(e, "SW_") || strings.HasPrefix(e, "SW_TEST_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	c := &client{cmd: cmd, in: in, calls: map[int]chan response{}, done: make(chan struct{}), page: make(chan string, 1), log: &tail{}}
	go c.readStderr(errs)
	go c.readStdout(out)
	if _, err := c.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "guided-tour", "version": "1"},
	}); err != nil {
		_ = c.stop() // the first error counts
		return nil, fmt.Errorf("shaking hands with the server: %w%s", err, c.log)
	}
	return c, c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (c *client) readStderr(r io.Reader) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		if m := pageLine.FindString(s.Text()); m != "" {
			select {
			case c.page <- m:
			default:
			}
			continue // the secret stays out of the log
		}
		c.log.add(s.Text())
	}
}

func (c *client) readStdout(r io.Reader) {
	defer close(c.done)
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var m struct {
			ID *int `json:"id"`
			response
		}
		if json.Unmarshal(s.Bytes(), &m) != nil || m.ID == nil {
			continue // a notification
		}
		c.mu.Lock()
		ch := c.calls[*m.ID]
		delete(c.calls, *m.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- m.response
		}
	}
}

func (c *client) send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing to the server: %w", err)
	}
	return nil
}

func (c *client) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ch := make(chan response, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.calls[id] = ch
	c.mu.Unlock()
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case r := <-ch:
		if len(r.Error) > 0 {
			return nil, fmt.Errorf("the server answered %s", r.Error)
		}
		return r.Result, nil
	case <-c.done:
		return nil, errors.New("the server ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reply is one tool result: the JSON text, and whether it is an error.
type reply struct {
	text    json.RawMessage
	isError bool
}

func (c *client) call(ctx context.Context, tool string, args any) (reply, error) {
	raw, err := c.request(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return reply{}, err
	}
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Content) != 1 {
		return reply{}, fmt.Errorf("reading the result of %s: not one text content", tool)
	}
	return reply{text: json.RawMessage(r.Content[0].Text), isError: r.IsError}, nil
}

// stop closes stdin, as a client that leaves does, and waits for the server's end.
func (c *client) stop() error {
	_ = c.in.Close()
	ended := make(chan error, 1)
	go func() {
		<-c.done
		ended <- c.cmd.Wait()
	}()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the server ended: %w%s", err, c.log)
		}
		return nil
	case <-time.After(10 * time.Second):
		_ = c.cmd.Process.Signal(syscall.SIGKILL)
		return errors.New("the server did not end within 10 s after its stdin was closed")
	}
}

// tail keeps the last lines of the server's stderr for an error message.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > 20 {
		t.lines = t.lines[1:]
	}
}

// String is the lines, each indented, or nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	return "\n    " + strings.Join(t.lines, "\n    ")
}
