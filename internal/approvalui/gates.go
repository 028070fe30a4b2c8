package approvalui

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// policy is the Content-Security-Policy of every response: scripts and styles from this server's
// own files only, no inline code, no frames, no forms, nothing from elsewhere. Trusted Types make
// a slip into innerHTML fail instead of run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"

// secure sets the headers that every response carries, errors and static files included.
// See TestS16HeadersOnEveryResponse.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// fromHere is the first gate: the request names this server as its host, and where a browser says
// from which page it comes, that page is this one. A rebound name fails on Host, another site on
// Origin or Sec-Fetch-Site. See TestS16GateMatrix.
func (s *Server) fromHere(r *http.Request) bool {
	if !s.ownHost(r.Host) {
		return false
	}
	for _, o := range r.Header.Values("Origin") {
		if !strings.EqualFold(o, "http://"+r.Host) {
			return false
		}
	}
	for _, v := range r.Header.Values("Sec-Fetch-Site") {
		if v != "same-origin" && v != "none" {
			return false
		}
	}
	return true
}

// ownHost accepts the three names of the loopback interface together with the bound port.
func (s *Server) ownHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		if s.port != 80 { // a browser leaves only the default port out
			return false
		}
		name, port = strings.Trim(host, "[]"), "80"
	}
	if port != strconv.Itoa(s.port) {
		return false
	}
	switch strings.ToLower(name) {
	case "127.0.0.1", "localhost":
		return true
	case "::1":
		return strings.HasPrefix(host, "[") // never "::1:4319"
	}
	return false
}

// knows is the second gate: the session's secret, as a bearer token or in the address. Compared
// as hashes in constant time, so neither its bytes nor its length leak.
func (s *Server) knows(r *http.Request) bool {
	if !s.opts.RequireAuth {
		return true
	}
	ok := false
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		ok = s.sameSecret(strings.TrimSpace(token))
	}
	if t := r.URL.Query().Get("token"); t != "" {
		ok = s.sameSecret(t) || ok
	}
	return ok
}

func (s *Server) sameSecret(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
