//go:build crash

package tests

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jpka/sw-postgres-mcp/internal/pgtemp"
)

// point is where in the life of a plan death comes.
type point int

const (
	planCreated point = iota
	lockTaken
	statementRun
	auditRowSent
	commitIsSent
	commitAnswered
)

const points = commitAnswered + 1

func (p point) String() string {
	return [points]string{"plan created", "lock taken", "statement run", "audit row sent", "COMMIT sent", "COMMIT answered"}[p]
}

// way is who dies.
type way int

const (
	killed    way = iota // the program, by SIGKILL
	cutOff               // its connections, by a reset
	pgRestart            // Postgres, by SIGKILL to every process of it; it is started again
)

const manyOfWays = pgRestart + 1

func (w way) String() string {
	return [manyOfWays]string{"SIGKILL", "connection cut", "Postgres restarted"}[w]
}

// How much of COMMIT reaches the server where death comes at commitIsSent. The program has sent all of
// it in each case.
const (
	commitTorn     = iota // its Parse alone: it cannot commit
	commitUnsynced        // all but the Sync: it commits, and says so to nobody
	commitWhole           // all of it, and death comes at once: either may be
	manyCommits
)

// trap holds a connection at a point of a write, when the server has done all that comes before.
type trap struct {
	point  point
	tool   string
	commit int // at commitIsSent

	mu     sync.Mutex
	links  map[*link]*progress
	sprung bool
	seen   chan struct{}
	where  *link
	before string // the statement that the server was given last
}

// progress is what a connection has carried.
type progress struct {
	sql    string // of the last Parse
	ran    bool   // an Execute of it went out
	commit bool   // a COMMIT went out
	audit  bool   // a row for the audit table did
}

func newTrap(p point, tool string, commit int) *trap {
	return &trap{point: p, tool: tool, commit: commit, links: map[*link]*progress{}, seen: make(chan struct{})}
}

func (tr *trap) arm(p *pgProxy) { p.on(tr.front, tr.back) }

func (tr *trap) of(l *link) *progress {
	if tr.links[l] == nil {
		tr.links[l] = &progress{}
	}
	return tr.links[l]
}

func (tr *trap) spring(l *link, pr *progress) {
	tr.sprung, tr.where, tr.before = true, l, pr.sql
	close(tr.seen)
}

func (tr *trap) front(f frame) verdict {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	pr := tr.of(f.conn)
	if tr.sprung {
		return pass
	}
	if v, here := tr.at(f, pr); here {
		tr.spring(f.conn, pr)
		return v
	}
	switch f.kind {
	case 'P':
		pr.sql, pr.ran = f.sql(), false
		pr.commit = pr.commit || pr.sql == "COMMIT"
		pr.audit = pr.audit || carries(f, "INSERT INTO mcp_audit.log")
	case 'E':
		pr.ran = true
	}
	return pass
}

// at tells whether f is the first message behind the point, and what becomes of it.
func (tr *trap) at(f frame, pr *progress) (v verdict, here bool) {
	behind := pr.ran && (f.kind == 'P' || f.kind == 'S')
	switch tr.point {
	case lockTaken:
		return hold, behind && strings.HasPrefix(pr.sql, "SELECT pg_catalog.pg_advisory_xact_lock(")
	case statementRun:
		return hold, behind && theStatement(tr.tool)(frame{kind: 'P', body: []byte("\x00" + pr.sql + "\x00\x00\x00")})
	case auditRowSent:
		return hold, pr.audit && commitSent(f)
	case commitIsSent:
		switch tr.commit {
		case commitTorn:
			return hold, pr.sql == "COMMIT" && f.kind == 'B'
		case commitUnsynced:
			return hold, behind && pr.sql == "COMMIT"
		}
		return pass, behind && pr.sql == "COMMIT"
	default: // the others are on the way back
		return pass, false
	}
}

func (tr *trap) back(f frame) verdict {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	pr := tr.of(f.conn)
	here := tr.point == commitAnswered && pr.commit && commitDone(f) ||
		tr.point == planCreated && pr.audit && strings.HasPrefix(f.tag(), "INSERT")
	if tr.sprung || !here {
		return pass
	}
	tr.spring(f.conn, pr)
	return hold
}

// await waits until the point is reached.
func (tr *trap) await(t testing.TB, s *server) {
	t.Helper()
	select {
	case <-tr.seen:
	case <-time.After(patience):
		t.Fatalf("the point %q of %s was never reached; stderr:\n%s", tr.point, tr.tool, s.log())
	}
}

// reached shows, from the server's side, that it stands where the point is: it has done what it was
// given last, holds the plan's lock, and waits for more.
func (tr *trap) reached(t testing.TB, db *pgtemp.DB) {
	t.Helper()
	port := tr.where.server.LocalAddr().(*net.TCPAddr).Port
	inserted := tr.point == auditRowSent
	eventually(t, "Postgres stands at the point: "+tr.point.String(), func() bool {
		rows := db.Query(t, `SELECT left(a.query, 60) = left($2, 60) AND a.state = 'active' AND a.wait_event = 'ClientRead',
				EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted),
				EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'mcp_audit.log'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted)
			FROM pg_stat_activity a WHERE a.client_port = $1`, port, tr.before)
		if len(rows) != 1 || rows[0][0] != "t" {
			return false
		}
		require.Equal(t, "t", rows[0][1], "the plan's lock")
		require.Equal(t, inserted, rows[0][2] == "t", "a row for the audit table")
		return true
	})
}
