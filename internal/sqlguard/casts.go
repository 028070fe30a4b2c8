package sqlguard

import (
	"fmt"
	"slices"
	"strings"
)

// casts judges the casts of the database's own that the text may run without writing them: Postgres takes
// an implicit one wherever types do not meet, one for assignment where a column is set, an explicit one
// where its target is written (manual, CREATE CAST), and one to json wherever a value becomes JSON. There
// is no type inference here, so it is enough that both types occur: as, or inside, the type of a column,
// of a name of a type, or of an own function's argument or result. Types of the system occur always. See
// TestCastsThatNobodyWrote.
func (g *Guard) casts(f *found, v *verdict, m mode) error {
	if len(v.facts.Casts) == 0 {
		return nil
	}
	present := f.present(v)
	for _, c := range v.facts.Casts {
		if !meets(c.SourceOID, c.Sources, present) {
			continue
		}
		switch {
		case c.TargetOID == jsonOID && c.SourceOID >= firstUserType && f.makesJSON(): // json_categorize_type
		case !meets(c.TargetOID, c.Targets, present):
			continue
		case c.Context == 'i', c.Context == 'a' && m != readMode, f.writesType(c, v):
		default:
			continue
		}
		if err := g.routine(c.Routine, fmt.Sprintf("the cast from %s to %s", c.Source, c.Target), v, m); err != nil {
			return err
		}
	}
	return nil
}

const jsonOID = 114

func meets(oid uint32, holders []uint32, present map[uint32]bool) bool {
	if oid < firstUserType {
		return true
	}
	for _, h := range holders {
		if present[h] {
			return true
		}
	}
	return false
}

// present are the types that values in the text can have, apart from the system's.
func (f *found) present(v *verdict) map[uint32]bool {
	out := map[uint32]bool{}
	note := func(list []Routine) {
		for _, r := range list {
			for _, oid := range r.Types {
				out[oid] = true
			}
		}
	}
	for _, rel := range v.byName {
		for _, c := range rel.Columns {
			out[c.TypeOID] = true
		}
	}
	for _, oids := range v.facts.TypeOIDs {
		for _, oid := range oids {
			out[oid] = true
		}
	}
	for _, list := range v.facts.Functions {
		note(list)
	}
	for _, list := range v.facts.Operators {
		note(list)
	}
	for _, list := range v.facts.Types {
		note(list)
	}
	for _, list := range v.methods {
		note(list)
	}
	return out
}

// makesJSON tells that the text may turn values into JSON.
func (f *found) makesJSON() bool {
	for _, c := range f.calls {
		if strings.Contains(c.name.Name, "json") {
			return true
		}
	}
	return f.newer != ""
}

// writesType tells that the text names the cast's target, or a type that is made of it.
func (f *found) writesType(c Cast, v *verdict) bool {
	for _, n := range f.types {
		if n.Name == c.TargetName && c.TargetOID < firstUserType {
			return true
		}
	}
	for _, oids := range v.facts.TypeOIDs {
		if slices.Contains(oids, c.TargetOID) {
			return true
		}
	}
	return false
}
