package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pinhash"
)

// S16: the gates of the page over the real program, in their order, and the plan waits on whatever
// is refused.
func TestS16ThePageIsForThisMachineAndThisPerson(t *testing.T) {
	t.Parallel()
	db := world(t)
	s := start(t, db, everyPlanWaits())
	const markup = `<script>alert(1)</script><img src=x onerror=alert(1)> " ' & \u202e \u0007`
	db.Exec(t, "UPDATE app.item SET name = '<script>alert(2)</script>' || chr(8238) WHERE id = 1")
	p := s.preview("delete_rows", args{"table": "app.item", "where": "id = $1", "params": []any{1}, "reason": markup})
	host := s.pageURL().Host
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	decide := "/api/plans/" + p.Token + "/approve"

	type request struct {
		name, method, path string
		host               string
		header             map[string]string
		secret             string // "" = the right one, "-" = none
		body               string
		status             int
		code               string
	}
	good := `{"approvedBy":"Ada"}`
	gates := []request{
		// 403: who asks from elsewhere, with and without the secret, on every route.
		{name: "a rebound name", host: "evil.example:" + port, status: 403, code: "FORBIDDEN"},
		{name: "a rebound name without the secret", host: "evil.example:" + port, secret: "-", status: 403, code: "FORBIDDEN"},
		{name: "a name below localhost", host: "x.localhost:" + port, status: 403, code: "FORBIDDEN"},
		{name: "a name that begins right", host: "127.0.0.1.evil.example:" + port, status: 403, code: "FORBIDDEN"},
		{name: "another port", host: "127.0.0.1:1", status: 403, code: "FORBIDDEN"},
		{name: "no port", host: "127.0.0.1", status: 403, code: "FORBIDDEN"},
		{name: "another address of this machine", host: "0.0.0.0:" + port, status: 403, code: "FORBIDDEN"},
		{name: "a user in the host", host: "127.0.0.1:" + port + "@evil.example", status: 403, code: "FORBIDDEN"},
		{name: "another origin", header: map[string]string{"Origin": "https://evil.example"}, status: 403, code: "FORBIDDEN"},
		{name: "another origin without the secret", header: map[string]string{"Origin": "https://evil.example"}, secret: "-", status: 403, code: "FORBIDDEN"},
		{name: "the null origin", header: map[string]string{"Origin": "null"}, status: 403, code: "FORBIDDEN"},
		{name: "the origin of another port", header: map[string]string{"Origin": "http://127.0.0.1:1"}, status: 403, code: "FORBIDDEN"},
		{name: "https", header: map[string]string{"Origin": "https://" + host}, status: 403, code: "FORBIDDEN"},
		{name: "the other name of this machine as origin", header: map[string]string{"Origin": "http://localhost:" + port}, status: 403, code: "FORBIDDEN"},
		{name: "cross-site", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, status: 403, code: "FORBIDDEN"},
		{name: "same-site", header: map[string]string{"Sec-Fetch-Site": "same-site"}, status: 403, code: "FORBIDDEN"},
		{name: "cross-site without the secret", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, secret: "-", status: 403, code: "FORBIDDEN"},
		// 401: who does not know the secret.
		{name: "no secret", secret: "-", status: 401, code: "UNAUTHORIZED"},
		{name: "a wrong secret", secret: "wrong", status: 401, code: "UNAUTHORIZED"},
		{name: "part of the secret", secret: s.secret()[:20], status: 401, code: "UNAUTHORIZED"},
		{name: "more than the secret", secret: s.secret() + "x", status: 401, code: "UNAUTHORIZED"},
		{name: "the plan's token", secret: p.Token, status: 401, code: "UNAUTHORIZED"},
		{name: "the secret in a cookie", secret: "-", header: map[string]string{"Cookie": "token=" + s.secret()}, status: 401, code: "UNAUTHORIZED"},
		{name: "the secret in another scheme", secret: "-", header: map[string]string{"Authorization": "Basic " + s.secret()}, status: 401, code: "UNAUTHORIZED"},
		{name: "401 comes before 415", secret: "-", header: map[string]string{"Content-Type": "text/plain"}, status: 401, code: "UNAUTHORIZED"},
		{name: "401 comes before 404", secret: "-", path: "/api/plans/unknown/approve", status: 401, code: "UNAUTHORIZED"},
		{name: "401 comes before 405", secret: "-", method: http.MethodDelete, status: 401, code: "UNAUTHORIZED"},
		// What the browser of somebody else's page can send without asking.
		{name: "text/plain", header: map[string]string{"Content-Type": "text/plain"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "a form", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "multipart", header: map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "no content type", header: map[string]string{"Content-Type": ""}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "GET", method: http.MethodGet, status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "GET with the secret in the address", method: http.MethodGet, secret: "-", path: decide + "?token=" + s.secret(), status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "PUT", method: http.MethodPut, status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "OPTIONS", method: http.MethodOptions, status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "64 KiB and one byte", body: `{"approvedBy":"` + strings.Repeat("a", 64<<10+1-17) + `"}`, status: 413, code: "PAYLOAD_TOO_LARGE"},
		{name: "no body", body: "-", status: 400, code: "BAD_REQUEST"},
		{name: "not JSON", body: "approve", status: 400, code: "BAD_REQUEST"},
		{name: "an array", body: `[]`, status: 400, code: "BAD_REQUEST"},
		{name: "two objects", body: good + good, status: 400, code: "BAD_REQUEST"},
		{name: "a key twice", body: `{"approvedBy":"a","approvedBy":"b"}`, status: 400, code: "BAD_REQUEST"},
		{name: "an unknown key", body: `{"approved":true}`, status: 400, code: "BAD_REQUEST"},
		{name: "a number for a name", body: `{"approvedBy":1}`, status: 400, code: "BAD_REQUEST"},
		{name: "a name that is too long", body: `{"approvedBy":"` + strings.Repeat("a", 201) + `"}`, status: 400, code: "BAD_REQUEST"},
		{name: "an unknown token", path: "/api/plans/unknown/approve", status: 404, code: "UNKNOWN_TOKEN"},
		{name: "an unknown route", path: "/api/plans/" + p.Token + "/approve/", status: 404, code: "NOT_FOUND"},
		{name: "a route that is not there", path: "/api/approve", status: 404, code: "NOT_FOUND"},
		{name: "a path that climbs", path: "/static/../api/plans/" + p.Token + "/approve", status: 405, code: "METHOD_NOT_ALLOWED"},
	}
	send := func(r request) answer {
		if r.method == "" {
			r.method = http.MethodPost
		}
		if r.path == "" {
			r.path = decide
		}
		body := io.Reader(strings.NewReader(good))
		switch r.body {
		case "-":
			body = http.NoBody
		case "":
		default:
			body = bytes.NewReader([]byte(r.body))
		}
		req, err := http.NewRequest(r.method, "http://"+host+r.path, body)
		require.NoError(t, err)
		req.Host = r.host
		req.Header.Set("Content-Type", "application/json")
		switch r.secret {
		case "":
			req.Header.Set("Authorization", "Bearer "+s.secret())
		case "-":
		default:
			req.Header.Set("Authorization", "Bearer "+r.secret)
		}
		for k, v := range r.header {
			if v == "" {
				req.Header.Del(k)
				continue
			}
			req.Header.Set(k, v)
		}
		return do(t, req)
	}
	for _, r := range gates {
		a := send(r)
		require.Equal(t, r.status, a.status, "%s: %s", r.name, a.body)
		require.Equal(t, r.code, a.code(), "%s: %s", r.name, a.body)
		require.NotContains(t, string(a.body), s.secret(), r.name)
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		} {
			require.Equal(t, value, a.header.Get(name), r.name)
		}
		csp := a.header.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'", r.name)
		require.Contains(t, csp, "frame-ancestors 'none'", r.name)
		require.NotContains(t, csp, "unsafe", r.name)
		require.Empty(t, a.header.Get("Set-Cookie"), r.name)
		require.Empty(t, a.header.Get("Access-Control-Allow-Origin"), r.name)
		require.Equal(t, []string{p.Token}, s.waiting(), "%s: the plan was decided", r.name)
	}
	// The gates of who asks stand before every route.
	for _, path := range []string{"/", "/api/plans", "/api/history", "/api/events", "/api/session", "/api/open", "/plans/" + p.Token, "/api/plans/" + p.Token, "/static/app.js", "/nothing"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, secret := range []string{"", "-"} {
				a := send(request{method: method, path: path, host: "evil.example:" + port, secret: secret})
				require.Equal(t, 403, a.status, "%s %s", method, path)
				require.NotContains(t, string(a.body), p.Token)
			}
		}
	}
	// Without the secret nothing of a plan is shown anywhere.
	for _, path := range []string{"/", "/api/plans", "/api/plans?all=1", "/api/history", "/api/events", "/plans/" + p.Token, "/api/plans/" + p.Token, "/api/audit", "/api/refusals"} {
		a := send(request{method: http.MethodGet, path: path, secret: "-", body: "-"})
		require.Equal(t, 401, a.status, path)
		require.NotContains(t, string(a.body), "app.item", path)
		require.NotContains(t, string(a.body), "alert(1)", path)
	}
	// Rows and reasons are data in JSON, never part of the document.
	page := send(request{method: http.MethodGet, path: "/", body: "-"})
	require.Equal(t, 200, page.status)
	require.NotContains(t, string(page.body), "alert(")
	require.NotContains(t, string(page.body), s.secret())
	list := send(request{method: http.MethodGet, path: "/api/plans", body: "-"})
	require.Equal(t, "application/json", strings.TrimSpace(strings.Split(list.header.Get("Content-Type"), ";")[0]))
	require.NotContains(t, string(list.body), "<script>", "markup goes out escaped")
	require.True(t, json.Valid(list.body))
	// The three names of this machine are fine, and so is its own page.
	for _, own := range []request{
		{host: "localhost:" + port},
		{host: "[::1]:" + port},
		{host: "LOCALHOST:" + port},
		{header: map[string]string{"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}},
		{header: map[string]string{"Sec-Fetch-Site": "none"}},
		{header: map[string]string{"Content-Type": "application/json; charset=utf-8"}},
		{body: `{"approvedBy":"` + strings.Repeat("a", 200) + `"}`},
		{body: `{}`},
	} {
		a := send(own)
		require.Equal(t, 200, a.status, "%v: %s", own, a.body)
	}
	s.execute(p)
	require.Equal(t, 1, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE status = 'approved'"))
}

// S16: the page listens on 127.0.0.1 and nowhere else.
func TestS16OnlyLoopback(t *testing.T) {
	t.Parallel()
	s := start(t, world(t), options{})
	port := s.pageURL().Port()
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	tried := 0
	for _, a := range addresses {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLinkLocalUnicast() || ip.IP.String() == "127.0.0.1" {
			continue
		}
		tried++
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(ip.IP.String(), port), patience)
		if err == nil {
			_ = conn.Close()
		}
		require.Error(t, err, "the page answers on %s", ip.IP)
	}
	if tried == 0 { // a machine with nothing but 127.0.0.1: another address of the loopback net
		_, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.2", port), patience)
		require.Error(t, err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// S16, with a PIN: a wrong one approves nothing, and who tried is in the audit log, with the plan while that
// waits, without what was typed.
func TestS16AWrongPINIsRecorded(t *testing.T) {
	t.Parallel()
	db := world(t)
	hash, err := pinhash.New("sesame-246810")
	require.NoError(t, err)
	o := everyPlanWaits()
	o.config["approvalServer"] = map[string]any{"port": 0, "openBrowser": "never", "pinHash": hash}
	s := start(t, db, o)
	p := s.preview("delete_rows", args{"table": "app.item", "where": "id = $1", "params": []any{1}, "reason": "t"})
	path := "/api/plans/" + p.Token + "/approve"
	require.Equal(t, "PIN_REQUIRED", s.post(path, map[string]any{"approvedBy": "Eve"}).code())
	require.Equal(t, 0, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE tool = 'approve_plan'"), "a page that asks for it only now")
	require.Equal(t, "PIN_REQUIRED", s.post(path, map[string]any{"approvedBy": "Eve", "pin": "guess-4711"}).code())
	require.Equal(t, [][]string{{"failed", "PIN_REQUIRED", p.Token, "Eve", ""}},
		db.Query(t, "SELECT status, error_code, plan_token, approved_by, statement FROM mcp_audit.log WHERE tool = 'approve_plan'"))
	require.Contains(t, string(s.get("/api/plans/"+p.Token).body), "gave a wrong PIN")
	require.Contains(t, string(s.get("/api/audit?status=failed").body), "An approval was tried with a wrong PIN")
	require.Equal(t, http.StatusOK, s.post(path, map[string]any{"approvedBy": "Ada", "pin": "sesame-246810"}).status)
	s.execute(p)
	require.Equal(t, "PIN_REQUIRED", s.post(path, map[string]any{"approvedBy": "Eve", "pin": "guess-4711"}).code())
	require.Equal(t, 1, number(t, db, "SELECT count(*) FROM mcp_audit.log WHERE error_code = 'PIN_REQUIRED' AND plan_token IS NULL"))
	require.Contains(t, string(s.get("/api/audit?plans=1&status=executed").body), p.Token, "how it ended stays its last event")
	require.NotContains(t, fmt.Sprint(db.Query(t, "SELECT * FROM mcp_audit.log"))+s.log(), "guess-4711")
	require.Contains(t, s.log(), "a wrong PIN was given on the approval page")
}
