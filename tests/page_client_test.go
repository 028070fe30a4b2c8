package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pageURL waits for the line on stderr that carries the page's address with its secret.
func (s *server) pageURL() *url.URL {
	s.t.Helper()
	select {
	case <-s.pageOK:
	case <-time.After(patience):
		s.t.Fatalf("no address of the page on stderr:\n%s", s.log())
	}
	u, err := url.Parse(s.page)
	require.NoError(s.t, err)
	return u
}

func (s *server) secretOrEmpty() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.page == "" {
		return ""
	}
	u, err := url.Parse(s.page)
	if err != nil {
		return ""
	}
	return u.Query().Get("token")
}

func (s *server) secret() string {
	s.t.Helper()
	return s.pageURL().Query().Get("token")
}

// at is an address of the page without the secret.
func (s *server) at(path string) string {
	s.t.Helper()
	return "http://" + s.pageURL().Host + path
}

// answer is what the page said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// code is the code of a JSON error, "" where there is none.
func (a answer) code() string {
	var e struct {
		OK   bool   `json:"ok"`
		Code string `json:"code"`
	}
	if json.Unmarshal(a.body, &e) != nil {
		return ""
	}
	return e.Code
}

// do sends one request, never following a redirect.
func do(t testing.TB, r *http.Request) answer {
	t.Helper()
	client := &http.Client{
		Timeout:       patience,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{status: resp.StatusCode, header: resp.Header, body: body}
}

// post sends a decision as the page does, with the secret.
func (s *server) post(path string, body any) answer {
	s.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	r, err := http.NewRequest(http.MethodPost, s.at(path), bytes.NewReader(raw))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.secret())
	return do(s.t, r)
}

// get reads a route with the secret.
func (s *server) get(path string) answer {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.at(path), http.NoBody)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.secret())
	return do(s.t, r)
}

// approve decides yes as a person would; confirm is what the card asks to be typed.
func (s *server) approve(token string, confirm ...string) {
	s.t.Helper()
	body := map[string]any{"approvedBy": "Ada"}
	if len(confirm) > 0 {
		body["confirm"] = confirm[0]
	}
	a := s.post("/api/plans/"+token+"/approve", body)
	require.Equal(s.t, http.StatusOK, a.status, "%s", a.body)
}

// reject decides no.
func (s *server) reject(token, reason string) answer {
	s.t.Helper()
	return s.post("/api/plans/"+token+"/reject", map[string]any{"rejectedBy": "Ada", "reason": reason})
}

// waiting lists the tokens that the page shows as waiting.
func (s *server) waiting() []string {
	s.t.Helper()
	var list struct {
		Plans []struct {
			Token string `json:"plan_token"`
		} `json:"plans"`
	}
	a := s.get("/api/plans")
	require.Equal(s.t, http.StatusOK, a.status, "%s", a.body)
	require.NoError(s.t, json.Unmarshal(a.body, &list))
	out := []string{}
	for _, p := range list.Plans {
		out = append(out, p.Token)
	}
	return out
}
