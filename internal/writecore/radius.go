package writecore

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// effect is one row of effects.sql.
type effect struct {
	oid, root               uint32
	exclusive, remade       bool
	kind, persistence       string
	schema, name            string
	rootSchema, rootName    string
	inserted, updated, gone int64
	estimate                *int64
	byKey                   bool
	triggersOn              string
	behaviour               string
	above                   []string // what the relation itself inherits from or is a partition of, quoted where needed
	under                   []string // the same of its root
}

// dropped is the kind of the row that tells of relations that are gone: how many rows of pg_class were made and
// deleted, and how many of the former can only be indexes that are still there.
const dropped = "-"

func effectsOf(r wire.Result) ([]effect, error) {
	out := make([]effect, 0, len(r.Rows))
	for _, row := range r.Rows {
		if len(row) != 18 {
			return nil, fmt.Errorf("reading the effects: %d columns, want 18", len(row))
		}
		var e effect
		var err error
		num := func(i int) int64 {
			n, e := strconv.ParseInt(string(row[i]), 10, 64)
			if e != nil && err == nil {
				err = fmt.Errorf("reading the effects: column %d: %w", i, e)
			}
			return n
		}
		e.oid, e.root = uint32(num(0)), uint32(num(6)) //nolint:gosec // OIDs are 32 bits wide (manual, 8.19)
		e.exclusive = string(row[1]) == "t"
		e.remade = string(row[17]) == "t"
		e.kind, e.persistence = string(row[2]), string(row[3])
		e.schema, e.name = string(row[4]), string(row[5])
		e.rootSchema, e.rootName = string(row[7]), string(row[8])
		e.inserted, e.updated, e.gone = num(9), num(10), num(11)
		if row[12] != nil {
			n := num(12)
			e.estimate = &n
		}
		e.byKey = string(row[13]) == "t"
		e.triggersOn, e.behaviour = string(row[14]), string(row[15])
		if row[16] != nil && err == nil {
			err = json.Unmarshal(row[16], &e.above)
		}
		if e.root == e.oid { // the root of partitions inherits from nothing (manual, 5.12.2.3)
			e.under = e.above
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// definitionsOf are the definitions of the relations that were written to, or that the statement was about to
// write to, read behind the run: what was there before it and what came during it is in them.
//
// Under REPEATABLE READ (needsSnapshot) they are as of the transaction's snapshot, while Postgres runs what is
// there when it runs. The target is locked before there is a snapshot (lockFirst), of functions the text is
// read as it is now (behaviour.sql), and at execute the other relations are read again by another connection (look).
func definitionsOf(effects []effect) []plan.Definition {
	var out []plan.Definition
	for _, e := range effects {
		if e.behaviour != "" {
			out = append(out, plan.Definition{OID: e.oid, Name: sqlguard.QuoteName(e.schema, e.name), Hashes: e.behaviour, Changed: e.inserted+e.updated+e.gone > 0})
		}
	}
	return out
}

// behaviours reads the definitions again without running anything.
func behaviours(of []plan.Definition) wire.Step {
	oids := make([]uint32, len(of))
	for i, d := range of {
		oids[i] = d.OID
	}
	return wire.Step{SQL: behavioursSQL, Params: [][]byte{wire.OIDArray(oids)}}
}

// definitionsIn are the definitions that [behaviours] read.
func definitionsIn(r wire.Result) []plan.Definition {
	out := make([]plan.Definition, 0, len(r.Rows))
	for i := range r.Rows {
		oid, _ := strconv.ParseUint(cell(r, i, 0), 10, 32)
		out = append(out, plan.Definition{OID: uint32(oid), Name: sqlguard.QuoteName(cell(r, i, 1), cell(r, i, 2)), Hashes: cell(r, i, 3)})
	}
	return out
}

// baselineOf reads baseline.sql: counters that were pending before the transaction, by OID.
func baselineOf(r wire.Result) map[uint32][3]int64 {
	out := map[uint32][3]int64{}
	for _, row := range r.Rows {
		if len(row) != 4 {
			continue
		}
		n := [4]int64{}
		for i := range n {
			n[i], _ = strconv.ParseInt(string(row[i]), 10, 64)
		}
		out[uint32(n[0])] = [3]int64{n[1], n[2], n[3]} //nolint:gosec // OIDs are 32 bits wide (manual, 8.19)
	}
	return out
}

// foldIntoTarget makes a target that is itself a partition the root of what lies below it: what the
// statement names is what is shown, not the table above it.
func foldIntoTarget(st *sqlguard.Statement, effects []effect) []effect {
	target := st.Target()
	above := uint32(0)
	for _, e := range effects {
		if e.oid == target.OID && e.root != target.OID {
			above = e.root
		}
	}
	if above == 0 {
		return effects
	}
	out := slices.Clone(effects)
	for i, e := range out {
		if e.root == above && (e.oid == target.OID || target.Kind == 'p' && slices.Contains(st.LockClosure(), e.oid)) {
			out[i].root, out[i].rootSchema, out[i].rootName, out[i].estimate = target.OID, target.Schema, target.Name, target.RowsEstimate
			out[i].under = namesOf(target.Ancestors(target.OID))
		}
	}
	return out
}

func namesOf(targets []sqlguard.Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.String())
	}
	return out
}

// radius folds effects into the blast radius: partitions into their root, the target first, then by
// count. affected is what came back from RETURNING; tracked is the track_counts setting.
// It also returns the changed tables, other than the target, as (schema, name).
func radius(st *sqlguard.Statement, effects []effect, base map[uint32][3]int64, affected int64, tracked bool) (plan.BlastRadius, []sqlguard.Target) {
	target := st.Target()
	named := map[uint32]bool{}
	for _, t := range st.Relations() {
		named[t.OID] = true
	}
	byRoot := map[uint32]*plan.Table{}
	targets := map[uint32]sqlguard.Target{}
	unknown := map[string]bool{}
	effects = foldIntoTarget(st, effects)
	if !tracked {
		unknown["track_counts is off"] = true
	}
	for _, e := range effects {
		b := base[e.oid]
		ins, upd, del := e.inserted-b[0], e.updated-b[1], e.gone-b[2]
		label := sqlguard.QuoteName(e.schema, e.name)
		if e.kind == dropped {
			if del+*e.estimate > ins {
				unknown["a table or another relation was dropped"] = true
			}
			continue
		}
		switch {
		case e.persistence == "t" && (e.exclusive || ins+upd+del > 0):
			unknown["the temporary table "+e.name+" was changed"] = true
		case e.exclusive:
			unknown[label+" was locked as TRUNCATE and changes of a table lock it"] = true
		case e.kind == "f":
			unknown[label+" is a foreign table"] = true
		case e.schema == "pg_catalog" && ins+upd+del > 0:
			unknown["the system catalog "+label+" changed"] = true
		}
		if ins+upd+del == 0 && e.root != target.OID {
			continue
		}
		t := byRoot[e.root]
		if t == nil {
			t = &plan.Table{OID: e.root, Name: sqlguard.QuoteName(e.rootSchema, e.rootName), Named: named[e.root], RowsEstimate: e.estimate}
			if e.persistence == "t" { // made anew in each run: it has its name only
				t.OID, t.Name = 0, sqlguard.QuoteName("pg_temp", e.rootName)
			}
			switch {
			case t.Named:
			case e.byKey:
				t.Why = "foreign key"
			case e.triggersOn != "":
				t.Why = "trigger on " + e.triggersOn
			default:
				t.Why = "unknown"
			}
			byRoot[e.root] = t
			targets[e.root] = sqlguard.Target{OID: e.root, Schema: e.rootSchema, Name: e.rootName}
		}
		if ins+upd+del > 0 {
			t.Under = e.under
		}
		t.Inserted += ins
		t.Updated += upd
		t.Deleted += del
	}
	var r plan.BlastRadius
	if t := byRoot[target.OID]; t != nil && st.Class() == sqlguard.Update {
		// A row that an UPDATE moves to another partition counts as one delete and one insert.
		if moved := affected - t.Updated; moved > 0 && t.Inserted >= moved && t.Deleted >= moved {
			t.Inserted -= moved
			t.Deleted -= moved
			t.Updated += moved
		}
	}
	for _, t := range byRoot {
		if t.Rows() == 0 && t.OID != target.OID {
			continue
		}
		r.Tables = append(r.Tables, *t)
		r.TotalRows += t.Rows()
	}
	if byRoot[target.OID] == nil && hasRowVersions(target) {
		r.Tables = append(r.Tables, plan.Table{OID: target.OID, Name: sqlguard.QuoteName(target.Schema, target.Name), Named: true, RowsEstimate: target.RowsEstimate})
	}
	sort.Slice(r.Tables, func(i, j int) bool {
		a, b := r.Tables[i], r.Tables[j]
		if (a.OID == target.OID) != (b.OID == target.OID) {
			return a.OID == target.OID
		}
		if a.Rows() != b.Rows() {
			return a.Rows() > b.Rows()
		}
		return a.Name < b.Name
	})
	for u := range unknown {
		r.Unknown = append(r.Unknown, u)
	}
	sort.Strings(r.Unknown)
	var others []sqlguard.Target
	for _, t := range r.Tables {
		if t.OID != target.OID && t.Rows() > 0 {
			others = append(others, targets[t.OID])
		}
	}
	return r, others
}
