package tests

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// once is a hook that acts at the first frame that is meant, and reports that it did.
type once struct {
	sync.Once
	meant func(frame) bool
	then  verdict
	seen  chan struct{}
}

func at(then verdict, meant func(frame) bool) *once {
	return &once{meant: meant, then: then, seen: make(chan struct{})}
}

func (o *once) hook(f frame) verdict {
	v := pass
	if o.meant(f) {
		o.Do(func() { v = o.then; close(o.seen) })
	}
	return v
}

func (o *once) await(t testing.TB) {
	t.Helper()
	select {
	case <-o.seen:
	case <-time.After(patience):
		t.Fatal("the message that the test waits for never came")
	}
}

// The messages around the end of a write, in the order in which they travel.
func savepoint(f frame) bool  { return carries(f, "SAVEPOINT sw_audit") }
func commitSent(f frame) bool { return f.kind == 'P' && f.sql() == "COMMIT" }
func commitDone(f frame) bool { return f.tag() == "COMMIT" }
func theStatement(tool string) func(frame) bool {
	return func(f frame) bool {
		if tool == "run_migration" {
			return carries(f, "CREATE TABLE app.made_")
		}
		return carries(f, "WITH sw_m")
	}
}

// crash is one point at which the program dies, or its connection.
type crash struct {
	name      string
	front     func(frame) bool // the message at which it happens, on its way to Postgres
	back      func(frame) bool // or on its way back
	committed bool
}

var crashes = []crash{
	{name: "before the audit row", front: savepoint},
	{name: "between the audit row and COMMIT", front: commitSent},
	{name: "between COMMIT and its answer", back: commitDone, committed: true},
}

// bound holds the change against its record: the one is there if and only if the other is (S14).
func bound(t testing.TB, db *pgtemp.DB, r row, token string, committed bool) {
	t.Helper()
	require.Equal(t, committed, r.write.done(t, db, 1), "the change")
	want := 0
	if committed {
		want = 1
	}
	require.Equal(t, want, executedRows(t, db, token), "the record of the change")
}

// ready is a server behind a proxy with a plan that only needs execute_plan.
func ready(t testing.TB, r row) (*pgtemp.DB, *pgProxy, *server, preview) {
	t.Helper()
	db := world(t)
	proxy := newProxy(t, db)
	s := start(t, db, proxy.proxied(db, options{}))
	p := s.preview(r.tool, r.write.args(1))
	if p.Status == "awaiting_approval" {
		s.approve(p.Token)
	}
	return db, proxy, s, p
}

// S14: kill -9 between the statement and COMMIT, and between COMMIT and its answer.
func TestS14TheAuditRowCommitsWithTheChange(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		for _, c := range append(crashes, crash{name: "in the statement", front: theStatement(r.tool)}) {
			t.Run("kill -9 "+c.name, func(t *testing.T) {
				db, proxy, s, p := ready(t, r)
				trap := c.set(proxy, hold)
				s.begin("execute_plan", p.echo())
				trap.await(t)
				s.kill()
				s.nothingLeft()
				bound(t, db, r, p.Token, c.committed)

				// Who comes after learns it from the ledger.
				proxy.on(nil, nil)
				next := start(t, db, options{})
				got := next.call("execute_plan", p.echo())
				if c.committed {
					got.refused(t, refusal.UsedToken)
				} else {
					got.refused(t, refusal.UnknownToken)
				}
				bound(t, db, r, p.Token, c.committed)
			})
			t.Run("the connection is cut "+c.name, func(t *testing.T) {
				db, proxy, s, p := ready(t, r)
				trap := c.set(proxy, cut)
				call := s.begin("execute_plan", p.echo())
				trap.await(t)
				got := call.reply()
				bound(t, db, r, p.Token, c.committed)
				if c.committed {
					got.ok(t, nil) // the ledger said so
					s.call("execute_plan", p.echo()).refused(t, refusal.UsedToken)
				} else {
					got.refused(t, refusal.DatabaseUnavailable, refusal.WriteFailed)
					s.execute(p) // nothing happened, so it may be tried again
				}
				bound(t, db, r, p.Token, true)
			})
		}
	})
}

// set arms the proxy.
func (c crash) set(p *pgProxy, then verdict) *once {
	if c.back != nil {
		o := at(then, c.back)
		p.on(nil, o.hook)
		return o
	}
	o := at(then, c.front)
	p.on(o.hook, nil)
	return o
}

// S14: COMMIT's answer is lost and nobody can be asked. Then nothing is guessed, and later the
// ledger knows.
func TestS14AnUnknownOutcomeIsNotGuessed(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		for _, committed := range []bool{true, false} {
			db, proxy, s, p := ready(t, r)
			down := func(frame) verdict { return cut }
			var trap *once
			if committed {
				trap = at(cut, commitDone)
				proxy.on(nil, func(f frame) verdict {
					select {
					case <-trap.seen:
						return cut // no other connection gets an answer either
					default:
						return trap.hook(f)
					}
				})
			} else {
				trap = at(cut, commitSent)
				proxy.on(func(f frame) verdict {
					select {
					case <-trap.seen:
						return cut
					default:
						return trap.hook(f)
					}
				}, nil)
			}
			call := s.begin("execute_plan", p.echo())
			trap.await(t)
			call.reply().refused(t, refusal.OutcomeUnknown)
			s.call("execute_plan", p.echo()).refused(t, refusal.OutcomeUnknown)
			a := s.post("/api/plans/"+p.Token+"/approve", args{})
			require.Equal(t, 409, a.status, "%s", a.body)
			proxy.on(down, down)
			s.call("execute_plan", p.echo()).refused(t, refusal.OutcomeUnknown)

			proxy.on(nil, nil)
			bound(t, db, r, p.Token, committed)
			got := s.call("execute_plan", p.echo())
			if committed {
				got.refused(t, refusal.UsedToken)
			} else {
				got.refused(t, refusal.DatabaseUnavailable)
				s.execute(p)
			}
			bound(t, db, r, p.Token, true)
		}
	})
}

// S14: a second process cannot commit a token either, even where both hold the plan: the database
// refuses the second row.
func TestS14TheDatabaseRefusesASecondRow(t *testing.T) {
	t.Parallel()
	forWriters(t, func(t *testing.T, r row) {
		db, _, s, p := ready(t, r)
		db.Exec(t, "INSERT INTO mcp_audit.log (tool, statement, plan_token, status, actual_rows) VALUES ('x', '', '"+p.Token+"', 'executed', 7)")
		s.call("execute_plan", p.echo()).refused(t, refusal.UsedToken)
		require.False(t, r.write.done(t, db, 1))
		require.Equal(t, 1, executedRows(t, db, p.Token))
	})
}

// S14, both modes of a failed audit INSERT.
func TestS14AFailedAuditRow(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{true, false} {
		forWriters(t, func(t *testing.T, r row) {
			db := world(t)
			s := start(t, db, options{config: map[string]any{"audit": map[string]any{"required": required}}})
			p := s.preview(r.tool, r.write.args(1))
			if p.Status == "awaiting_approval" {
				s.approve(p.Token)
			}
			db.Exec(t, "REVOKE INSERT ON mcp_audit.log FROM writer")
			got := s.call("execute_plan", p.echo())
			if required {
				got.refused(t, refusal.AuditUnavailable)
				require.False(t, r.write.done(t, db, 1))
				s.call(r.tool, r.write.args(2)).refused(t, refusal.AuditUnavailable)
				return
			}
			got.ok(t, nil)
			require.True(t, r.write.done(t, db, 1))
			require.Contains(t, s.log(), "COMMITTING WITHOUT AN AUDIT ROW")
		})
	}
}
