package writecore

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// All generated SQL of a write is made in this file; testdata/*.golden.sql shows it.
// Every alias starts with sw_, which the guard refuses in agent text and in the target's own names.

//go:embed sql/settings.sql
var settingsSQL string

//go:embed sql/state.sql
var stateSQL string

//go:embed sql/effects.sql
var effectsTemplate string

//go:embed sql/behaviour.sql
var behaviourSQL string

//go:embed sql/behaviours.sql
var behavioursTemplate string

// There is no second text that computes what a relation does with what is written to it.
var (
	effectsSQL    = strings.ReplaceAll(effectsTemplate, "{behaviour}", behaviourSQL)
	behavioursSQL = strings.ReplaceAll(behavioursTemplate, "{behaviour}", behaviourSQL)
)

//go:embed sql/baseline.sql
var baselineSQL string

//go:embed sql/identity.sql
var identitySQL string

// sampleRows is how many rows a preview shows.
const sampleRows = 10

func step(sql string) wire.Step { return wire.Step{SQL: sql} }

func text(s string) []byte { return []byte(s) }

// begin opens the transaction. Isolation: see architecture, Preview and Commit. The savepoint, which Postgres takes
// in a transaction block only, is given up at once: where BEGIN was taken by something in between and opened
// nothing, it ends the segment before anything is run. See TestFieldC43AProxyForbidsBegin.
func (sc *script) begin(repeatable bool) {
	isolation := "READ COMMITTED"
	if repeatable {
		isolation = "REPEATABLE READ"
	}
	sc.Add("begin", step("BEGIN ISOLATION LEVEL "+isolation+" READ WRITE"))
	sc.Add("open", step("SAVEPOINT sw_open"))
	sc.Add("open", step("RELEASE SAVEPOINT sw_open"))
}

// lockFirst takes the statement's own lock on the target before the transaction has its snapshot, which SET
// and LOCK do not take (manual, LOCK, Description): what an open ALTER TABLE or CREATE TRIGGER is waited for
// commits is then in the snapshot, and with it in what is compared. See TestS04DefinitionsUnderASnapshot.
func lockFirst(sc *script, t sqlguard.Relation, lock time.Duration) {
	only := "ONLY " // those of its partitions that are written to are locked by the statement
	if t.Kind == 'v' {
		only = ""
	}
	sc.Add("open", step("SET LOCAL lock_timeout = "+strconv.FormatInt(lock.Milliseconds(), 10)))
	sc.Add("target", step("LOCK TABLE "+only+sqlguard.QuoteName(t.Schema, t.Name)+" IN ROW EXCLUSIVE MODE"))
}

// settings bounds the transaction, fixes the output formats, and fails with m where the connection is
// not what was checked.
func settings(s Server, statement, lock time.Duration, m string) wire.Step {
	ms := func(d time.Duration) []byte { return strconv.AppendInt(nil, d.Milliseconds(), 10) }
	return wire.Step{SQL: settingsSQL, Params: [][]byte{
		ms(statement), ms(lock), ms(2*statement + 10*time.Second), text(s.Role()), text(m),
	}}
}

// hasRowVersions tells whether rows of this relation have a ctid and xmin to digest.
func hasRowVersions(r sqlguard.Relation) bool { return r.Kind == 'r' || r.Kind == 'p' || r.Kind == 'm' }

// versionSums digests row versions: sw_c is the ctid, sw_x made of xmin and tableoid.
const versionSums = "pg_catalog.sum(pg_catalog.hashtidextended(sw_c, sw_x)), pg_catalog.sum(pg_catalog.hashtidextended(sw_c, sw_x # 4611686018427387904))"

// probe counts and digests the rows that the condition matches, in one scan bounded to cap+1 rows,
// and fails with m when there are more. lock takes the rows FOR UPDATE.
//
// The digest is over row versions: (ctid, xmin, tableoid), two seeded 64-bit sums. The second seed is
// XOR, never plus: plus overflows from transaction id 2^30 on (TestDigestSurvivesOldTransactionIDs).
// Where there are no row versions (views) it is over record_send of the columns.
func probe(st *sqlguard.Statement, params [][]byte, hardMax int64, lock bool, m string) wire.Step {
	t := st.Target()
	name := sqlguard.QuoteName(t.Schema, t.Name)
	where := ""
	if st.Where() != "" {
		where = " WHERE " + st.Where()
	}
	var inner, sums string
	if hasRowVersions(t) {
		inner = "ctid AS sw_c, (xmin::text::bigint << 32) # tableoid::bigint AS sw_x"
		sums = versionSums
	} else {
		cols := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			cols[i] = sqlguard.QuoteIdent(t.Name) + "." + sqlguard.QuoteIdent(c.Name)
		}
		inner = "pg_catalog.encode(pg_catalog.record_send(ROW(" + strings.Join(cols, ", ") + ")), 'hex') AS sw_x"
		sums = "pg_catalog.sum(pg_catalog.hashtextextended(sw_x, 0)), pg_catalog.sum(pg_catalog.hashtextextended(sw_x, 4611686018427387904))"
	}
	forUpdate := ""
	if lock {
		forUpdate = " FOR UPDATE"
	}
	sql := fmt.Sprintf(`SELECT pg_catalog.count(*), %s,
  CASE WHEN pg_catalog.count(*) > %d THEN ('%scap' || pg_catalog.count(*))::int END
FROM (SELECT %s FROM %s%s LIMIT %d OFFSET 0%s) sw_r`, sums, hardMax, m, inner, name, where, hardMax+1, forUpdate)
	return wire.Step{SQL: sql, Params: params}
}

func columnNames(t sqlguard.Relation) []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Name
	}
	return out
}

// runCounting is the statement at execute, where no sample is needed.
func runCounting(st *sqlguard.Statement, params [][]byte) wire.Step {
	return wire.Step{
		SQL:         cteHead + st.SQL() + "\nRETURNING 1) SELECT pg_catalog.count(*) FROM sw_m",
		Params:      params,
		PrefixRunes: len(cteHead),
	}
}

// The steps that are the same in every transaction.
var (
	deferredNow    = step("SET CONSTRAINTS ALL IMMEDIATE")
	rollback       = step("ROLLBACK")
	commit         = step("COMMIT")
	flushCounters  = step("SELECT pg_catalog.pg_stat_force_next_flush()")
	savepointProbe = step("SAVEPOINT sw_probe")
	undoProbe      = step("ROLLBACK TO SAVEPOINT sw_probe")
	savepointRow   = step("SAVEPOINT sw_audit")
	releaseRow     = step("RELEASE SAVEPOINT sw_audit")
	undoRow        = step("ROLLBACK TO SAVEPOINT sw_audit")
	forget         = step("DISCARD ALL")
)

// pg15 is the first version with pg_stat_force_next_flush().
const pg15 = 150000

// closing are the segments that end a transaction without a trace. ROLLBACK stands alone behind a Sync,
// since an error would skip it; what agent text left in the session (settings, prepared statements,
// advisory locks, sequences' last values) is forgotten; the counters are flushed so that the next
// preview starts at zero.
func closing(version int) []wire.Segment {
	s := []wire.Segment{{rollback}, {forget}}
	if version >= pg15 {
		s = append(s, wire.Segment{flushCounters})
	}
	return s
}

// immediateRounds is how often deferred constraints and triggers are made to run before the effects are
// read: one that runs may defer others anew. What is deferred still deeper runs at COMMIT, uncounted.
const immediateRounds = 4

// runDeferred makes everything deferred run now, where it is counted and can still be refused.
func runDeferred(s *script) {
	for range immediateRounds {
		s.Add("deferred", deferredNow)
	}
}
