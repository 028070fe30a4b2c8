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
	top   string            // what it is a partition of in the end, also where that is above the target
	// below says that what the statement names stands above it, directly or as a view.
	below                      bool
	inserted, updated, deleted int64
	// unseen says that its counters do not tell what happened: any operation may have.
	unseen bool
}

// reachedBy are the relations that effects tell of, apart from the target itself; but where even that was emptied
// or made anew, by a deferred trigger, it is one of them. base and tracked are those of
// [radius].
func reachedBy(st *sqlguard.Statement, effects []effect, base map[uint32][3]int64, tracked bool) []reached {
	target := st.Target()
	named := map[toolpolicy.Name]bool{{Schema: target.Schema, Table: target.Name}: true}
	for _, t := range target.Below {
		named[toolpolicy.Name{Schema: t.Schema, Table: t.Name}] = target.Kind == 'v'
	}
	var out []reached
	for i, e := range foldIntoTarget(st, effects) {
		if e.oid == target.OID && !e.remade || e.persistence == "t" || !strings.Contains("rpf", e.kind) {
			continue
		}
		b := base[e.oid]
		r := reached{
			name: sqlguard.QuoteName(e.schema, e.name), root: sqlguard.QuoteName(e.rootSchema, e.rootName),
			top:      sqlguard.QuoteName(effects[i].rootSchema, effects[i].rootName),
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

// done is what may have been done to its rows, with how many. Rows that came from another partition or went to one
// are to Postgres an INSERT and a DELETE, to whoever wrote the rule an UPDATE as well: came and went say whether
// they may have, and are then how many of them the rule does not count already.
func (r reached) done(rules toolpolicy.Rules, mayCome, mayGo bool) (rows map[toolpolicy.Operation]int64, came, went int64) {
	rows = map[toolpolicy.Operation]int64{toolpolicy.Insert: r.inserted, toolpolicy.Update: r.updated, toolpolicy.Delete: r.deleted}
	of, _ := rules.For(toolpolicy.Update, r.names...)
	if n, _ := rules.For(toolpolicy.Insert, r.names...); mayCome && n != of {
		came = r.inserted
	}
	if n, _ := rules.For(toolpolicy.Delete, r.names...); mayGo && n != of {
		went = r.deleted
	}
	maps.DeleteFunc(rows, func(op toolpolicy.Operation, n int64) bool {
		return n == 0 && !r.unseen && (op != toolpolicy.Update || !(mayCome && r.inserted > 0 || mayGo && r.deleted > 0))
	})
	return rows, came, went
}

// moves tells, of every relation, whether rows may have come from another partition of the same table, and whether
// some may have gone to one: what an UPDATE took away may have been on its way to one that did not take it.
func moves(m Measured) (mayCome, mayGo func(reached) bool) {
	gained, lost := map[string]int{}, map[string]int{}
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	gains := func(r reached) int { return one(r.inserted > 0 || r.unseen) }
	loses := func(r reached) int { return one(r.deleted > 0 || r.unseen) }
	for _, r := range m.reached {
		gained[r.top] += gains(r)
		lost[r.top] += loses(r)
	}
	mayCome = func(r reached) bool { return lost[r.top] > loses(r) }
	mayGo = func(r reached) bool {
		return gained[r.top] > gains(r) || m.Class == sqlguard.Update && r.below && r.top != r.name
	}
	return mayCome, mayGo
}

// held is what one rule holds of the partitions below one root.
type held struct {
	root             string
	number           int
	tables           []string
	rows, came, went int64
}

// single adds what rules say of single partitions and heirs to what they say of the tables above them: it
// forbids, asks and caps more, and never less. See TestRulesOfDescendants.
func (l Limits) single(m Measured, out *ruled) {
	mayCome, mayGo := moves(m)
	var all []*held
	for _, r := range m.reached {
		above := namesOfRoot(m, r)
		done, came, went := r.done(l.Rules, mayCome(r), mayGo(r))
		for _, op := range slices.Sorted(maps.Keys(done)) {
			number, rule := l.Rules.For(op, r.names...)
			if rule == nil {
				continue
			}
			if rule.Deny {
				out.refusal = deniedBelow(number, r, op)
				return
			}
			h := held{root: r.root, number: number, rows: done[op]}
			if op == toolpolicy.Update {
				h.came, h.went = came, went
			}
			if n, _ := l.Rules.For(op, above...); n == number || r.name == r.root {
				h.rows = 0 // held with the table that counts the rows
				if m.Class == sqlguard.Update && r.root == m.Target {
					h.came, h.went = 0, 0 // there a move is an UPDATE
				}
			}
			if h.rows+h.came+h.went > 0 {
				all = add(all, h, r.name)
			}
		}
		if _, did := done[operationOf(m.Class)]; !did {
			continue
		}
		if err := l.columnsBelow(m, r); err != nil {
			out.refusal = err
			return
		}
	}
	for _, h := range all {
		own := out.own
		out.apply(h.number, l.Rules[h.number-1], listed(h.tables), h.rows+max(h.came, h.went), m.Radius)
		out.own = own // the general threshold holds as well
	}
}

func add(all []*held, more held, table string) []*held {
	i := slices.IndexFunc(all, func(h *held) bool { return h.root == more.root && h.number == more.number })
	if i < 0 {
		i, all = len(all), append(all, &held{root: more.root, number: more.number})
	}
	h := all[i]
	h.rows, h.came, h.went = h.rows+more.rows, h.came+more.came, h.went+more.went
	if !slices.Contains(h.tables, table) {
		h.tables = append(h.tables, table)
	}
	return all
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
