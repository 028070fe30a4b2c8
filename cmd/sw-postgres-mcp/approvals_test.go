package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
	"github.com/jpka/sw-postgres-mcp/internal/runtimedir"
)

// together is a runtime directory for the servers of one test.
func together(t *testing.T) (variable, dir string) {
	t.Helper()
	parent, err := os.MkdirTemp("", "sw-rt-") //nolint:usetesting // its path must be short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(parent)) })
	return "XDG_RUNTIME_DIR=" + parent, filepath.Join(parent, "sw-postgres-mcp")
}

var secretURL = regexp.MustCompile(`http://127\.0\.0\.1:(\d+)/\?token=(\S+)`)

// pageOfProcess is where the server's page is, and its secret.
func pageOfProcess(t *testing.T, p *process) (url, port, secret string) {
	t.Helper()
	wait(t, func() bool { return secretURL.MatchString(p.stderr.String()) })
	m := secretURL.FindStringSubmatch(p.stderr.String())
	return "http://127.0.0.1:" + m[1] + "/", m[1], m[2]
}

// gated asks for a change that waits for a person.
func gated(t *testing.T, p *process) (token, page string) {
	t.Helper()
	text, isError := p.call("delete_rows", args{"table": "app.items", "where": "id <= 200", "reason": "r"})
	require.False(t, isError, text)
	var preview struct {
		PlanToken   string `json:"plan_token"`
		ApprovalURL string `json:"approval_url"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &preview))
	return preview.PlanToken, preview.ApprovalURL
}

// asks sends a request to a page.
func asks(t *testing.T, method, url, secret, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	out, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode, string(out)
}

// Two servers at once, on a port that is taken: both serve, each gated plan names a page that works,
// no approval lands in the other process, each knows the other, and one that is killed is forgotten.
func TestTwoServersAtOnce(t *testing.T) {
	t.Parallel()
	_, env := database(t)
	variable, dir := together(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	env = append(env, variable, "SW_APPROVAL_SERVER_PORT="+port)

	code, stdout, stderr := once(t, env, "approvals")
	require.Equal(t, exitOK, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no server of yours")
	code, _, stderr = once(t, env, "approvals", "open")
	require.Equal(t, exitRuntime, code)
	require.Contains(t, stderr, "no server of yours")

	a, b := start(t, append(env, "SW_CALLER_ID=first")), start(t, append(env, "SW_CALLER_ID=second"))
	a.initialize()
	b.initialize()
	urlA, portA, secretA := pageOfProcess(t, a)
	urlB, portB, secretB := pageOfProcess(t, b)
	require.NotEqual(t, portA, portB)
	require.NotContains(t, []string{portA, portB}, port)
	require.Contains(t, a.stderr.String(), "is taken")

	token, page := gated(t, a)
	require.Equal(t, urlA, page)
	_, page = gated(t, b)
	require.Equal(t, urlB, page)
	status, body := asks(t, "POST", urlB+"api/plans/"+token+"/approve", secretB, "{}")
	require.Equal(t, 404, status, body)
	require.Contains(t, body, "UNKNOWN_TOKEN")
	status, _ = asks(t, "POST", urlB+"api/plans/"+token+"/approve", secretA, "{}")
	require.Equal(t, 401, status, "nor is one's secret another's")

	status, body = asks(t, "GET", urlA+"api/servers", secretA, "")
	require.Equal(t, 200, status)
	require.Contains(t, body, `"caller":"second"`)
	require.Contains(t, body, `"port":`+portB)
	require.Contains(t, body, `"waiting":1`)
	require.NotContains(t, body, `"caller":"first"`)
	code, stdout, stderr = once(t, env, "approvals")
	require.Equal(t, exitOK, code, stderr)
	require.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 3)
	for _, want := range []string{urlA, urlB, "first", "second", strconv.Itoa(a.cmd.Process.Pid), strconv.Itoa(b.cmd.Process.Pid), "the link that it printed"} {
		require.Contains(t, stdout, want)
	}
	code, stdout2, stderr2 := once(t, env, "approvals", "open", portA)
	require.Equal(t, exitRuntime, code)
	require.Contains(t, stderr2, "cannot open a browser here")
	status, body3 := asks(t, "POST", urlB+"api/servers/open", secretB, `{"port":"`+portA+`"}`)
	require.Equal(t, 503, status)
	for _, out := range []string{stdout, stderr, stdout2, stderr2, body, body3} {
		require.NotContains(t, out, secretA)
		require.NotContains(t, out, secretB)
		require.NotContains(t, out, token)
	}
	require.Equal(t, 1, strings.Count(a.stderr.String(), secretA))

	// The name that a person gives on one page is there on the other.
	status, _ = asks(t, "POST", urlA+"api/name", secretA, `{"name":"Ada"}`)
	require.Equal(t, 200, status)
	_, body = asks(t, "GET", urlB+"api/plans", secretB, "")
	require.Contains(t, body, `"person":"Ada"`)

	// What is at rest holds no secret.
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 3)
	for _, e := range list {
		at, err := e.Info()
		require.NoError(t, err)
		if at.Mode().IsRegular() {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			require.Equal(t, "Ada\n", string(text))
		} else {
			require.Equal(t, os.ModeSocket, at.Mode().Type())
		}
	}

	// Killed, the first leaves its socket; the next listing removes it. The second serves on.
	require.NoError(t, a.cmd.Process.Kill())
	a.ends(10 * time.Second)
	left := filepath.Join(dir, fmt.Sprintf("%d-%s.sock", a.cmd.Process.Pid, portA))
	require.FileExists(t, left)
	code, stdout, _ = once(t, env, "approvals")
	require.Equal(t, exitOK, code)
	require.NotContains(t, stdout, urlA)
	require.Contains(t, stdout, urlB)
	require.NoFileExists(t, left)
	wait(t, func() bool {
		_, body := asks(t, "GET", urlB+"api/servers", secretB, "")
		return strings.Contains(body, `"servers":[]`)
	})
	// One that is stopped is still there, and says so.
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGSTOP))
	_, stdout, _ = once(t, env, "approvals")
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGCONT))
	require.Contains(t, stdout, "does not answer")
	require.NoError(t, b.in.Close())
	require.Equal(t, exitOK, b.ends(5*time.Second))
	list, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 1, "a server that ends takes its socket with it")
}

// `approvals open` has the server open the browser: the one-time code goes there and nowhere else, and
// works once.
func TestApprovalsOpen(t *testing.T) {
	t.Parallel()
	_, env := database(t)
	variable, dir := together(t)
	bin := filepath.Dir(dir)
	opened := filepath.Join(bin, "opened")
	for _, name := range []string{"xdg-open", "open"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nprintf '%s\\n' \"$1\" >>"+opened+"\n"), 0o700))
	}
	env = append(env, variable, "PATH="+bin+":"+os.Getenv("PATH"), "DISPLAY=:99")
	p := start(t, append(env, "SW_APPROVAL_SERVER_OPEN_BROWSER=auto"))
	p.initialize()
	url, port, secret := pageOfProcess(t, p)
	code, stdout, _ := once(t, env, "approvals")
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "sw-postgres-mcp approvals open "+port)
	for i, a := range [][]string{{"approvals", "open"}, {"approvals", "open", port}} {
		code, stdout, stderr := once(t, env, a...)
		require.Equal(t, exitOK, code, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "asked "+url)
		var lines []string
		wait(t, func() bool {
			text, err := os.ReadFile(opened)
			lines = strings.Fields(string(text))
			return err == nil && len(lines) == i+1
		})
		oneTime, ok := strings.CutPrefix(lines[i], url+"?code=")
		require.True(t, ok, lines[i])
		require.NotContains(t, stderr, oneTime)
		require.NotContains(t, stderr, secret)
		status, body := asks(t, "POST", url+"api/session", "", `{"code":"`+oneTime+`"}`)
		require.Equal(t, 200, status, body)
		require.Contains(t, body, secret)
		status, body = asks(t, "POST", url+"api/session", "", `{"code":"`+oneTime+`"}`)
		require.Equal(t, 401, status)
		require.NotContains(t, body, secret)
	}
	code, _, _ = once(t, env, "approvals", "open", port)
	require.Equal(t, exitOK, code)
	code, _, stderr := once(t, env, "approvals", "open", port)
	require.Equal(t, exitRuntime, code, "three at once, then one every ten seconds")
	require.Contains(t, stderr, "Too many tries")
	for _, bad := range []string{"0", "x", "65536", "-1"} {
		code, _, _ = once(t, env, "approvals", "open", "--", bad)
		require.Equal(t, exitUsage, code, bad)
	}
	code, _, stderr = once(t, env, "approvals", "open", "1")
	require.Equal(t, exitRuntime, code)
	require.Contains(t, stderr, "has port 1")
	for _, extra := range [][]string{{"approvals", "approve"}, {"approvals", "open", "1", "2"}, {"approvals", "--token"}} {
		code, _, _ = once(t, env, extra...)
		require.Equal(t, exitUsage, code, extra)
	}
}

func TestChooseServer(t *testing.T) {
	t.Parallel()
	s := func(port, waiting int) runtimedir.Server {
		return runtimedir.Server{State: runtimedir.State{Port: port, Waiting: waiting}}
	}
	for name, c := range map[string]struct {
		list []runtimedir.Server
		port int
		want []runtimedir.Server
		err  string
	}{
		"none":                     {nil, 0, nil, "no server of yours is running"},
		"none of that port":        {[]runtimedir.Server{s(1, 0)}, 2, nil, "has port 2"},
		"the only one":             {[]runtimedir.Server{s(1, 0)}, 0, []runtimedir.Server{s(1, 0)}, ""},
		"the named one":            {[]runtimedir.Server{s(1, 1), s(2, 0)}, 2, []runtimedir.Server{s(2, 0)}, ""},
		"those where a plan waits": {[]runtimedir.Server{s(1, 1), s(2, 0), s(3, 2)}, 0, []runtimedir.Server{s(1, 1), s(3, 2)}, ""},
		"nothing waits":            {[]runtimedir.Server{s(1, 0), s(2, 0)}, 0, nil, "name the port"},
	} {
		got, err := choose(c.list, c.port)
		require.Equal(t, c.want, got, name)
		if c.err == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.err, name)
		}
	}
}

// A directory that cannot be trusted is said on stderr, and the server works without it.
func TestBadRuntimeDirectory(t *testing.T) {
	t.Parallel()
	_, env := database(t)
	for want, spoil := range map[string]func(string) error{
		"symbolic link":            func(dir string) error { return os.Symlink(t.TempDir(), dir) },
		"may be entered by others": func(dir string) error { return os.Mkdir(dir, 0o755) },
		"is not a directory":       func(dir string) error { return os.WriteFile(dir, []byte(strings.Repeat("x", 1<<20)), 0o600) },
	} {
		variable, dir := together(t)
		require.NoError(t, spoil(dir))
		p := start(t, append(env, variable))
		p.initialize()
		url, _, secret := pageOfProcess(t, p)
		require.Contains(t, p.stderr.String(), want)
		_, page := gated(t, p)
		require.Equal(t, url, page)
		status, body := asks(t, "GET", url+"api/servers", secret, "")
		require.Equal(t, 200, status)
		require.Contains(t, body, `"servers":[]`)
		_, body = asks(t, "GET", url+"api/plans", secret, "")
		require.Contains(t, body, `"can_remember":false`)
		code, stdout, stderr := once(t, append(env, variable), "approvals")
		require.Equal(t, exitRuntime, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
}

// The PIN of the configuration is asked for by the real server.
func TestServeWithPIN(t *testing.T) {
	t.Parallel()
	_, env := database(t)
	line, err := pinhash.New("sesame-246810")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"allowlist":{"write":{"schemas":["app"]}},"approvalServer":{"pinHash":%q}}`, line), 0o600))
	p := start(t, append(env, "SW_POSTGRES_CONFIG="+path))
	p.initialize()
	url, _, secret := pageOfProcess(t, p)
	token, _ := gated(t, p)
	approve := url + "api/plans/" + token + "/approve"
	status, body := asks(t, "POST", approve, secret, "{}")
	require.Equal(t, 403, status)
	require.Contains(t, body, "PIN_REQUIRED")
	status, _ = asks(t, "POST", approve, secret, `{"pin":"sesame-246811"}`)
	require.Equal(t, 403, status)
	status, body = asks(t, "POST", approve, secret, `{"pin":"sesame-246810"}`)
	require.Equal(t, 200, status, body)
	require.NotContains(t, p.stderr.String(), "sesame")
	require.NotContains(t, p.stderr.String(), line)

	require.NoError(t, os.WriteFile(path, []byte(`{"approvalServer":{"pinHash":"sesame-246810"}}`), 0o600))
	for _, command := range []string{"serve", "check-config"} {
		code, stdout, stderr := once(t, append(env, "SW_POSTGRES_CONFIG="+path), command)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stdout+stderr, "approvalServer.pinHash ("+path+")")
		require.NotContains(t, stdout+stderr, "sesame")
	}
}
