package writecore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// kinSQL reads who inherits from whom: behind the locks of what is dropped, and behind the statement, whose
// locks keep others from attaching any more.
const kinSQL = "SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i ORDER BY 1, 2"

// deniesMigrations tells whether a rule may forbid one.
func (l Limits) deniesMigrations() bool {
	return slices.ContainsFunc(l.Rules, func(r toolpolicy.Rule) bool {
		return r.Deny && (len(r.Operations) == 0 || slices.Contains(r.Operations, toolpolicy.Migration))
	})
}

// migrated holds the rules that deny against what a migration went down to: a table below one that the text
// writes counts as changed when the statement took a lock on it that no reading or writing of rows takes
// (manual, 13.3.1), every table or view that is gone was dropped, and one that lost a part of itself (CASCADE takes
// columns, defaults, constraints and triggers of any table) was changed. What the text names, [Limits.before] has
// judged. See TestMigrationsReachDescendants and TestMigrationsTakeAlong.
func (l Limits) migrated(st *sqlguard.Statement, sc *script, reply wire.Reply) error {
	if !l.deniesMigrations() {
		return nil
	}
	get := func(name string) wire.Result { r, _ := sc.Result(reply, name); return r }
	before, after := relsOf(get("relations")), relsOf(get("relations after"))
	family := familyOf(before, after, get("kin"), get("kin after"))
	written := map[int64]bool{}
	for _, t := range st.DDL().Writes {
		written[int64(t.OID)] = true
		if table := before[int64(t.OID)].table; table != 0 { // of an index
			written[table] = true
		}
	}
	strong := map[int64]bool{}
	locks := get("locks")
	for i := range locks.Rows {
		oid, _ := strconv.ParseInt(cell(locks, i, 0), 10, 64)
		strong[oid] = strong[oid] || lockRank[cell(locks, i, 1)] >= lockRank["ShareUpdateExclusiveLock"]
	}
	lost := losers(get)
	for _, oid := range sortedOIDs(family.rels) {
		above := family.above(oid)
		_, stays := after[oid]
		changed := lost[oid] || strong[oid] && slices.ContainsFunc(above, func(a int64) bool { return written[a] })
		if kind := kindNames[family.rels[oid].kind]; written[oid] || !changed && stays || kind == "index" || kind == "sequence" || kind == "type" {
			continue
		}
		if n, r := l.Rules.For(toolpolicy.Migration, family.names(append([]int64{oid}, above...))...); r != nil && r.Deny {
			return refusal.New(refusal.RuleDenied,
				fmt.Sprintf("Rule %d does not allow migration on %s, and this one goes down to it. Nothing was changed.", n, family.rels[oid].name),
				"Choose a change that stays with the table itself (ONLY, where Postgres takes it; no CASCADE) or with tables beside it, or ask the person who runs this server; no approval lifts a rule that denies.")
		}
	}
	return nil
}

// losers are the relations of which a part is gone: a column, or what objects.sql lists and is not made anew.
func losers(get func(string) wire.Result) map[int64]bool {
	out := map[int64]bool{}
	gone := func(was, is wire.Result, keys func(wire.Result, int) []string, table int) {
		still := map[string]bool{}
		for i := range is.Rows {
			for _, k := range keys(is, i) {
				still[k] = true
			}
		}
		for i := range was.Rows {
			if !slices.ContainsFunc(keys(was, i), func(k string) bool { return still[k] }) {
				oid, _ := strconv.ParseInt(cell(was, i, table), 10, 64)
				out[oid] = true
			}
		}
	}
	gone(get("objects"), get("objects after"), func(r wire.Result, i int) []string {
		return []string{cell(r, i, 0) + " " + cell(r, i, 1), cell(r, i, 0) + "=" + cell(r, i, 4)}
	}, 3)
	gone(get("columns"), get("columns after"), func(r wire.Result, i int) []string { return []string{cell(r, i, 0) + "/" + cell(r, i, 1)} }, 0)
	return out
}

// family is who inherits from whom, or is a partition of it, before a migration or after it.
type family struct {
	rels    map[int64]rel
	parents map[int64][]int64
}

func familyOf(before, after map[int64]rel, kin ...wire.Result) family {
	f := family{rels: map[int64]rel{}, parents: map[int64][]int64{}}
	for _, rels := range []map[int64]rel{after, before} { // the name that it had counts
		maps.Copy(f.rels, rels)
	}
	for _, r := range kin {
		for i := range r.Rows {
			child, _ := strconv.ParseInt(cell(r, i, 0), 10, 64)
			parent, _ := strconv.ParseInt(cell(r, i, 1), 10, 64)
			f.parents[child] = append(f.parents[child], parent)
		}
	}
	return f
}

// above are the tables that one inherits from, at any height.
func (f family) above(oid int64) []int64 {
	var out []int64
	for next := f.parents[oid]; len(next) > 0; {
		p := next[0]
		next = next[1:]
		if !slices.Contains(out, p) {
			out, next = append(out, p), append(slices.Clone(next), f.parents[p]...)
		}
	}
	return out
}

func (f family) names(oids []int64) []toolpolicy.Name {
	var out []toolpolicy.Name
	for _, oid := range oids {
		if r, ok := f.rels[oid]; ok {
			out = append(out, toolpolicy.Name{Schema: r.schema, Table: r.relation})
		}
	}
	return out
}
