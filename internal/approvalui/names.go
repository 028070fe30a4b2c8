package approvalui

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names remembers on this machine under which name the person decides: a browser keeps what it
// keeps per port, and the next server has another one.
type Names interface {
	// Name is the remembered name, "" when there is none.
	Name() string
	// SetName remembers one; "" forgets it.
	SetName(name string) error
}

// person is the name that decisions are recorded under until the person gives another.
func (s *Server) person() string {
	if s.opts.Names != nil {
		if n := s.opts.Names.Name(); n != "" {
			return n
		}
	}
	return s.opts.Person
}

// rename remembers the name that the person gave on the page.
func (s *Server) rename(w http.ResponseWriter, r *http.Request) {
	body, bad := readBody(r, "name")
	if bad != nil {
		bad.send(w)
		return
	}
	name, given := body["name"]
	name = strings.TrimSpace(name)
	if !given || utf8.RuneCountInString(name) > maxActor || strings.ContainsFunc(name, unicode.IsControl) {
		badRequest("The name must be one line of at most 200 characters.").send(w)
		return
	}
	if s.opts.Names == nil {
		errNotRemembered.send(w)
		return
	}
	if err := s.opts.Names.SetName(name); err != nil {
		s.log.Warn("the name could not be remembered", "cause", err)
		errNotRemembered.send(w)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "name": s.person()})
}

var errNotRemembered = problem{http.StatusServiceUnavailable, "NOT_REMEMBERED", "The name cannot be kept on this machine.", "It is used on this page until it is reloaded."}
