package writecore

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// rel is one row of relations.sql.
type rel struct {
	oid, node, size, table, scans int64
	kind, name                    string // name is schema and relation, quoted
	schema, relation              string
}

func relsOf(r wire.Result) map[int64]rel {
	out := make(map[int64]rel, len(r.Rows))
	for i := range r.Rows {
		n := func(c int) int64 { v, _ := strconv.ParseInt(cell(r, i, c), 10, 64); return v }
		x := rel{oid: n(0), kind: cell(r, i, 1), schema: cell(r, i, 2), relation: cell(r, i, 3), node: n(4), size: n(5), table: n(6), scans: n(7)}
		x.name = sqlguard.QuoteName(x.schema, x.relation)
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

// migrationFacts reads what a migration did.
func (w *TwoPhaseWrite) migrationFacts(sc *script, reply wire.Reply, masking bool) (plan.Facts, error) {
	f := plan.Facts{Locks: []plan.Lock{}, Rewrites: []string{}, Scans: []string{}, Drops: []plan.Drop{}, Lost: []plan.Lost{}, Unreadable: []string{}, Notices: []string{}, RowsLost: map[string]int64{}}
	get := func(name string) wire.Result { r, _ := sc.Result(reply, name); return r }
	before, after := relsOf(get("relations")), relsOf(get("relations after"))

	t0, err0 := strconv.ParseFloat(cell(get("clock"), 0, 0), 64)
	t1, err1 := strconv.ParseFloat(cell(get("clock after"), 0, 0), 64)
	if err0 != nil || err1 != nil {
		return f, fmt.Errorf("reading the clock of a rehearsal")
	}
	f.DurationMS = float64(int64((t1-t0)*1000)) / 1000

	f.Locks = strongestLocks(get("locks"), before, f.DurationMS)
	anew := madeAnew(before, after)
	for _, oid := range sortedOIDs(before) {
		b := before[oid]
		a, still := after[oid]
		switch {
		case !still && anew[b.kind+b.name] != 0: // with the old file where the values may stay as they are
			if anew[b.kind+b.name] != b.node {
				f.Rewrites = append(f.Rewrites, b.name)
			}
		case !still && b.table != 0 && gone(before, after, b.table):
			// An index that goes with its table needs no line of its own.
		case !still:
			f.Drops = append(f.Drops, plan.Drop{Type: kindNames[b.kind], Name: b.name})
		case a.scans > b.scans && a.node == b.node:
			f.Scans = append(f.Scans, b.name)
		case a.node != b.node && (b.kind == "r" || b.kind == "m" || b.kind == "i"):
			f.Rewrites = append(f.Rewrites, b.name)
		}
		f.SizeBytes += b.size
	}
	f.Drops = append(f.Drops, droppedObjects(get("objects"), get("objects after"), before, after, goneColumns(get("columns"), get("columns after")))...)
	f.Drops = append(f.Drops, droppedColumns(get("columns"), get("columns after"), before, after)...)
	values := get("values")
	for i := range values.Rows {
		n, _ := strconv.ParseInt(cell(values, i, 2), 10, 64)
		if cell(values, i, 1) == "*" {
			f.RowsLost[cell(values, i, 0)] = n
			continue
		}
		f.Lost = append(f.Lost, plan.Lost{Relation: cell(values, i, 0), Column: cell(values, i, 1), NonNullValues: n})
	}
	unreadable := get("unreadable")
	if w.o.ReadonlyRole != "" {
		for i := range unreadable.Rows {
			f.Unreadable = append(f.Unreadable, sqlguard.QuoteName(cell(unreadable, i, 1), cell(unreadable, i, 2)))
		}
	}
	for _, n := range reply.Notices {
		if masking { // see wire.MaskedSentence; drops has the objects
			f.Notices = append(f.Notices, wire.MaskedSentence(n.Message))
			continue
		}
		f.Notices = append(f.Notices, n.Message)
		for line := range strings.SplitSeq(n.Detail, "\n") {
			if line != "" {
				f.Notices = append(f.Notices, line)
			}
		}
	}
	return f, nil
}

// madeAnew are the files of indexes that ALTER COLUMN TYPE drops and makes again under their names.
func madeAnew(before, after map[int64]rel) map[string]int64 {
	out := map[string]int64{}
	for oid, a := range after {
		if _, had := before[oid]; !had && (a.kind == "i" || a.kind == "I") {
			out[a.kind+a.name] = a.node
		}
	}
	return out
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
		mode := cell(locks, i, 1)
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

// goneColumns are "table.column" by numbers: what belongs to such a column needs no line of its own.
func goneColumns(was, is wire.Result) map[string]bool {
	out := map[string]bool{}
	for i := range was.Rows {
		out[cell(was, i, 0)+"."+cell(was, i, 1)] = true
	}
	for i := range is.Rows {
		delete(out, cell(is, i, 0)+"."+cell(is, i, 1))
	}
	return out
}

func droppedObjects(was, is wire.Result, before, after map[int64]rel, columns map[string]bool) []plan.Drop {
	still := map[string]bool{}
	for i := range is.Rows {
		still[cell(is, i, 0)+" "+cell(is, i, 1)], still[cell(is, i, 0)+"="+cell(is, i, 4)] = true, true
	}
	var out []plan.Drop
	for i := range was.Rows {
		table, _ := strconv.ParseInt(cell(was, i, 3), 10, 64)
		if still[cell(was, i, 0)+" "+cell(was, i, 1)] || still[cell(was, i, 0)+"="+cell(was, i, 4)] || gone(before, after, table) ||
			cell(was, i, 0) == "default" && columns[cell(was, i, 4)] { // what goes with its table needs no line of its own
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
		if l.NonNullValues < 0 {
			warn(plan.WarnDataLost, "The values of the column %s of %s are lost; the table is too large to count them.", sqlguard.QuoteIdent(l.Column), l.Relation)
		}
		if l.NonNullValues > 0 {
			warn(plan.WarnDataLost, "%s values of the column %s of %s are lost.", digits(l.NonNullValues), sqlguard.QuoteIdent(l.Column), l.Relation)
		}
	}
	for _, d := range f.Drops {
		if !namedByText(st, d) {
			warn(plan.WarnCascadeDrops, "The %s %s is dropped with it.", d.Type, d.Name)
		}
		n, counted := f.RowsLost[d.Name]
		switch {
		case counted && n > maxCounted:
			warn(plan.WarnDataLost, "The %s %s is dropped with more than %s rows.", d.Type, d.Name, digits(maxCounted))
		case counted && n > 0:
			warn(plan.WarnDataLost, "The %s %s is dropped with its %s rows.", d.Type, d.Name, digits(n))
		case d.Type == "column" && !namedByText(st, d):
			warn(plan.WarnDataLost, "The column %s is dropped with all its values.", d.Name)
		case !counted && (d.Type == "table" || d.Type == "materialized view"):
			warn(plan.WarnDataLost, "The %s %s is dropped with all its rows.", d.Type, d.Name)
		}
	}
	out = append(out, switched(sc, reply)...)
	out = append(out, advice(st, f, sc, reply)...)
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
	before, _ := sc.Result(reply, "relations")
	old := relsOf(before)
	locks, _ := sc.Result(reply, "locks")
	seen := map[string]bool{}
	var out []plan.Warning
	for i := range locks.Rows {
		oid, _ := strconv.ParseInt(cell(locks, i, 0), 10, 64)
		b, known := old[oid]
		if !known || named[cell(locks, i, 0)] || seen[b.name] || b.kind == "i" || b.kind == "I" ||
			lockRank[cell(locks, i, 1)] < lockRank["ShareUpdateExclusiveLock"] || w.o.CanWrite(b.schema, b.relation) {
			continue
		}
		seen[b.name] = true
		out = append(out, plan.Warning{Code: plan.WarnIndirectTable, Message: b.name + " is not on the write allowlist; the migration reaches it."})
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

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
