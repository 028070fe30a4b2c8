package approvalui_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/approvalui"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// routes lists every route: its method, and whether it needs no secret.
func routes(token plan.Token) []struct {
	method, path string
	open         bool
} {
	t := string(token)
	return []struct {
		method, path string
		open         bool
	}{
		{"GET", "/", true},
		{"GET", "/static/app.js", true},
		{"GET", "/static/page.css", true},
		{"GET", "/api/plans", false},
		{"GET", "/api/plans?all=1", false},
		{"GET", "/api/plans/" + t, false},
		{"GET", "/plans/" + t, false},
		{"GET", "/api/history", false},
		{"GET", "/api/events", false},
		{"GET", "/api/audit", false},
		{"GET", "/api/refusals", false},
		{"GET", "/api/servers", false},
		{"POST", "/api/servers/open", false},
		{"POST", "/api/name", false},
		{"GET", "/nothing", false},
		{"POST", "/api/session", true},
		{"POST", "/api/open", true},
		{"POST", "/api/plans/" + t + "/approve", false},
		{"POST", "/api/plans/" + t + "/reject", false},
		{"POST", "/api/plans/" + t + "/recheck", false},
	}
}

// TestS16GateMatrix runs every route against everything that must not get in. None of it may
// decide the plan or show it.
func TestS16GateMatrix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	port := strings.TrimSuffix(b.page.URL()[strings.LastIndex(b.page.URL(), ":")+1:], "/")
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	head := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	forbidden := map[string]func(*http.Request){
		"a rebound name":               host("evil.example:" + port),
		"a rebound name, like ours":    host("127.0.0.1.evil.example:" + port),
		"no port":                      host("127.0.0.1"),
		"another port":                 host("127.0.0.1:1"),
		"another loopback address":     host("127.0.0.2:" + port),
		"an address without brackets":  host("::1:" + port),
		"a trailing dot":               host("localhost.:" + port),
		"an evil origin":               head("Origin", "http://evil.example"),
		"the null origin":              head("Origin", "null"),
		"an empty origin":              head("Origin", ""),
		"our host, another port":       head("Origin", "http://127.0.0.1:1"),
		"our host over https":          head("Origin", "https://127.0.0.1:"+port),
		"our other name":               head("Origin", "http://localhost:"+port),
		"two origins":                  func(r *http.Request) { r.Header["Origin"] = []string{"http://" + r.URL.Host, "http://evil.example"} },
		"another site":                 head("Sec-Fetch-Site", "cross-site"),
		"another port of this machine": head("Sec-Fetch-Site", "same-site"),
		"an odd site":                  head("Sec-Fetch-Site", "Same-Origin"),
	}
	for name, mod := range forbidden {
		for _, r := range routes(p.Token) {
			for _, secret := range []bool{true, false} {
				status, body, h := b.ask(r.method, r.path, "{}", mod, func(q *http.Request) {
					if !secret {
						q.Header.Del("Authorization")
					}
				})
				require.Equal(t, 403, status, "%s: %s %s", name, r.method, r.path)
				require.Equal(t, "FORBIDDEN", body["code"], "%s: %s %s", name, r.method, r.path)
				require.Equal(t, false, body["ok"])
				mustBeSecure(t, h)
			}
		}
	}
	unauthorized := map[string]func(*http.Request){
		"no secret":          func(r *http.Request) { r.Header.Del("Authorization") },
		"a wrong secret":     head("Authorization", "Bearer "+strings.Repeat("A", 43)),
		"a part of it":       head("Authorization", "Bearer "+b.token[:20]),
		"more than it":       head("Authorization", "Bearer "+b.token+"x"),
		"no scheme":          head("Authorization", b.token),
		"another scheme":     head("Authorization", "Basic "+b.token),
		"an empty secret":    head("Authorization", "Bearer "),
		"wrong in the query": func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=wrong" },
		"a cookie":           func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("Cookie", "token="+b.token) },
	}
	for name, mod := range unauthorized {
		for _, r := range routes(p.Token) {
			if r.open {
				continue
			}
			status, body, h := b.ask(r.method, r.path, "{}", mod)
			require.Equal(t, 401, status, "%s: %s %s", name, r.method, r.path)
			require.Equal(t, "UNAUTHORIZED", body["code"])
			mustBeSecure(t, h)
		}
	}
	got, ok := b.store.Get(p.Token)
	require.True(t, ok)
	require.Equal(t, plan.AwaitingApproval, got.State, "nothing of this decided anything")
}

// TestS16WhatGetsIn: the three names of this machine, the secret both ways, and the browser's own marks.
func TestS16WhatGetsIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(repricing())
	port := strings.TrimSuffix(b.page.URL()[strings.LastIndex(b.page.URL(), ":")+1:], "/")
	for _, h := range []string{"127.0.0.1:" + port, "localhost:" + port, "LOCALHOST:" + port, "[::1]:" + port} {
		status, body, hd := b.ask("GET", "/api/plans", "", func(r *http.Request) {
			r.Host = h
			r.Header.Set("Origin", "http://"+h)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		})
		require.Equal(t, 200, status, h)
		require.Len(t, body["plans"], 1)
		mustBeSecure(t, hd)
	}
	status, _, _ := b.ask("GET", "/api/plans?token="+b.token, "", func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("Sec-Fetch-Site", "none") })
	require.Equal(t, 200, status)
	status, _, _ = b.ask("GET", "/api/plans", "", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+b.token) })
	require.Equal(t, 200, status)
}

func mustBeSecure(t *testing.T, h http.Header) {
	t.Helper()
	require.Equal(t, "no-store", h.Get("Cache-Control"))
	require.Equal(t, "DENY", h.Get("X-Frame-Options"))
	require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	csp := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		require.Contains(t, csp, part)
	}
	require.NotContains(t, csp, "unsafe")
	require.Empty(t, h.Values("Set-Cookie"))
	require.Empty(t, h.Get("Access-Control-Allow-Origin"))
}

// TestS16HeadersOnEveryResponse: good answers and bad ones, pages and files.
func TestS16HeadersOnEveryResponse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	for _, r := range routes(p.Token) {
		if r.path == "/api/events" {
			continue // never ends; TestEventsArrive looks at its headers
		}
		for _, method := range []string{r.method, "PUT", "OPTIONS"} {
			_, _, h := b.ask(method, r.path, "{}")
			mustBeSecure(t, h)
		}
	}
}

func TestMethodsTypesAndSizes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.add(repricing())
	approve := "/api/plans/" + string(p.Token) + "/approve"
	reject := "/api/plans/" + string(p.Token) + "/reject"
	typ := func(v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set("Content-Type", v) } }
	padded := func(n int) string { return `{"approvedBy":"` + strings.Repeat("a", n-len(`{"approvedBy":""}`)) + `"}` }
	require.Len(t, padded(64<<10), 64<<10)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
		mod                      func(*http.Request)
	}{
		{"GET approves nothing", "GET", approve, "", 405, "METHOD_NOT_ALLOWED", nil},
		{"GET with a body approves nothing", "GET", approve, "{}", 405, "METHOD_NOT_ALLOWED", nil},
		{"HEAD approves nothing", "HEAD", approve, "", 405, "", nil},
		{"PUT", "PUT", approve, "{}", 405, "METHOD_NOT_ALLOWED", nil},
		{"POST on a list", "POST", "/api/plans", "{}", 405, "METHOD_NOT_ALLOWED", nil},
		{"OPTIONS", "OPTIONS", approve, "", 405, "METHOD_NOT_ALLOWED", nil},
		{"a form", "POST", approve, "approvedBy=x", 415, "UNSUPPORTED_MEDIA_TYPE", typ("application/x-www-form-urlencoded")},
		{"plain text", "POST", approve, "{}", 415, "UNSUPPORTED_MEDIA_TYPE", typ("text/plain")},
		{"a multipart form", "POST", approve, "{}", 415, "UNSUPPORTED_MEDIA_TYPE", typ("multipart/form-data; boundary=x")},
		{"no type", "POST", approve, "{}", 415, "UNSUPPORTED_MEDIA_TYPE", func(r *http.Request) { r.Header.Del("Content-Type") }},
		{"nearly JSON", "POST", approve, "{}", 415, "UNSUPPORTED_MEDIA_TYPE", typ("application/json-patch+json")},
		{"another charset", "POST", approve, "{}", 415, "UNSUPPORTED_MEDIA_TYPE", typ("application/json; charset=utf-16")},
		{"compressed", "POST", approve, "{}", 415, "UNSUPPORTED_MEDIA_TYPE", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }},
		{"text/plain before the size", "POST", approve, strings.Repeat("x", 70<<10), 415, "UNSUPPORTED_MEDIA_TYPE", typ("text/plain")},
		{"64 KiB + 1", "POST", approve, padded(64<<10 + 1), 413, "PAYLOAD_TOO_LARGE", nil},
		{"64 KiB + 1, length not told", "POST", approve, padded(64<<10 + 1), 413, "PAYLOAD_TOO_LARGE", func(r *http.Request) { r.ContentLength = -1 }},
		{"64 KiB is read, and the name is too long", "POST", approve, padded(64 << 10), 400, "BAD_REQUEST", nil},
		{"nothing", "POST", approve, "", 400, "BAD_REQUEST", nil},
		{"no object", "POST", approve, "[]", 400, "BAD_REQUEST", nil},
		{"null", "POST", approve, "null", 400, "BAD_REQUEST", nil},
		{"half an object", "POST", approve, `{"approvedBy":"x"`, 400, "BAD_REQUEST", nil},
		{"two objects", "POST", approve, `{}{}`, 400, "BAD_REQUEST", nil},
		{"something behind", "POST", approve, `{} x`, 400, "BAD_REQUEST", nil},
		{"an unknown key", "POST", approve, `{"approved":"yes"}`, 400, "BAD_REQUEST", nil},
		{"another spelling", "POST", approve, `{"approvedby":"x"}`, 400, "BAD_REQUEST", nil},
		{"a key twice", "POST", approve, `{"confirm":"1","confirm":"2"}`, 400, "BAD_REQUEST", nil},
		{"a key twice, escaped", "POST", approve, `{"confirm":"1","c\u006fnfirm":"2"}`, 400, "BAD_REQUEST", nil},
		{"a number", "POST", approve, `{"confirm":240}`, 400, "BAD_REQUEST", nil},
		{"no value", "POST", approve, `{"approvedBy":null}`, 400, "BAD_REQUEST", nil},
		{"an object inside", "POST", approve, `{"approvedBy":{}}`, 400, "BAD_REQUEST", nil},
		{"broken UTF-8", "POST", approve, "{\"approvedBy\":\"\xff\"}", 400, "BAD_REQUEST", nil},
		{"a long name", "POST", approve, `{"approvedBy":"` + strings.Repeat("ä", 201) + `"}`, 400, "BAD_REQUEST", nil},
		{"a long reason", "POST", reject, `{"reason":"` + strings.Repeat("a", 4001) + `"}`, 400, "BAD_REQUEST", nil},
		{"reject's key on approve", "POST", approve, `{"rejectedBy":"x"}`, 400, "BAD_REQUEST", nil},
		{"an unknown plan", "POST", "/api/plans/nosuchplan/approve", "{}", 404, "UNKNOWN_TOKEN", nil},
		{"an unknown plan, rejected", "POST", "/api/plans/nosuchplan/reject", "{}", 404, "UNKNOWN_TOKEN", nil},
		{"an unknown plan, shown", "GET", "/api/plans/nosuchplan", "", 404, "UNKNOWN_TOKEN", nil},
		{"an unknown verb", "POST", "/api/plans/" + string(p.Token) + "/execute", "{}", 404, "NOT_FOUND", nil},
		{"no prober", "POST", "/api/plans/" + string(p.Token) + "/recheck", "{}", 404, "NOT_FOUND", nil},
		{"approve all", "POST", "/api/plans/approve", "{}", 405, "METHOD_NOT_ALLOWED", nil},
		{"a later route", "GET", "/api/audit", "", 404, "NOT_FOUND", nil},
		{"out of the files", "GET", "/static/../shell.html", "", 404, "NOT_FOUND", nil},
		{"out of the files, escaped", "GET", "/static/%2e%2e/shell.html", "", 404, "NOT_FOUND", nil},
		{"a directory", "GET", "/static/", "", 404, "NOT_FOUND", nil},
	} {
		mod := c.mod
		if mod == nil {
			mod = func(*http.Request) {}
		}
		status, body, _ := b.ask(c.method, c.path, c.body, mod)
		require.Equal(t, c.status, status, c.name)
		if c.code != "" {
			require.Equal(t, c.code, body["code"], c.name)
		}
	}
	got, _ := b.store.Get(p.Token)
	require.Equal(t, plan.AwaitingApproval, got.State, "none of these is a decision")
	status, _, _ := b.ask("POST", approve, `{"approvedBy":"me"}`, typ("application/json; charset=UTF-8"))
	require.Equal(t, 200, status)
}

// TestPagesForPeople: the two refusals of GET / are pages, and hold no plan.
func TestPagesForPeople(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.OpenBrowser = func(string) error { return nil }
		o.OpenCommand = "sw-postgres-mcp approvals open"
	})
	p := b.add(cascade())
	html := func(r *http.Request) {
		r.Header.Set("Accept", "text/html,application/xhtml+xml")
		r.Header.Set("Sec-Fetch-Dest", "document")
	}
	out := func(r *http.Request) { r.Header.Del("Authorization") }
	for _, c := range []struct {
		path   string
		mod    func(*http.Request)
		status int
		says   string
	}{
		{"/", out, 401, "This page needs its link"},
		{"/?code=wrong", out, 401, "This page needs its link"},
		{"/?token=wrong", out, 401, "This page needs its link"},
		{"/plans/" + string(p.Token), out, 401, "This page needs its link"},
		{"/", func(r *http.Request) { out(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "answers only to itself"},
		{"/?token=" + b.token, func(r *http.Request) { out(r); r.Host = "evil.example" }, 403, "answers only to itself"},
		{"/nowhere", func(*http.Request) {}, 404, "There is nothing here"},
		{"/?token=" + b.token, out, 200, `data-mode="secret"`},
	} {
		status, body, h := b.ask("GET", c.path, "", html, c.mod)
		require.Equal(t, c.status, status, c.path)
		text, _ := body["text"].(string)
		require.Contains(t, text, c.says, c.path)
		for _, never := range []string{"customers", "load test", "shop", string(p.Token), b.token} {
			require.NotContains(t, text, never, c.path)
		}
		mustBeSecure(t, h)
	}
	status, body, _ := b.ask("GET", "/", "", out)
	require.Equal(t, 401, status)
	require.Equal(t, "UNAUTHORIZED", body["code"], "programs get JSON")
}

func TestRequireAuthOffKeepsTheFirstGate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) { o.RequireAuth = false })
	p := b.add(repricing())
	require.Equal(t, b.page.URL(), b.page.SecretURL())
	out := func(r *http.Request) { r.Header.Del("Authorization") }
	status, _, _ := b.ask("POST", "/api/plans/"+string(p.Token)+"/approve", "{}", out, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	require.Equal(t, 403, status)
	status, _, _ = b.ask("POST", "/api/plans/"+string(p.Token)+"/approve", "{}", out)
	require.Equal(t, 200, status)
}

// TestS20SecretsStayIn: neither the secret nor the text of a fault is in an answer or in the log.
func TestS20SecretsStayIn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.AuthToken = "a-secret-from-the-configuration"
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Reviewer = broken{}
	})
	require.Equal(t, b.page.URL()+"?token=a-secret-from-the-configuration", b.page.SecretURL())
	for _, r := range routes("abc") {
		if r.path == "/api/events" {
			continue
		}
		_, body, h := b.ask(r.method, r.path+"?token="+b.token, "{}")
		text := fmt.Sprint(body, h)
		require.NotContains(t, text, b.token, r.path)
		require.NotContains(t, text, "hunter2", r.path)
	}
	status, body, _ := b.ask("POST", "/api/plans/"+string(broken{}.Plans(true)[0].Token)+"/approve", "{}")
	require.Equal(t, 500, status)
	require.Equal(t, "INTERNAL_ERROR", body["code"])
	require.NotContains(t, fmt.Sprint(body), "hunter2")
	require.NotContains(t, log.String(), b.token)
}

// broken is a reviewer whose every decision fails with a driver's words.
type broken struct{}

func (broken) Plans(bool) []plan.Plan {
	return []plan.Plan{{Token: "abc", State: plan.AwaitingApproval, ExpiresAt: time.Now().Add(time.Hour), Preview: repricing()}}
}

func (broken) Approve(context.Context, plan.Token, string) (plan.Plan, bool, error) {
	return plan.Plan{}, false, errors.New("postgres://writer:hunter2@db: connection refused")
}

func (broken) Reject(context.Context, plan.Token, string, string) (plan.Plan, bool, error) {
	return plan.Plan{}, false, errors.New("postgres://writer:hunter2@db: connection refused")
}

// TestPortTaken: the page takes a free port and says so; 127.0.0.1 is the only address.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	held, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	port := held.Addr().(*net.TCPAddr).Port
	var log bytes.Buffer
	b := setup(t, func(o *approvalui.Options, _ *plan.Options) {
		o.Port = port
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	require.True(t, b.page.PortTaken())
	require.NotContains(t, b.page.URL(), fmt.Sprint(port))
	require.Contains(t, log.String(), "taken")
	status, _, _ := b.ask("GET", "/api/plans", "")
	require.Equal(t, 200, status)
}

// TestCloseEndsStreamsAtOnce: an open stream does not hold the process.
func TestCloseEndsStreamsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	req, err := http.NewRequest("GET", b.page.URL()+"api/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+b.token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	start := time.Now()
	b.page.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	require.Less(t, time.Since(start), 10*time.Second)
	_, err = net.DialTimeout("tcp", strings.TrimSuffix(strings.TrimPrefix(b.page.URL(), "http://"), "/"), time.Second)
	require.Error(t, err, "the port is free again")
}

// TestS16OptionsAsterisk: "OPTIONS *" names no path, and passes no gate either.
func TestS16OptionsAsterisk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(b.page.URL(), "http://"), "/"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.Equal(t, "DENY", res.Header.Get("X-Frame-Options"))
}
