package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Difference says in what now differs from the approved blast radius, as part of a sentence
// ("app.child: 40 rows when it was previewed, 41 now"); "" means that they are the same. Compared are
// the rows inserted, updated and deleted in every table, each by itself (a foreign key that set to null
// and now cascades has the same sum), and the reasons why a count is not the
// whole truth: a reason that is new, and one that is gone, is a difference. A table is the same one by
// its OID, or by its name where either side has none. No rows are the same as no entry.
//
// It is the only judge of that question: joining a plan and committing one ask it alike. See
// TestDifference, TestS04TheRowsAreThoseThatWereApproved.
func (approved BlastRadius) Difference(now BlastRadius) string {
	type key struct {
		oid  uint32
		name string
	}
	oids := make(map[string]uint32)
	for _, t := range slices.Concat(approved.Tables, now.Tables) {
		if t.OID != 0 {
			oids[t.Name] = t.OID
		}
	}
	keyOf := func(t *Table) key {
		if oid := cmp.Or(t.OID, oids[t.Name]); oid != 0 {
			return key{oid: oid}
		}
		return key{name: t.Name}
	}
	type pair struct {
		name     string
		was, are [3]int64 // inserted, updated, deleted
	}
	var order []key // the approved tables first, as the person saw them
	pairs := make(map[key]*pair)
	pairOf := func(t *Table) *pair {
		k := keyOf(t)
		p, ok := pairs[k]
		if !ok {
			p = &pair{name: t.Name}
			pairs[k] = p
			order = append(order, k)
		}
		return p
	}
	for i := range approved.Tables {
		p := pairOf(&approved.Tables[i])
		p.was = plus(p.was, &approved.Tables[i])
	}
	for i := range now.Tables {
		p := pairOf(&now.Tables[i])
		p.are = plus(p.are, &now.Tables[i])
	}
	for _, k := range order {
		p := pairs[k]
		was, are := p.was[0]+p.was[1]+p.was[2], p.are[0]+p.are[1]+p.are[2]
		if was != are {
			return fmt.Sprintf("%s: %s when it was previewed, %d now", p.name, rowCount(was), are)
		}
		if p.was != p.are {
			return fmt.Sprintf("%s: %s when it was previewed, %s now", p.name, kinds(p.was), kinds(p.are))
		}
	}
	for _, reason := range now.Unknown {
		if !slices.Contains(approved.Unknown, reason) {
			return fmt.Sprintf("what changes cannot be counted whole, for a reason that is new: %s", reason)
		}
	}
	for _, reason := range approved.Unknown {
		if !slices.Contains(now.Unknown, reason) {
			return fmt.Sprintf("a reason why what changes could not be counted whole is gone: %s", reason)
		}
	}
	if approved.TotalRows != now.TotalRows {
		return fmt.Sprintf("%s in all when it was previewed, %d now", rowCount(approved.TotalRows), now.TotalRows)
	}
	return ""
}

func plus(c [3]int64, t *Table) [3]int64 {
	return [3]int64{c[0] + t.Inserted, c[1] + t.Updated, c[2] + t.Deleted}
}

// kinds says what happened to rows, e.g. "2 updated, 1 deleted".
func kinds(c [3]int64) string {
	var parts []string
	for i, word := range []string{"inserted", "updated", "deleted"} {
		if c[i] != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[i], word))
		}
	}
	return strings.Join(parts, ", ")
}
