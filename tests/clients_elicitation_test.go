//go:build clients && unix

package tests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Real clients that can be asked show the question, and what the person answers there counts: by a request
// of the server while the call waits, and by one result that makes the client call again by itself.
func TestClientsAskThePerson(t *testing.T) {
	t.Parallel()
	db := world(t)
	n := 0
	for _, c := range realClients {
		if c.version < "2025-06-18" || !strings.HasPrefix(c.name, "TypeScript") {
			continue
		}
		for _, answer := range []string{`{"action":"accept","content":{"approve":true}}`, `{"action":"accept","content":{"approve":false}}`, `{"action":"decline"}`, `{"action":"cancel"}`} {
			n++
			change := deletes(n)
			t.Run(c.name+" "+answer, func(t *testing.T) {
				t.Parallel()
				o := channelOf("both", 2*time.Second, nil)
				yes := strings.Contains(answer, `"approve":true`)
				if yes {
					o = channelOf("both", time.Minute, nil)
				}
				o.through, o.env = c.through(t)
				o.env["SW_TEST_ANSWER"] = answer
				s := start(t, db, o)
				var p preview
				c.worked(t, s.tell("delete_rows", change, nil).wait(), &p)
				require.Contains(t, p.Message, "asked here")
				m := s.tell("execute_plan", p.echo(), nil).wait()
				s.mu.Lock()
				asked := 0
				for _, note := range s.notes {
					if note.Method == "client/asked" {
						asked++
						require.Contains(t, string(note.Params), "Statement: DELETE FROM app.item")
					}
				}
				s.mu.Unlock()
				require.Equal(t, 1, asked, "what the client says: %s %v", m.Result, m.Error)
				if yes {
					c.worked(t, m, nil)
					require.Equal(t, []string{"elicitation:tests"}, decidedBy(t, db, p.Token))
					require.Equal(t, 1, executedRows(t, db, p.Token))
					return
				}
				c.refused(t, m, refusal.AwaitingApproval)
				require.Zero(t, executedRows(t, db, p.Token))
				require.Equal(t, []string{p.Token}, s.waiting())
			})
		}
	}
}
