package approvalui

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// problem is an error of this API: what programs read, and for people a page.
type problem struct {
	status  int
	Code    string
	Message string
	Hint    string
}

// The problems of the gates and of the protocol.
var (
	errForbidden    = problem{http.StatusForbidden, "FORBIDDEN", "This page answers only to itself, on this machine.", "Open the link that the server printed, in the address bar of a browser on this machine."}
	errUnauthorized = problem{http.StatusUnauthorized, "UNAUTHORIZED", "The secret of this page is missing or wrong.", "Use the link that the server printed when it started."}
	errNotFound     = problem{http.StatusNotFound, "NOT_FOUND", "There is nothing at this address.", ""}
	errMethod       = problem{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This address does not answer to that method.", ""}
	errMediaType    = problem{http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "The body must be sent as application/json.", "Set Content-Type: application/json."}
	errTooLarge     = problem{http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "The body is larger than 64 KiB.", ""}
	errInternal     = problem{http.StatusInternalServerError, "INTERNAL_ERROR", "Something failed inside the server. Nothing was decided.", "The server's own log says more."}
	errUnknownPlan  = problem{http.StatusNotFound, "UNKNOWN_TOKEN", "This server has no such plan.", "It may have ended long ago, or belong to another server."}
	errNoBrowser    = problem{http.StatusServiceUnavailable, "BROWSER_UNAVAILABLE", "The server cannot open a browser here.", "Use the link that the server printed when it started."}
	errTooManyTries = problem{http.StatusTooManyRequests, "TOO_MANY_TRIES", "Too many tries in a short time.", "Wait a minute, then try again."}
	errBadCode      = problem{http.StatusUnauthorized, "UNAUTHORIZED", "This one-time code was used, has run out, or was never given.", "Let the server open the page again."}
	errBusy         = problem{http.StatusServiceUnavailable, "TOO_BUSY", "Too many pages listen already.", "Close some of them."}
)

func badRequest(message string) problem {
	return problem{http.StatusBadRequest, "BAD_REQUEST", message, "Nothing was decided."}
}

// refused maps a refusal of the core to the codes of this API. ok is false for a fault, whose
// text stays inside.
func refused(err error) (problem, bool) {
	e, ok := refusal.As(err)
	if !ok {
		return errInternal, false
	}
	p := problem{http.StatusConflict, string(e.Code), e.Message, ""}
	switch e.Code {
	case refusal.UnknownToken:
		return errUnknownPlan, true
	case refusal.ExpiredToken:
		p.status, p.Code, p.Hint = http.StatusGone, "PLAN_EXPIRED", "Nothing changed. The agent can ask again."
	case refusal.UsedToken:
		p.Code = "PLAN_USED"
	case refusal.PlanRejected:
		p.Code, p.Hint = "PLAN_REJECTED", "A rejection is final. The agent has to ask again."
	case refusal.SupersededPlan:
		p.Code, p.Hint = "PLAN_SUPERSEDED", "Decide the newer plan instead."
	case refusal.AlreadyExecuting, refusal.OutcomeUnknown:
	case refusal.RowsetChanged:
		p.Hint = "What would happen now is not what the card shows. The agent has to ask again."
	case refusal.TooBusy, refusal.DatabaseUnavailable, refusal.AuditUnavailable:
		p.status, p.Hint = http.StatusServiceUnavailable, "Nothing was decided. Try again."
	case refusal.StatementTimeout, refusal.LockTimeout:
		p.status, p.Hint = http.StatusServiceUnavailable, "Try again."
	case refusal.InternalError:
		return errInternal, false
	default: // the core refuses for a reason of its own: its code and its words
	}
	return p, true
}

// send writes a problem as JSON.
func (p problem) send(w http.ResponseWriter) {
	body := map[string]any{"ok": false, "code": p.Code, "message": p.Message}
	if p.Hint != "" {
		body["hint"] = p.Hint
	}
	writeJSON(w, p.status, body)
}

// writeJSON writes one JSON object. Values here always marshal: they are made of strings,
// numbers and checked raw JSON.
func writeJSON(w http.ResponseWriter, status int, body any) {
	out, err := json.Marshal(body)
	if err != nil {
		status, out = http.StatusInternalServerError, []byte(`{"ok":false,"code":"INTERNAL_ERROR","message":"Something failed inside the server. Nothing was decided."}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(out, '\n')) // a reader that left is no fault
}

// wantsPage says whether a person looks at the answer: a top-level GET by a browser.
func wantsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if d := r.Header.Get("Sec-Fetch-Dest"); d != "" && d != "document" {
		return false
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
