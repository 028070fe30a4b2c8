package writecore

import (
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// All generated SQL of a write is made in this file; testdata/*.golden.sql shows it.
// Every alias starts with sw_, which the guard refuses in agent text and in the target's own names.

//go:embed sql/settings.sql
var settingsSQL string

//go:embed sql/state.sql
var stateSQL string

//go:embed sql/witness.sql
var witnessSQL string

//go:embed sql/routines.sql
var routinesSQL string

//go:embed sql/effects.sql
var effectsSQL string

//go:embed sql/baseline.sql
var baselineSQL string

//go:embed sql/identity.sql
var identitySQL string

// sampleRows is how many rows a preview shows.
const sampleRows = 10

// newMark is a random prefix for errors that a step raises on purpose, so that an agent's own bad cast
// is never taken for one of ours.
func newMark() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "sw_" + hex.EncodeToString(b[:]) + "_"
}

func step(sql string) wire.Step { return wire.Step{SQL: sql} }

func text(s string) []byte { return []byte(s) }

// begin opens the transaction. Isolation: see architecture, Preview and Commit.
func begin(repeatable bool) wire.Step {
	if repeatable {
		return step("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE")
	}
	return step("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
}

// settings bounds the transaction, fixes the output formats, and fails with m where the connection is
// not what was checked.
func settings(s Server, statement, lock time.Duration, m string) wire.Step {
	ms := func(d time.Duration) []byte { return strconv.AppendInt(nil, d.Milliseconds(), 10) }
	return wire.Step{SQL: settingsSQL, Params: [][]byte{
		ms(statement), ms(lock), ms(2*statement + 10*time.Second), text(s.Role()), text(m),
	}}
}

func oidArray(oids []uint32) []byte {
	b := []byte{'{'}
	for i, o := range oids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(o), 10)
	}
	return append(b, '}')
}

// explain makes Postgres resolve the names of the text without running it, behind which witness
// looks at the locks.
func explain(st *sqlguard.Statement, params [][]byte) wire.Step {
	const prefix = "EXPLAIN (COSTS OFF) "
	return wire.Step{SQL: prefix + st.SQL(), Params: params, PrefixRunes: utf8.RuneCountInString(prefix)}
}

func witness(st *sqlguard.Statement, m string) wire.Step {
	return wire.Step{SQL: witnessSQL, Params: [][]byte{oidArray(st.LockClosure()), text(m)}}
}

// routines asserts the volatility facts; ok is false where there is nothing to assert.
func routines(st *sqlguard.Statement, m string) (s wire.Step, ok bool) {
	rs := st.Routines()
	if len(rs) == 0 {
		return wire.Step{}, false
	}
	oids := make([]uint32, len(rs))
	vol := make([]string, len(rs))
	for i, r := range rs {
		oids[i], vol[i] = r.OID, string(r.Volatility)
	}
	return wire.Step{SQL: routinesSQL, Params: [][]byte{oidArray(oids), text("{" + strings.Join(vol, ",") + "}"), text(m)}}, true
}

// hasRowVersions tells whether rows of this relation have a ctid and xmin to digest.
func hasRowVersions(r sqlguard.Relation) bool { return r.Kind == 'r' || r.Kind == 'p' || r.Kind == 'm' }

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
		sums = "pg_catalog.sum(pg_catalog.hashtidextended(sw_c, sw_x)), pg_catalog.sum(pg_catalog.hashtidextended(sw_c, sw_x # 4611686018427387904))"
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

// columnsOf renders the target's columns, qualified by its own name, as RETURNING needs them.
func columnsOf(t sqlguard.Relation, names []string, as string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = sqlguard.QuoteIdent(t.Name) + "." + sqlguard.QuoteIdent(n) + " AS " + as + strconv.Itoa(i+1)
	}
	return strings.Join(out, ", ")
}

func columnNames(t sqlguard.Relation) []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Name
	}
	return out
}

// pairing says how before and after of an UPDATE are matched.
type pairing int

const (
	noPairs   pairing = iota
	byKey             // the key is not in SET: join the changed rows to the statement's own snapshot
	byVersion         // no key, or the key is in SET: join by (tableoid, ctid) inside the statement
)

func pairingOf(st *sqlguard.Statement) pairing {
	t := st.Target()
	if st.Class() != sqlguard.Update || len(t.Columns) == 0 {
		return noPairs
	}
	if len(t.PrimaryKey) > 0 && !intersects(t.PrimaryKey, st.SetColumns()) {
		return byKey
	}
	if hasRowVersions(t) {
		return byVersion
	}
	return noPairs
}

func intersects(a, b []string) bool {
	for _, x := range a {
		if slices.Contains(b, x) {
			return true
		}
	}
	return false
}

const cteHead = "WITH sw_m AS ("

// shape says what the columns of a run's result are: column 0 is the count, then the new (or, for
// DELETE, the old) values of names, then, if pairs, the old values of the same names.
type shape struct {
	names []string
	pairs pairing
}

// run is the statement itself, inside a CTE: there COMMIT, ROLLBACK and a closing bracket are syntax
// errors to Postgres too. Result: one row (count, sample columns…) per sample row, or a single one
// whose sample columns are null.
func run(st *sqlguard.Statement, params [][]byte, names []string) (wire.Step, shape) {
	t := st.Target()
	pairs := pairingOf(st)
	order := keyPositions(t, names)
	if pairs == byVersion {
		return runByVersion(st, params, names, order), shape{names, pairs}
	}
	var b strings.Builder
	b.WriteString(cteHead)
	b.WriteString(st.SQL())
	b.WriteString("\nRETURNING ")
	b.WriteString(columnsOf(t, names, "sw_n"))
	b.WriteString("), sw_s AS MATERIALIZED (SELECT * FROM sw_m")
	if st.Class() != sqlguard.Insert {
		b.WriteString(orderBy(order, "sw_n"))
	}
	fmt.Fprintf(&b, " LIMIT %d)\nSELECT (SELECT pg_catalog.count(*) FROM sw_m), sw_s.*", sampleRows)
	if pairs == byKey {
		for _, n := range names {
			b.WriteString(", sw_o." + sqlguard.QuoteIdent(n))
		}
	}
	b.WriteString(" FROM (SELECT 1) sw_one LEFT JOIN sw_s ON true")
	if pairs == byKey {
		conds := make([]string, len(order))
		for i, p := range order {
			conds[i] = fmt.Sprintf("sw_o.%s = sw_s.sw_n%d", sqlguard.QuoteIdent(names[p]), p+1)
		}
		b.WriteString(" LEFT JOIN " + sqlguard.QuoteName(t.Schema, t.Name) + " sw_o ON " + strings.Join(conds, " AND "))
	}
	if st.Class() != sqlguard.Insert {
		b.WriteString(orderBy(order, "sw_s.sw_n"))
	}
	return wire.Step{SQL: b.String(), Params: params, PrefixRunes: len(cteHead)}, shape{names, pairs}
}

// runByVersion joins the target to itself by row version, inside the UPDATE, so that old values are
// at hand when there is no key or the key changes.
func runByVersion(st *sqlguard.Statement, params [][]byte, names []string, order []int) wire.Step {
	t := st.Target()
	name := sqlguard.QuoteName(t.Schema, t.Name)
	self := sqlguard.QuoteIdent(t.Name)
	head := st.SQL()
	cond := fmt.Sprintf("sw_o.sw_c = %s.ctid AND sw_o.sw_t = %s.tableoid", self, self)
	if w := st.Where(); w != "" {
		head = strings.TrimSuffix(head, " WHERE "+w)
		cond += " AND (" + w + ")"
	}
	old := make([]string, len(names))
	for i, n := range names {
		old[i] = fmt.Sprintf("(sw_o.sw_r).%s AS sw_p%d", sqlguard.QuoteIdent(n), i+1)
	}
	sql := fmt.Sprintf("%s%s FROM (SELECT ctid AS sw_c, tableoid AS sw_t, sw_r FROM %s sw_r) sw_o WHERE %s\nRETURNING %s, %s), "+
		"sw_s AS MATERIALIZED (SELECT * FROM sw_m%s LIMIT %d)\nSELECT (SELECT pg_catalog.count(*) FROM sw_m), sw_s.* FROM (SELECT 1) sw_one LEFT JOIN sw_s ON true%s",
		cteHead, head, name, cond, columnsOf(t, names, "sw_n"), strings.Join(old, ", "),
		orderBy(order, "sw_p"), sampleRows, orderBy(order, "sw_s.sw_p"))
	return wire.Step{SQL: sql, Params: params, PrefixRunes: len(cteHead)}
}

// runCounting is the statement at execute, where no sample is needed.
func runCounting(st *sqlguard.Statement, params [][]byte) wire.Step {
	return wire.Step{
		SQL:         cteHead + st.SQL() + "\nRETURNING 1) SELECT pg_catalog.count(*) FROM sw_m",
		Params:      params,
		PrefixRunes: len(cteHead),
	}
}

// keyPositions are the indexes in names of the primary key's columns, or nil.
func keyPositions(t sqlguard.Relation, names []string) []int {
	var out []int
	for _, k := range t.PrimaryKey {
		for i, n := range names {
			if n == k {
				out = append(out, i)
			}
		}
	}
	if len(out) != len(t.PrimaryKey) {
		return nil
	}
	return out
}

func orderBy(positions []int, prefix string) string {
	if len(positions) == 0 {
		return ""
	}
	parts := make([]string, len(positions))
	for i, p := range positions {
		parts[i] = prefix + strconv.Itoa(p+1)
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

// The steps that are the same in every transaction.
var (
	deferredNow    = step("SET CONSTRAINTS ALL IMMEDIATE")
	rollback       = step("ROLLBACK")
	commit         = step("COMMIT")
	dropLocks      = step("SELECT pg_catalog.pg_advisory_unlock_all()")
	flushCounters  = step("SELECT pg_catalog.pg_stat_force_next_flush()")
	savepointFacts = step("SAVEPOINT sw_facts")
	undoFacts      = step("ROLLBACK TO SAVEPOINT sw_facts")
	savepointProbe = step("SAVEPOINT sw_probe")
	undoProbe      = step("ROLLBACK TO SAVEPOINT sw_probe")
	savepointRow   = step("SAVEPOINT sw_audit")
	releaseRow     = step("RELEASE SAVEPOINT sw_audit")
	undoRow        = step("ROLLBACK TO SAVEPOINT sw_audit")
	forget         = step("DISCARD ALL")
)

// pg15 is the first version with pg_stat_force_next_flush().
const pg15 = 150000

// closing are the segments that end a transaction without a trace: ROLLBACK stands alone behind a
// Sync, since an error would skip it; the counters are flushed so that the next preview starts at zero.
func closing(version int) []wire.Segment {
	s := []wire.Segment{{rollback, dropLocks}}
	if version >= pg15 {
		s = append(s, wire.Segment{flushCounters})
	}
	return s
}
