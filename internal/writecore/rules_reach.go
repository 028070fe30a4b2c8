package writecore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/sqlguard"
	"github.com/jpka/sw-postgres-mcp/internal/toolpolicy"
	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// reached is one relation in which rows changed, by itself: the blast radius counts partitions with their root.
// What a rule says of a single partition or heir is held against these, whatever table the statement named and
// however it came there: Postgres counts a row where it lies. See TestRulesOfDescendants.
type reached struct {
	name  string
	names []toolpolicy.Name // the relation, then what it inherits from or is a partition of
	root  string            // the table that the blast radius counts it with; itself where it is none's partition
	// below says that what the statement names stands above it, directly or as a view.
	below                      bool
	inserted, updated, deleted int64
	// unseen says that its counters do not tell what happened: any operation may have.
	unseen bool
}

// reachedBy are the relations that effects tell of, apart from the target itself. base and tracked are those of
// [radius].
func reachedBy(st *sqlguard.Statement, effects []effect, base map[uint32][3]int64, tracked bool) []reached {
	target := st.Target()
	named := map[toolpolicy.Name]bool{{Schema: target.Schema, Table: target.Name}: true}
	for _, t := range target.Below {
		named[toolpolicy.Name{Schema: t.Schema, Table: t.Name}] = target.Kind == 'v'
	}
	var out []reached
	for _, e := range foldIntoTarget(st, effects) {
		if e.oid == target.OID || e.persistence == "t" || !strings.Contains("rpf", e.kind) {
			continue
		}
		b := base[e.oid]
		r := reached{
			name: sqlguard.QuoteName(e.schema, e.name), root: sqlguard.QuoteName(e.rootSchema, e.rootName),
			inserted: e.inserted - b[0], updated: e.updated - b[1], deleted: e.gone - b[2],
			unseen: e.remade || e.kind == "f" || !tracked,
		}
		if r.inserted+r.updated+r.deleted == 0 && !r.unseen {
			continue
		}
		r.names = append([]toolpolicy.Name{{Schema: e.schema, Table: e.name}}, namesIn(e.above)...)
		r.below = slices.ContainsFunc(r.names[1:], func(n toolpolicy.Name) bool { return named[n] })
		out = append(out, r)
	}
	return out
}

// namesIn reads names of our own making.
func namesIn(texts []string) []toolpolicy.Name {
	var out []toolpolicy.Name
	for _, text := range texts {
		if n, err := sqlguard.ParseName(text); err == nil {
			out = append(out, toolpolicy.Name{Schema: n.Schema, Table: n.Name})
		}
	}
	return out
}

// done is what may have been done to its rows, with how many, each row once for each rule. moving says that rows
// went from one partition to another: to Postgres that is a DELETE and an INSERT, to whoever wrote the rule an
// UPDATE as well.
func (r reached) done(rules toolpolicy.Rules, moving bool) map[toolpolicy.Operation]int64 {
	out := map[toolpolicy.Operation]int64{toolpolicy.Insert: r.inserted, toolpolicy.Update: r.updated, toolpolicy.Delete: r.deleted}
	may := func(op toolpolicy.Operation) bool { return r.unseen || out[op] > 0 }
	possible := map[toolpolicy.Operation]bool{toolpolicy.Insert: may(toolpolicy.Insert), toolpolicy.Update: may(toolpolicy.Update), toolpolicy.Delete: may(toolpolicy.Delete)}
	if moving {
		of, _ := rules.For(toolpolicy.Update, r.names...)
		for _, op := range []toolpolicy.Operation{toolpolicy.Insert, toolpolicy.Delete} {
			possible[toolpolicy.Update] = possible[toolpolicy.Update] || out[op] > 0
			if n, _ := rules.For(op, r.names...); n != of {
				out[toolpolicy.Update] += out[op]
			}
		}
	}
	maps.DeleteFunc(out, func(op toolpolicy.Operation, _ int64) bool { return !possible[op] })
	return out
}

// moved are the roots between whose partitions rows may have been moved.
func moved(all []reached) map[string]bool {
	in, gone := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		in[r.root] = in[r.root] || r.inserted > 0
		gone[r.root] = gone[r.root] || r.deleted > 0
	}
	maps.DeleteFunc(in, func(root string, _ bool) bool { return !gone[root] || !in[root] })
	return in
}

// single adds what rules say of single partitions and heirs to what they say of the tables above them: it
// forbids, asks and caps more, and never less. See TestRulesOfDescendants.
func (l Limits) single(m Measured, out *ruled) {
	moving := moved(m.reached)
	type share struct {
		root   string
		number int
	}
	var order []share
	rows := map[share]int64{}
	tables := map[share][]string{}
	for _, r := range m.reached {
		above := namesOfRoot(m, r)
		done := r.done(l.Rules, moving[r.root])
		for _, op := range slices.Sorted(maps.Keys(done)) {
			number, rule := l.Rules.For(op, r.names...)
			if rule == nil {
				continue
			}
			if rule.Deny {
				out.refusal = deniedBelow(number, r, op)
				return
			}
			if n, _ := l.Rules.For(op, above...); n == number || r.name == r.root || done[op] == 0 {
				continue // held with the table that counts the rows
			}
			s := share{r.root, number}
			if rows[s] += done[op]; !slices.Contains(order, s) {
				order = append(order, s)
			}
			if !slices.Contains(tables[s], r.name) {
				tables[s] = append(tables[s], r.name)
			}
		}
		if err := l.columnsBelow(m, r); err != nil {
			out.refusal = err
			return
		}
	}
	for _, s := range order {
		own := out.own
		out.apply(s.number, l.Rules[s.number-1], listed(tables[s]), rows[s], m.Radius)
		out.own = own // the general threshold holds as well
	}
}

// namesOfRoot are the names under which the rows of r are counted.
func namesOfRoot(m Measured, r reached) []toolpolicy.Name {
	for _, t := range m.Radius.Tables {
		if t.Name == r.root {
			return namesIn(append([]string{t.Name}, t.Under...))
		}
	}
	return namesIn([]string{r.root})
}

// columnsBelow holds the two lists of columns of a rule for r against a statement that names a table above it.
func (l Limits) columnsBelow(m Measured, r reached) error {
	op := operationOf(m.Class)
	if !r.below || m.text == nil {
		return nil
	}
	number, rule := l.Rules.For(op, r.names...)
	if rule == nil {
		return nil
	}
	if m.text.Target().Kind == 'v' && (len(rule.ReadonlyColumns) > 0 || op != toolpolicy.Insert && len(rule.WhereColumns) > 0) {
		return columnsOfView(number, r.name, m.Target)
	}
	return columnsHeld(number, rule, m.text, r.name)
}

func deniedBelow(number int, r reached, op toolpolicy.Operation) *refusal.Error {
	if !r.below {
		return denied(number, r.name, op)
	}
	return refusal.New(refusal.RuleDenied,
		fmt.Sprintf("Rule %d does not allow %s on %s, which the statement reaches through a table above it. Nothing was changed.", number, op, r.name),
		"Leave the rows of that table out by the where, or name a table beside it that may be changed; no approval lifts a rule that denies.")
}

// listed names a few tables.
func listed(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// again holds today's rules against what the open transaction did: a partition may have come since the preview,
// and a plan of the journal was previewed under other rules. See TestDescendantsAreHeldAtExecute.
func (l Limits) again(m Measured, p plan.Plan) error {
	r := l.rule(m)
	if r.refusal != nil {
		return r.refusal
	}
	if len(r.why) > 0 && p.Decision == nil {
		return rowsetChanged("a person must decide about them now (" + strings.Join(r.why, ", and ") + ")")
	}
	return nil
}
