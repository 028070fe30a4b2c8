package approvalui

import (
	"errors"
	"html/template"
	"io"
	"mime"
	"net/http"
	"path"
	"runtime/debug"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// route is what an address answers to.
type route struct {
	open    bool // needs no secret, and holds no plan
	methods map[string]http.HandlerFunc
}

// find looks an address up; nil when there is nothing.
func (s *Server) find(p string) *route {
	get := func(h http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: h, http.MethodHead: h}
	}
	post := func(h http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodPost: h}
	}
	switch p {
	case "/":
		return &route{open: true, methods: get(s.page)}
	case "/api/plans":
		return &route{methods: get(s.plans)}
	case "/api/history":
		return &route{methods: get(s.history)}
	case "/api/audit":
		if s.opts.Trail == nil {
			return nil
		}
		return &route{methods: get(s.audit)}
	case "/api/refusals":
		return &route{methods: get(s.refusals)}
	case "/api/events":
		return &route{methods: map[string]http.HandlerFunc{http.MethodGet: s.events}}
	case "/api/session":
		return &route{open: true, methods: post(s.session)}
	case "/api/open":
		return &route{open: true, methods: post(s.open)}
	case "/api/servers":
		return &route{methods: get(s.servers)}
	case "/api/servers/open":
		return &route{methods: post(s.openOther)}
	case "/api/name":
		return &route{methods: post(s.rename)}
	}
	if name, ok := strings.CutPrefix(p, "/static/"); ok {
		return &route{open: true, methods: get(func(w http.ResponseWriter, r *http.Request) { s.static(w, r, name) })}
	}
	if token, ok := strings.CutPrefix(p, "/plans/"); ok && isToken(token) {
		return &route{methods: get(s.page)}
	}
	rest, ok := strings.CutPrefix(p, "/api/plans/")
	if !ok {
		return nil
	}
	token, verb, deeper := strings.Cut(rest, "/")
	if !isToken(token) {
		return nil
	}
	t := plan.Token(token)
	with := func(h func(http.ResponseWriter, *http.Request, plan.Token)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { h(w, r, t) }
	}
	switch {
	case !deeper:
		return &route{methods: get(with(s.onePlan))}
	case verb == "approve":
		return &route{methods: post(with(s.approve))}
	case verb == "reject":
		return &route{methods: post(with(s.reject))}
	case verb == "recheck" && s.opts.Prober != nil:
		return &route{methods: post(with(s.recheck))}
	}
	return nil
}

// isToken says whether a path element can be a token at all.
func isToken(t string) bool {
	if t == "" || len(t) > 128 {
		return false
	}
	return strings.Trim(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// ServeHTTP is the gates, in the order of the contract: where from, who, what, how.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	defer drain(r)
	defer func() {
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			s.log.Error("the approval page failed", "method", r.Method, "path", r.URL.Path, "cause", cause, "stack", string(debug.Stack()))
			errInternal.send(w)
		}
	}()
	if !s.fromHere(r) {
		s.fail(w, r, errForbidden)
		return
	}
	to := s.find(r.URL.Path)
	if (to == nil || !to.open) && !s.knows(r) {
		s.fail(w, r, errUnauthorized)
		return
	}
	if to == nil {
		s.fail(w, r, errNotFound)
		return
	}
	h, ok := to.methods[r.Method]
	if !ok {
		for m := range to.methods {
			w.Header().Add("Allow", m)
		}
		s.fail(w, r, errMethod)
		return
	}
	h(w, r)
}

// drain reads on a little behind an early answer: a connection that is closed over unread bytes
// is reset, and the sender would see that instead of the answer.
func drain(r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, 4*maxBody) // what cannot be read is not missed
}

// fail answers with a page where a person looks at it, else with JSON.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, p problem) {
	isPage := r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/plans/")
	if !isPage && !(p.status == http.StatusNotFound && !strings.HasPrefix(r.URL.Path, "/api/")) || !wantsPage(r) {
		p.send(w)
		return
	}
	mode := map[int]string{http.StatusForbidden: "forbidden", http.StatusUnauthorized: "locked", http.StatusNotFound: "notfound"}[p.status]
	if mode == "" {
		p.send(w)
		return
	}
	s.shell(w, p.status, mode)
}

// shellPage is the one HTML document. It holds no data: what the page shows comes through the API.
var shellPage = template.Must(template.ParseFS(files, "shell.html"))

// modules are the scripts that the page's own imports: named in the document, so that the browser asks for
// all of them at once instead of for each when the one before has said so.
var modules = func() (names []string) {
	list, err := files.ReadDir("static")
	if err != nil {
		panic(err) // the directory is in this binary
	}
	for _, f := range list {
		if path.Ext(f.Name()) == ".js" && f.Name() != "app.js" {
			names = append(names, f.Name())
		}
	}
	return names
}()

func (s *Server) shell(w http.ResponseWriter, status int, mode string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	err := shellPage.Execute(w, map[string]any{
		"Mode": mode, "Modules": modules, "CanOpen": s.opts.OpenBrowser != nil, "OpenCommand": s.opts.OpenCommand,
	})
	if err != nil { // the reader left: the template itself is exercised by every test
		s.log.Debug("writing the approval page", "cause", err)
	}
}

// page is the document: the plans for who has the secret, else how to get in.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.opts.RequireAuth:
		s.shell(w, http.StatusOK, "open")
	case s.knows(r):
		s.shell(w, http.StatusOK, "secret")
	default:
		s.fail(w, r, errUnauthorized)
	}
}

// types of the static files, so that the machine's own table of types does not matter.
var types = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

func (s *Server) static(w http.ResponseWriter, r *http.Request, name string) {
	t, ok := types[path.Ext(name)]
	if !ok {
		t = mime.TypeByExtension(path.Ext(name))
	}
	body, err := files.ReadFile("static/" + name) // embed refuses ".." and absolute names
	if err != nil || t == "" {
		s.fail(w, r, errNotFound)
		return
	}
	w.Header().Set("Content-Type", t)
	_, _ = w.Write(body) //nolint:gosec // a file of this binary; a reader that left is no fault
}
