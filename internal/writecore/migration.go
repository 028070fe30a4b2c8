package writecore

import (
	"context"
	_ "embed"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

//go:embed sql/relations.sql
var relationsSQL string

//go:embed sql/columns.sql
var columnsSQL string

//go:embed sql/objects.sql
var objectsSQL string

//go:embed sql/locks.sql
var locksSQL string

//go:embed sql/named.sql
var namedSQL string

//go:embed sql/definitions.sql
var definitionsSQL string

// migrationLock is the lock_timeout of a rehearsal and of a migration's execute at most: whoever
// queues for a strong lock makes everybody behind it wait.
const migrationLock = time.Second

// existing are the OIDs of the relations that a DDL statement names and that exist.
func existing(st *sqlguard.Statement) []uint32 {
	seen := map[uint32]bool{}
	var out []uint32
	d := st.DDL()
	for _, list := range [][]sqlguard.Target{d.Writes, d.Reads} {
		for _, t := range list {
			if t.OID != 0 && !seen[t.OID] {
				seen[t.OID] = true
				out = append(out, t.OID)
			}
		}
	}
	return out
}

// migrationSteps are the statement's own steps at execute. Definitions are read first: they are what
// was approved. DDL cannot stand in a CTE, so the parser stands alone before it; the transaction
// status behind it is the second look.
//
// measure, if not nil, adds steps that run as the migration's role right before the statement.
func (w *TwoPhaseWrite) migrationSteps(sc *script, st *sqlguard.Statement, m string, measure func()) {
	sc.add("lock timeout", wire.Step{
		SQL:    "SELECT pg_catalog.set_config('lock_timeout', $1::text, true)",
		Params: [][]byte{strconv.AppendInt(nil, min(migrationLock, w.o.LockTimeout).Milliseconds(), 10)},
	})
	if w.o.MigrationRole != "" {
		sc.add("role", step("SET LOCAL ROLE "+sqlguard.QuoteIdent(w.o.MigrationRole)))
	}
	sc.add("state", step(stateSQL))
	sc.add("definitions", definitions(st))
	if measure != nil {
		measure()
	}
	sc.add("run", step(st.SQL()))
	sc.add("named", wire.Step{SQL: namedSQL, Params: [][]byte{oidArray(written(st)), text(m)}})
	sc.add("deferred", deferredNow)
	sc.add("state after", step(stateSQL))
}

// definitions reads one hash per relation that the statement names.
func definitions(st *sqlguard.Statement) wire.Step {
	return wire.Step{SQL: definitionsSQL, Params: [][]byte{oidArray(existing(st))}}
}

// written are the OIDs of the existing relations that the text writes.
func written(st *sqlguard.Statement) []uint32 {
	var out []uint32
	for _, t := range st.DDL().Writes {
		if t.OID != 0 {
			out = append(out, t.OID)
		}
	}
	return out
}

func compareDefinitions(p plan.Plan, sc *script, reply wire.Reply) error {
	defs, _ := sc.result(reply, "definitions")
	if now := definitionsDigest(defs); now != p.RowsDigest {
		return refusal.New(refusal.RowsetChanged,
			"The definition of "+definitionsDifference(p.RowsDigest, defs)+" is no longer the one that was previewed. Nothing was changed.",
			"Preview the migration again.")
	}
	return nil
}

// definitionsDigest is "oid:hash oid:hash …".
func definitionsDigest(r wire.Result) string {
	parts := make([]string, len(r.Rows))
	for i := range r.Rows {
		parts[i] = cell(r, i, 0) + ":" + cell(r, i, 3)
	}
	return strings.Join(parts, " ")
}

func definitionsDifference(was string, now wire.Result) string {
	had := map[string]bool{}
	for p := range strings.FieldsSeq(was) {
		had[p] = true
	}
	for i := range now.Rows {
		if !had[cell(now, i, 0)+":"+cell(now, i, 3)] {
			return sqlguard.QuoteName(cell(now, i, 1), cell(now, i, 2))
		}
	}
	return "a relation it names"
}

// previewMigration rehearses a DDL statement and measures what it did. One rehearsal at a time: it
// takes the same locks as the real run.
func (w *TwoPhaseWrite) previewMigration(ctx context.Context, s Session, st *sqlguard.Statement, pv plan.Preview) (plan.Preview, bool, error) {
	select {
	case w.ddl <- struct{}{}:
		defer func() { <-w.ddl }()
	default:
		return pv, false, refusal.New(refusal.MigrationBusy, "Another migration is being rehearsed.", "Try again in a few seconds.")
	}
	m := newMark()
	sc := script{timeout: rehearseTimeout}
	oids := oidArray(existing(st))
	sc.add("begin", begin(false))
	sc.add("settings", settings(s, w.o.PreviewLock, w.o.LockTimeout, m))
	sc.add("relations", wire.Step{SQL: relationsSQL, Params: [][]byte{oids}})
	sc.add("objects", step(objectsSQL))
	sc.add("columns", wire.Step{SQL: columnsSQL, Params: [][]byte{oids}})
	w.migrationSteps(&sc, st, m, func() {
		sc.add("values", w.valuesStep(st))
		sc.add("clock", step(clockSQL))
	})
	sc.add("clock after", step(clockSQL))
	sc.add("locks", step(locksSQL))
	sc.add("relations after", wire.Step{SQL: relationsSQL, Params: [][]byte{oids}})
	sc.add("objects after", step(objectsSQL))
	sc.add("columns after", wire.Step{SQL: columnsSQL, Params: [][]byte{oids}})
	sc.add("unreadable", w.unreadableStep())
	reply, err := w.send(ctx, s, &sc, true)
	if err != nil {
		return pv, false, err
	}
	if reply.Err != nil {
		return pv, false, w.explainFailure(ctx, st, &sc, reply, m)
	}
	if err := sameState(s, &sc, reply); err != nil {
		return pv, false, err
	}
	defs, _ := sc.result(reply, "definitions")
	pv.RowsDigest = definitionsDigest(defs)
	pv.SampleRows, pv.Changes = []plan.Row{}, []plan.Change{}
	pv.Target = migrationTarget(st)
	facts, err := w.migrationFacts(st, &sc, reply)
	if err != nil {
		return pv, false, err
	}
	pv.Facts = &facts
	pv.Warnings = w.migrationWarnings(st, facts, &sc, reply)
	d := w.o.Limits.Decide(Measured{Class: sqlguard.DDL})
	pv.Why = d.Why
	pv.Work = &work{statement: st}
	return pv, d.NeedsApproval, nil
}

const clockSQL = "SELECT extract(epoch FROM pg_catalog.clock_timestamp()) * 1000"

func migrationTarget(st *sqlguard.Statement) string {
	d := st.DDL()
	for _, list := range [][]sqlguard.Target{d.Writes, d.Creates, d.Reads} {
		if len(list) > 0 {
			return list[0].String()
		}
	}
	return ""
}

// valuesStep counts the non-null values of the columns that the text names for dropping, before the
// statement, in its transaction.
func (w *TwoPhaseWrite) valuesStep(st *sqlguard.Statement) wire.Step {
	var parts []string
	for _, d := range st.DDL().Drops {
		if d.Type != "column" {
			continue
		}
		for _, t := range st.DDL().Writes {
			if t.String() == d.Relation && (t.Kind == 'r' || t.Kind == 'p') {
				parts = append(parts, fmt.Sprintf("SELECT %s::text, %s::text, pg_catalog.count(%s) FROM %s",
					quoteLiteral(t.String()), quoteLiteral(d.Column), sqlguard.QuoteIdent(d.Column), t.String()))
			}
		}
	}
	if len(parts) == 0 {
		return step("SELECT NULL::text, NULL::text, 0::bigint WHERE false")
	}
	return step(strings.Join(parts, " UNION ALL "))
}

// quoteLiteral makes a string constant (manual, 4.1.2.1), independent of standard_conforming_strings.
func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + q
	}
	return q
}

// unreadableStep lists tables and views outside the system's schemas that the readonly role may not read.
func (w *TwoPhaseWrite) unreadableStep() wire.Step {
	return wire.Step{
		SQL: `SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
  AND EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = $1::text
    AND NOT (pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT')))
  AND pg_catalog.age(c.xmin) = 0`,
		Params: [][]byte{text(w.o.ReadonlyRole)},
	}
}

// rel is one row of relations.sql.
type rel struct {
	oid, node, size, table int64
	kind, name             string
}

func relsOf(r wire.Result) map[int64]rel {
	out := make(map[int64]rel, len(r.Rows))
	for i := range r.Rows {
		n := func(c int) int64 { v, _ := strconv.ParseInt(cell(r, i, c), 10, 64); return v }
		x := rel{oid: n(0), kind: cell(r, i, 1), name: sqlguard.QuoteName(cell(r, i, 2), cell(r, i, 3)), node: n(4), size: n(5), table: n(6)}
		out[x.oid] = x
	}
	return out
}

var kindNames = map[string]string{
	"r": "table", "p": "table", "v": "view", "m": "materialized view", "i": "index", "I": "index",
	"S": "sequence", "f": "foreign table", "c": "type",
}

// lockRank orders the table-level lock modes by strength (manual, table 13.2).
var lockRank = map[string]int{
	"AccessShareLock": 1, "RowShareLock": 2, "RowExclusiveLock": 3, "ShareUpdateExclusiveLock": 4,
	"ShareLock": 5, "ShareRowExclusiveLock": 6, "ExclusiveLock": 7, "AccessExclusiveLock": 8,
}

func (w *TwoPhaseWrite) migrationFacts(st *sqlguard.Statement, sc *script, reply wire.Reply) (plan.Facts, error) {
	f := plan.Facts{Locks: []plan.Lock{}, Rewrites: []string{}, Scans: []string{}, Drops: []plan.Drop{}, Lost: []plan.Lost{}, Unreadable: []string{}, Notices: []string{}}
	get := func(name string) wire.Result { r, _ := sc.result(reply, name); return r }
	before, after := relsOf(get("relations")), relsOf(get("relations after"))

	t0, err0 := strconv.ParseFloat(cell(get("clock"), 0, 0), 64)
	t1, err1 := strconv.ParseFloat(cell(get("clock after"), 0, 0), 64)
	if err0 != nil || err1 != nil {
		return f, fmt.Errorf("reading the clock of a rehearsal")
	}
	f.DurationMS = float64(int64((t1-t0)*1000)) / 1000

	f.Locks = strongestLocks(get("locks"), before, f.DurationMS)
	for _, oid := range sortedOIDs(before) {
		b := before[oid]
		a, still := after[oid]
		switch {
		case !still && b.table != 0 && gone(before, after, b.table):
			// An index that goes with its table needs no line of its own.
		case !still:
			f.Drops = append(f.Drops, plan.Drop{Type: kindNames[b.kind], Name: b.name})
		case a.node != b.node && (b.kind == "r" || b.kind == "m" || b.kind == "i"):
			f.Rewrites = append(f.Rewrites, b.name)
		}
		f.SizeBytes += b.size
	}
	f.Drops = append(f.Drops, droppedObjects(get("objects"), get("objects after"), before, after)...)
	f.Drops = append(f.Drops, droppedColumns(get("columns"), get("columns after"), before, after)...)
	values := get("values")
	for i := range values.Rows {
		n, _ := strconv.ParseInt(cell(values, i, 2), 10, 64)
		f.Lost = append(f.Lost, plan.Lost{Relation: cell(values, i, 0), Column: cell(values, i, 1), NonNullValues: n})
	}
	unreadable := get("unreadable")
	if w.o.ReadonlyRole != "" {
		for i := range unreadable.Rows {
			f.Unreadable = append(f.Unreadable, sqlguard.QuoteName(cell(unreadable, i, 1), cell(unreadable, i, 2)))
		}
	}
	for _, n := range reply.Notices {
		f.Notices = append(f.Notices, n.Message)
		for line := range strings.SplitSeq(n.Detail, "\n") {
			if line != "" {
				f.Notices = append(f.Notices, line)
			}
		}
	}
	return f, nil
}

func gone(before, after map[int64]rel, oid int64) bool {
	_, had := before[oid]
	_, has := after[oid]
	return had && !has
}

func sortedOIDs(m map[int64]rel) []int64 {
	out := make([]int64, 0, len(m))
	for oid := range m {
		out = append(out, oid)
	}
	sort.Slice(out, func(i, j int) bool { return m[out[i]].name < m[out[j]].name })
	return out
}

// strongestLocks keeps the strongest mode per relation that existed before, stronger than reading.
func strongestLocks(locks wire.Result, before map[int64]rel, held float64) []plan.Lock {
	best := map[string]string{}
	for i := range locks.Rows {
		oid, _ := strconv.ParseInt(cell(locks, i, 0), 10, 64)
		b, ok := before[oid]
		mode := cell(locks, i, 4)
		if !ok || b.kind == "i" || b.kind == "I" || lockRank[mode] <= lockRank["RowShareLock"] {
			continue
		}
		if lockRank[mode] > lockRank[best[b.name]] {
			best[b.name] = mode
		}
	}
	out := make([]plan.Lock, 0, len(best))
	for _, name := range sortedKeys(best) {
		out = append(out, plan.Lock{Relation: name, Mode: best[name], HeldMS: held})
	}
	return out
}

func droppedObjects(was, is wire.Result, before, after map[int64]rel) []plan.Drop {
	still := map[string]bool{}
	for i := range is.Rows {
		still[cell(is, i, 0)+cell(is, i, 1)] = true
	}
	var out []plan.Drop
	for i := range was.Rows {
		table, _ := strconv.ParseInt(cell(was, i, 3), 10, 64)
		if still[cell(was, i, 0)+cell(was, i, 1)] || gone(before, after, table) { // what goes with its table needs no line of its own
			continue
		}
		out = append(out, plan.Drop{Type: cell(was, i, 0), Name: cell(was, i, 2)})
	}
	return out
}

func droppedColumns(was, is wire.Result, before, after map[int64]rel) []plan.Drop {
	still := map[string]bool{}
	for i := range is.Rows {
		still[cell(is, i, 0)+"/"+cell(is, i, 1)] = true
	}
	var out []plan.Drop
	for i := range was.Rows {
		table, _ := strconv.ParseInt(cell(was, i, 0), 10, 64)
		if _, has := after[table]; !has || still[cell(was, i, 0)+"/"+cell(was, i, 1)] {
			continue
		}
		out = append(out, plan.Drop{Type: "column", Name: before[table].name + "." + sqlguard.QuoteIdent(cell(was, i, 2))})
	}
	return out
}

// migrationWarnings says what the facts mean.
func (w *TwoPhaseWrite) migrationWarnings(st *sqlguard.Statement, f plan.Facts, sc *script, reply wire.Reply) []plan.Warning {
	var out []plan.Warning
	warn := func(code, format string, args ...any) {
		out = append(out, plan.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	for _, l := range f.Lost {
		if l.NonNullValues > 0 {
			warn(plan.WarnDataLost, "%s values of the column %s of %s are lost.", digits(l.NonNullValues), sqlguard.QuoteIdent(l.Column), l.Relation)
		}
	}
	for _, d := range f.Drops {
		if !namedByText(st, d) {
			warn(plan.WarnCascadeDrops, "The %s %s is dropped with it.", d.Type, d.Name)
		}
		if d.Type == "table" || d.Type == "materialized view" {
			warn(plan.WarnDataLost, "The %s %s is dropped with all its rows.", d.Type, d.Name)
		}
	}
	for _, r := range f.Rewrites {
		warn(plan.WarnRewritesTable, "%s is rewritten.", r)
	}
	for _, l := range f.Locks {
		if lockRank[l.Mode] >= lockRank["ShareLock"] {
			warn(plan.WarnBlocksWrites, "%s is locked (%s) while it runs; the rehearsal took %.0f ms.", l.Relation, l.Mode, l.HeldMS)
		}
	}
	for _, u := range f.Unreadable {
		warn(plan.WarnUnreadableForReaders, "%s cannot be read by the readonly role.", u)
	}
	out = append(out, w.indirectWarnings(st, sc, reply)...)
	return out
}

// indirectWarnings names relations that the migration locked for change, that the text does not name
// and that are not on the write allowlist.
func (w *TwoPhaseWrite) indirectWarnings(st *sqlguard.Statement, sc *script, reply wire.Reply) []plan.Warning {
	named := map[string]bool{}
	for _, oid := range existing(st) {
		named[strconv.FormatUint(uint64(oid), 10)] = true
	}
	before, _ := sc.result(reply, "relations")
	old := relsOf(before)
	locks, _ := sc.result(reply, "locks")
	seen := map[string]bool{}
	var out []plan.Warning
	for i := range locks.Rows {
		oid, _ := strconv.ParseInt(cell(locks, i, 0), 10, 64)
		b, known := old[oid]
		name := sqlguard.QuoteName(cell(locks, i, 1), cell(locks, i, 2))
		if !known || named[cell(locks, i, 0)] || seen[name] || b.kind == "i" || b.kind == "I" ||
			lockRank[cell(locks, i, 4)] < lockRank["ShareUpdateExclusiveLock"] || w.o.CanWrite(cell(locks, i, 1), cell(locks, i, 2)) {
			continue
		}
		seen[name] = true
		out = append(out, plan.Warning{Code: plan.WarnIndirectTable, Message: name + " is not on the write allowlist; the migration reaches it."})
	}
	return out
}

// namedByText tells whether the statement itself names the object for dropping.
func namedByText(st *sqlguard.Statement, d plan.Drop) bool {
	for _, n := range st.DDL().Drops {
		name := n.Relation
		if n.Column != "" {
			name += "." + sqlguard.QuoteIdent(n.Column)
		}
		if name == d.Name {
			return true
		}
	}
	return false
}
