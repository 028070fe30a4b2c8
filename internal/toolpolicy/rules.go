package toolpolicy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Operation is what a change does to a table.
type Operation string

// The operations. A migration counts for every existing table that it changes or drops.
const (
	Insert    Operation = "insert"
	Update    Operation = "update"
	Delete    Operation = "delete"
	Migration Operation = "migration"
)

// Operations are all of them.
func Operations() []Operation { return []Operation{Insert, Update, Delete, Migration} }

// Rule is what a person wants beyond the thresholds for some tables.
type Rule struct {
	Tables     []Pattern
	Operations []Operation // empty = all
	// AlwaysAsk: a person decides, however few the rows.
	AlwaysAsk bool
	// ApprovalAbove and HardMax are the thresholds for rows of these tables; nil = the general ones.
	ApprovalAbove, HardMax *int64
	// Deny: not at all.
	Deny bool
	// ReadonlyColumns may not be set; each of WhereColumns must be restricted by the where.
	ReadonlyColumns, WhereColumns []string
}

// Rules are tried in order; the first that matches a table and an operation counts, and no other.
type Rules []Rule

// Name is a table as Postgres spells it.
type Name struct{ Schema, Table string }

// For finds the rule for an operation on a table, nil without one. names are the table's own and those of all
// it inherits from or is a partition of: a rule for any of these is one for the table. number counts from 1,
// as people do.
func (rs Rules) For(op Operation, names ...Name) (number int, rule *Rule) {
	for i := range rs {
		r := &rs[i]
		if len(r.Operations) > 0 && !slices.Contains(r.Operations, op) {
			continue
		}
		if slices.ContainsFunc(r.Tables, func(p Pattern) bool {
			return slices.ContainsFunc(names, func(n Name) bool { return p.Matches(n.Schema, n.Table) })
		}) {
			return i + 1, r
		}
	}
	return 0, nil
}

// Pattern names tables: schema.table, where * stands for any run of characters outside quotes. Names are
// compared as Postgres resolves them: what is not quoted is folded to lower case (manual, 4.1.1).
type Pattern struct{ schema, table string }

// ParsePattern reads app.payments, app.*, *.secrets, app."Order Items".
func ParsePattern(text string) (Pattern, error) {
	parts, err := nameParts(text)
	if err != nil {
		return Pattern{}, err
	}
	if len(parts) != 2 {
		return Pattern{}, fmt.Errorf("%q is not schema.table", text)
	}
	return Pattern{parts[0], parts[1]}, nil
}

// Matches tells whether a table, as Postgres spells it, is meant.
func (p Pattern) Matches(schema, table string) bool {
	return matches(p.schema, schema) && matches(p.table, table)
}

func matches(pattern, name string) bool {
	// No name holds a slash that counts: path.Match would stop * there.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return err == nil && ok
}

// nameParts splits at dots outside quotes. What is quoted is taken literally, * and all.
func nameParts(text string) ([]string, error) {
	var parts []string
	var b strings.Builder
	quoted := false
	bad := func() ([]string, error) { return nil, fmt.Errorf("%q is not a name of the form schema.table", text) }
	literal := func(r rune) {
		if strings.ContainsRune(`*?[]\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	runes := []rune(strings.TrimSpace(text))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quoted && r == '"' && i+1 < len(runes) && runes[i+1] == '"':
			b.WriteRune('"')
			i++
		case r == '"':
			if !quoted && b.Len() > 0 {
				return bad()
			}
			quoted = !quoted
			if !quoted && i+1 < len(runes) && runes[i+1] != '.' {
				return bad()
			}
		case quoted:
			literal(r)
		case r == '.':
			if b.Len() == 0 {
				return bad()
			}
			parts = append(parts, b.String())
			b.Reset()
		case r == '*':
			b.WriteRune(r)
		case strings.ContainsRune(" \t\n?[]\\", r):
			return bad()
		default:
			for _, lower := range strings.ToLower(string(r)) {
				b.WriteRune(lower)
			}
		}
	}
	if quoted || b.Len() == 0 {
		return bad()
	}
	return append(parts, b.String()), nil
}
