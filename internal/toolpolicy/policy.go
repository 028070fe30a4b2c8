// Package toolpolicy decides which tools a session sees.
//
// It guarantees that the same words mean the same wherever they are written (SW_TOOLS, --tools, the
// configuration), that what is not understood is an error and never dropped, and that a tool nobody has
// classified is shown by nothing but its own name. It is pure: no environment, no files, no output.
//
// # Words
//
// A spec is words separated by commas or white space, applied from left to right:
//
//	default, all        every classified tool; the base that is meant when no other is written
//	none                no tool
//	readonly            the tier read
//	read, write, ddl    a tier; -write takes it away
//	schema, query, rows, migrations, plans   a group; -rows takes it away
//	insert_rows …       a tool; -delete_rows takes it away
//
// A base forgets what was written before it. A tool's own word counts more than its group's, a group's
// more than its tier's; among words of one kind the last one counts. Tools' names alone, none taken away,
// are an exact list: nothing else is shown. A word that is a tool and a group (query) is the tool;
// group:query is the group, and tool: and tier: work in the same way.
package toolpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

// Policy tells for each tool whether it is shown, and why. The zero value shows every classified tool.
type Policy struct {
	base   base
	tiers  map[Tier]bool
	groups map[Group]bool
	tools  map[string]bool
	exact  bool
}

type base int

const (
	baseDefault base = iota
	baseNone
	baseReadonly
)

var bases = map[string]base{"default": baseDefault, "all": baseDefault, "none": baseNone, "readonly": baseReadonly}

// Default shows every classified tool.
func Default() Policy { return Policy{} }

// Parse reads a spec. Nothing written is the default. The error names the first word that is not
// understood, with the nearest that would be.
func Parse(spec string) (Policy, error) {
	var p Policy
	names := true
	words := split(spec)
	for _, w := range words {
		kind, name, on, err := read(w)
		if err != nil {
			return Policy{}, err
		}
		names = names && kind == isTool && on
		p.apply(kind, name, on)
	}
	if names && len(words) > 0 {
		p.base, p.exact = baseNone, true
	}
	return p, nil
}

// Exact reads a list of tools' names: what SW_ALLOWED_TOOLS holds. Anything else in it is an error.
func Exact(list string) (Policy, error) {
	p := Policy{base: baseNone, exact: true}
	for _, w := range split(list) {
		kind, name, on, err := read(w)
		if err != nil {
			return Policy{}, err
		}
		if kind != isTool || !on {
			return Policy{}, fmt.Errorf("%q is no tool's name; this list takes names of tools only (%s)", w, strings.Join(toolNames(), ", "))
		}
		p.apply(kind, name, true)
	}
	return p, nil
}

func split(spec string) []string {
	return strings.FieldsFunc(spec, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
}

type kind int

const (
	isBase kind = iota
	isTier
	isGroup
	isTool
)

// read says what a word is.
func read(word string) (k kind, name string, on bool, err error) {
	name, on = word, true
	if rest, ok := strings.CutPrefix(word, "-"); ok {
		name, on = rest, false
	}
	if prefix, rest, ok := strings.Cut(name, ":"); ok {
		for _, c := range []struct {
			prefix string
			kind   kind
			known  []string
		}{{"tool", isTool, toolNames()}, {"group", isGroup, groupNames()}, {"tier", isTier, tierNames()}} {
			if prefix == c.prefix && slices.Contains(c.known, rest) {
				return c.kind, rest, on, nil
			}
		}
		return 0, "", false, unknown(word, name)
	}
	switch {
	case slices.Contains(toolNames(), name):
		return isTool, name, on, nil
	case slices.Contains(groupNames(), name):
		return isGroup, name, on, nil
	case slices.Contains(tierNames(), name):
		return isTier, name, on, nil
	}
	if _, ok := bases[name]; ok {
		if !on {
			return 0, "", false, fmt.Errorf("%q takes nothing away: %s is where a list begins; write none, or take away tiers, groups or tools", word, name)
		}
		return isBase, name, true, nil
	}
	return 0, "", false, unknown(word, name)
}

func unknown(word, name string) error {
	all := slices.Concat(toolNames(), groupNames(), tierNames(), []string{"default", "all", "none", "readonly"})
	if near := strictjson.Nearest(name, all); near != "" {
		return fmt.Errorf("%q is neither a tool, a group nor a tier; did you mean %q?", word, strings.TrimSuffix(word, name)+near)
	}
	return fmt.Errorf("%q is neither a tool, a group nor a tier (tools: %s; groups: %s; tiers: %s; to begin with: default, none, readonly)",
		word, strings.Join(toolNames(), ", "), strings.Join(groupNames(), ", "), strings.Join(tierNames(), ", "))
}

func (p *Policy) apply(k kind, name string, on bool) {
	switch k {
	case isBase:
		*p = Policy{base: bases[name]}
	case isTier:
		set(&p.tiers, Tier(name), on)
	case isGroup:
		set(&p.groups, Group(name), on)
	case isTool:
		set(&p.tools, name, on)
	}
}

func set[K comparable](m *map[K]bool, key K, on bool) {
	if *m == nil {
		*m = map[K]bool{}
	}
	(*m)[key] = on
}

// Shows tells whether a tool is shown, and which word (or the lack of one) decided it.
func (p Policy) Shows(tool string) (shown bool, why string) {
	if on, ok := p.tools[tool]; ok {
		return on, decided(on, "the tool itself")
	}
	if p.exact {
		return false, "it is not in the list of tools"
	}
	r := Of(tool)
	if r.Tier == Unclassified {
		return false, "it is not classified; only its own name shows it"
	}
	if on, ok := p.groups[r.Group]; ok {
		return on, decided(on, "the group "+string(r.Group))
	}
	if on, ok := p.tiers[r.Tier]; ok {
		return on, decided(on, "the tier "+string(r.Tier))
	}
	switch p.base {
	case baseNone:
		return false, "the list begins with none"
	case baseReadonly:
		if r.Tier == Read {
			return true, "readonly shows the tier read"
		}
		return false, "readonly shows the tier read only"
	case baseDefault:
	}
	return true, "shown by default"
}

func decided(on bool, what string) string {
	if on {
		return what + " is turned on"
	}
	return what + " is turned off"
}

func toolNames() []string {
	out := make([]string, len(table))
	for i, r := range table {
		out[i] = r.Tool
	}
	return out
}

func groupNames() []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = string(g.Group)
	}
	return out
}

func tierNames() []string { return []string{string(Read), string(Write), string(DDL)} }
