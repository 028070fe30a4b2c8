package plan

import (
	"fmt"
	"strings"
)

// Definition is what decided the values that one relation got when it was written: opaque hashes, one per
// aspect, in the order of aspects.
type Definition struct {
	OID  uint32 `json:"oid"`
	Name string `json:"-"` // fully qualified, quoted where needed; of the newer side in a comparison
	// Hashes are joined by dots.
	Hashes string `json:"hashes"`
	// Changed says that rows of it were changed.
	Changed bool `json:"-"`
}

// aspects word what may have changed, in the order of behaviour.sql.
var aspects = [...]string{
	"the columns of %s, their types, defaults or generated expressions, or a function in them",
	"the triggers of %s, or a function that they run",
	"the rules or policies of %s, or a function in them",
	"what the foreign keys of %s do",
}

// DefinitionsDifference says what of the relations that a plan writes is defined otherwise now, as the subject
// of a sentence ("the triggers of app.t, or a function that they run"); "" means that nothing is. Compared are
// the relations that both runs wrote to or were about to: which those are is the matter of
// [BlastRadius.Difference]. One that changes rows now and is not known from before is a difference (a partition
// that took none then), and so is not knowing anything from before.
//
// Like Difference it is asked by joining and by committing alike. See TestDefinitionsDifference,
// TestS04TheValuesAreMadeAsApproved.
func DefinitionsDifference(approved, now []Definition) string {
	if len(now) > 0 && len(approved) == 0 {
		return "how " + now[0].Name + " makes its values (nothing is known of how it did)"
	}
	was := make(map[uint32]string, len(approved))
	for _, d := range approved {
		was[d.OID] = d.Hashes
	}
	for _, d := range now {
		before, known := was[d.OID]
		switch {
		case known && before == d.Hashes, !known && !d.Changed:
			continue
		case !known:
			return fmt.Sprintf("where the rows go (%s takes some now)", d.Name)
		}
		a, b := strings.Split(before, "."), strings.Split(d.Hashes, ".")
		for i, words := range aspects {
			if i < len(a) && i < len(b) && a[i] != b[i] {
				return fmt.Sprintf(words, d.Name)
			}
		}
		return "the definition of " + d.Name
	}
	return ""
}
