package approvalui

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// Confirm is what has to be typed before Approve works.
type Confirm struct {
	Kind   string `json:"kind"` // none, rows, name
	Expect string `json:"expect,omitempty"`
}

// ConfirmFor is what has to be typed for a plan: the name of what is dropped, or the number of
// rows when it is more than confirmAbove.
func ConfirmFor(p plan.Preview, confirmAbove int64) Confirm {
	if p.Tool == toolMigration {
		if name := nameToType(p); name != "" {
			return Confirm{"name", name}
		}
	}
	if n := total(p); n > confirmAbove {
		return Confirm{"rows", strconv.FormatInt(n, 10)}
	}
	return Confirm{Kind: "none"}
}

// weight is how much the loss of an object of a kind weighs, the most first. Data comes before what can be
// written down again: a column that holds values weighs more than a view. What is not in the list weighs
// as much as a function.
var weight = map[string]int{
	"table": 0, "foreign table": 1, lostColumn: 2, "materialized view": 3, "view": 4, "schema": 5, "type": 6, "domain": 6,
	"sequence": 8, "column": 9, "policy": 10, "trigger": 10, "rule": 10, "constraint": 11, "default": 12, "index": 13, "statistics": 14,
}

const (
	lostColumn = "column with values"
	asFunction = 7
	// part is from where on an object is a part of a table that few know by its name.
	part = 10
)

// dropped is one thing a migration drops, as it can be asked for.
type dropped struct {
	kind, name string
}

func (d dropped) weight() int {
	if w, ok := weight[d.kind]; ok {
		return w
	}
	return asFunction
}

// nameToType is the name of the most important thing that a migration drops, "" when it drops nothing. What
// weighs the same is asked for by the name that the statement itself holds. A part of a table that the
// statement does not name (an index that goes along) is asked for by the name of the table: nobody knows it
// by its own. See TestTheMostImportantNameIsAsked.
func nameToType(p plan.Preview) string {
	f := formOf(p)
	var all []dropped
	switch kind := strings.TrimPrefix(f.deed, "drop the "); {
	case f.drops == "":
	case kind == "table", kind == "column", kind == "materialized view": // what holds data is what the sentence is about
		return f.drops
	default:
		all = append(all, dropped{kind, f.drops})
	}
	if p.Facts != nil {
		holds := map[string]bool{}
		for _, l := range p.Facts.Lost {
			switch {
			case l.Column == "":
				all = append(all, dropped{"table", l.Relation})
			case l.NonNullValues == 0:
				all = append(all, dropped{"column", l.Column})
			default: // also where they were too many to count
				all = append(all, dropped{lostColumn, l.Column})
				holds[l.Column] = true
			}
		}
		for _, d := range p.Facts.Drops {
			name := d.Name
			if d.Type == "column" || d.Type == "default" {
				name = lastPart(name)
			}
			all = append(all, dropped{d.Type, name})
		}
		for i, d := range all { // the form and the drops do not say whether there are values
			if d.kind == "column" && holds[d.name] {
				all[i].kind = lostColumn
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	said := map[string]bool{}
	for _, l := range scan(p.Payload.Statement) {
		said[l.text] = true
	}
	best := slices.MinFunc(all, func(a, b dropped) int {
		if a.weight() != b.weight() {
			return a.weight() - b.weight()
		}
		if x, y := said[lastName(a.name)], said[lastName(b.name)]; x != y {
			if x {
				return -1
			}
			return 1
		}
		return 0
	})
	if best.weight() >= part && !said[lastName(best.name)] && p.Target != "" {
		return p.Target
	}
	return best.name
}

// lastName is the last part of a name, with or without the arguments of a function behind it.
func lastName(name string) string {
	if i := strings.IndexByte(name, '('); i > 0 && !strings.ContainsRune(name[:i], '"') {
		name = name[:i]
	}
	return lastPart(name)
}

// grouped are digits with or without separators between groups of three.
var grouped = regexp.MustCompile(`^(?:[0-9]+|[0-9]{1,3}(?:[,. '’_\x{a0}\x{202f}\x{2009}][0-9]{3})+)$`)

// Accepts says whether typed is what the card asks for.
func (c Confirm) Accepts(typed string) bool {
	switch c.Kind {
	case "none":
		return true
	case "name":
		return strings.TrimSpace(typed) == strings.TrimSpace(c.Expect)
	case "rows":
		typed = strings.TrimSpace(typed)
		if !grouped.MatchString(typed) {
			return false
		}
		only := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, typed)
		return only == c.Expect
	}
	return false
}
