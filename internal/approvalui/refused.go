package approvalui

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Bounds of what is kept of refusals: an hour, and so many that no agent can fill the memory.
const (
	refusedFor  = time.Hour
	maxRefused  = 200
	maxRefusedQ = 2000 // characters of reason, message and statement each
)

// refusedKinds are the refusals that a person should see, and which wall the agent ran into. What is
// not here is no wall: a plan's own life, a database that is down, a failing statement.
// Codes that nothing raises yet stand as text.
var refusedKinds = map[refusal.Code]string{
	refusal.HardMaxRowsExceeded: "limit", refusal.TooManyPlans: "limit", refusal.TooManyWaiting: "limit", refusal.MigrationTooLarge: "limit",
	refusal.MigrationBusy: "limit", "RULE_DENIED": "limit", refusal.ApprovalUnavailable: "limit",
	refusal.TableNotWritable: "allowlist", refusal.TableNotAllowlisted: "allowlist", "MASKED_COLUMN": "allowlist", "TOOL_DISABLED": "allowlist",
	refusal.NoWhereClause: "guard", refusal.InvalidTableName: "guard", refusal.InvalidInput: "guard", refusal.InvalidArguments: "guard",
	refusal.MissingReason: "guard", refusal.EmptyStatement: "guard", refusal.MultiStatement: "guard", refusal.NotSelect: "guard",
	refusal.FunctionNotAllowed: "guard", refusal.UnsupportedMigration: "guard",
	refusal.StatementMismatch: "guard", refusal.PlanRejected: "guard",
}

// Refused is one call of an agent that was refused.
type Refused struct {
	At      int64  `json:"at"` // epoch ms
	Tool    string `json:"tool"`
	Kind    string `json:"kind"` // limit, allowlist, guard
	Code    string `json:"code"`
	Message string `json:"message"` // what the agent was told
	Reason  string `json:"reason"`  // the agent's own
	Asked   string `json:"asked"`   // the statement or table that it named; never a parameter's value
	Times   int    `json:"times"`   // how often in a row
}

// Refusals is the memory of the last hour's refusals: at most 200, the oldest go first. It is safe for
// concurrent use. The zero value is ready. See TestRefusalsAreBounded.
type Refusals struct {
	mu   sync.Mutex
	list []Refused
	tell func(n int)
	now  func() time.Time
}

// onAdd sets who is told how many there are now. It must not come back here.
func (l *Refusals) onAdd(tell func(n int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = tell
}

// Add remembers err if it is a refusal that a person should see. arguments are those of the call, as
// the agent sent them; of these only names, text of statements and the reason are kept.
func (l *Refusals) Add(tool string, arguments json.RawMessage, err error) {
	e, ok := refusal.As(err)
	if !ok || refusedKinds[e.Code] == "" {
		return
	}
	asked, reason := askedIn(arguments)
	r := Refused{
		At: l.time().UnixMilli(), Tool: tool, Kind: refusedKinds[e.Code], Code: string(e.Code),
		Message: shorten(e.Message), Reason: reason, Asked: asked, Times: 1,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	if n := len(l.list); n > 0 && same(l.list[n-1], r) {
		l.list[n-1].At = r.At
		l.list[n-1].Times++
	} else {
		l.list = append(l.list, r)
		if len(l.list) > maxRefused {
			l.list = append(l.list[:0], l.list[len(l.list)-maxRefused:]...)
		}
	}
	if l.tell != nil { // under the lock, so that the last word is the newest
		l.tell(len(l.list))
	}
}

func same(a, b Refused) bool {
	a.At, a.Times = b.At, b.Times
	return a == b
}

// List returns the last hour's refusals, newest first.
func (l *Refusals) List() []Refused {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	out := make([]Refused, 0, len(l.list))
	for _, r := range slices.Backward(l.list) {
		out = append(out, r)
	}
	return out
}

// sweep forgets what is older than an hour.
func (l *Refusals) sweep() {
	oldest := l.time().Add(-refusedFor).UnixMilli()
	i := 0
	for i < len(l.list) && l.list[i].At <= oldest {
		i++
	}
	if i > 0 {
		l.list = append([]Refused(nil), l.list[i:]...)
	}
}

func (l *Refusals) time() time.Time {
	if l.now != nil {
		return l.now()
	}
	return time.Now()
}

// askedIn reads what a person recognises a call by. A call that cannot be read is remembered all the same.
func askedIn(arguments json.RawMessage) (asked, reason string) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(arguments, &keys) != nil {
		return "", ""
	}
	text := func(key string) string {
		var s string
		if json.Unmarshal(keys[key], &s) != nil {
			return ""
		}
		return shorten(s)
	}
	asked = text("statement")
	if asked == "" {
		if asked = text("table"); asked != "" && text("where") != "" {
			asked += " WHERE " + text("where")
		}
	}
	return shorten(asked), text("reason")
}

// shorten cuts a text that would fill the page, and says how long it was.
func shorten(s string) string {
	if len(s) <= maxRefusedQ {
		return s
	}
	r := []rune(s)
	if len(r) <= maxRefusedQ {
		return s
	}
	return string(r[:maxRefusedQ]) + "… (" + strconv.Itoa(len(r)) + " characters)"
}

// refusals lists what the agent ran into in the last hour.
func (s *Server) refusals(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "refusals": s.opts.Refusals.List()})
}
