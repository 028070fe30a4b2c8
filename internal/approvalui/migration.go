package approvalui

import (
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/writecore/plan"
)

// form is a recognised migration.
type form struct {
	main Text
	deed string
	done Text
	sign string
	// drops is what the statement itself drops: the name to type, as the card shows it.
	drops string
	// object is the dropped object as Facts.Drops names it, to tell it from what is taken along.
	object string
}

// sayMigration describes a DDL statement. Only a form that is recognised to its last word gets a
// sentence of its own; everything else is "Change the definition of …", and the page then opens
// the statement.
func sayMigration(p plan.Preview) Sentence {
	f := formOf(p)
	s := Sentence{Kind: "Migration", Sign: f.sign, Main: f.main, Deed: f.deed, Done: f.done}
	s.Index = trimDot(s.Main)
	s.Then = takenAlong(p, f)
	if len(p.BlastRadius.Unknown) > 0 && s.Then == nil && len(p.BlastRadius.Tables) > 0 {
		s.Then = Text{words("What else changes could not be counted.")}
	}
	return s
}

// formOf recognises the form of a migration.
func formOf(p plan.Preview) form {
	r := &reader{all: scan(p.Payload.Statement)}
	var f form
	var ok bool
	switch {
	case r.word("alter", "table"):
		f, ok = alterTable(r, p.Target)
	case r.word("drop"):
		f, ok = dropObject(r, p.Target)
	case r.word("create"):
		f, ok = create(r, p.Target)
	}
	if ok {
		if f.sign == "" {
			f.sign = "upd"
		}
		return f
	}
	f = form{sign: "upd", deed: "change the definition"}
	if dropsData(p) || len(dropsOf(p)) > 0 {
		f.sign = "del"
	}
	if p.Target == "" {
		f.main, f.done = Text{words("Change the definition of the database.")}, Text{words("changed the definition of the database")}
		return f
	}
	f.main = Text{words("Change the definition of "), code(p.Target), words(".")}
	f.done = Text{words("changed the definition of "), code(p.Target)}
	return f
}

// tableName prefers the resolved name of the target when the text names the same object.
func tableName(target, last, raw string) string {
	if lastPart(target) == last {
		return target
	}
	return raw
}

// lastPart is the last part of a qualified name, without quotes.
func lastPart(name string) string {
	all := scan(name)
	if len(all) == 0 {
		return name
	}
	return all[len(all)-1].text
}

func ifExists(r *reader) {
	if !r.word("if", "exists") {
		r.word("if", "not", "exists")
	}
}

func alterTable(r *reader, target string) (form, bool) {
	ifExists(r)
	r.word("only")
	last, raw, ok := r.name()
	if !ok || !r.oneAction() {
		return form{}, false
	}
	t := tableName(target, last, raw)
	switch {
	case r.word("drop"):
		return alterDrop(r, t)
	case r.word("add"):
		return alterAdd(r, t)
	case r.word("rename"):
		return alterRename(r, t)
	case r.word("alter"):
		return alterColumn(r, t)
	}
	return form{}, false
}

func alterDrop(r *reader, t string) (form, bool) {
	what, typ := "the column ", "column"
	if r.word("constraint") {
		what, typ = "the constraint ", "constraint"
	} else {
		r.word("column")
	}
	ifExists(r)
	name, raw, ok := r.ident()
	if !ok || !r.simpleEnd() {
		return form{}, false
	}
	return form{
		main: Text{words("Drop " + what), code(raw), words(" from "), code(t), words(".")},
		done: Text{words("dropped " + what), code(raw), words(" from "), code(t)},
		deed: "drop the " + typ, sign: "del", drops: name, object: t + "." + raw,
	}, true
}

func alterAdd(r *reader, t string) (form, bool) {
	for _, w := range []string{"primary", "unique", "check", "foreign", "exclude"} {
		if r.word(w) {
			return form{
				main: Text{words("Add a constraint to "), code(t), words(".")},
				done: Text{words("added a constraint to "), code(t)}, deed: "add the constraint",
			}, true
		}
	}
	what, typ, sign := "the column ", "column", "ins"
	if r.word("constraint") {
		what, typ, sign = "the constraint ", "constraint", "upd"
	} else {
		r.word("column")
	}
	ifExists(r)
	_, raw, ok := r.ident()
	if !ok || r.end() {
		return form{}, false
	}
	return form{
		main: Text{words("Add " + what), code(raw), words(" to "), code(t), words(".")},
		done: Text{words("added " + what), code(raw), words(" to "), code(t)}, deed: "add the " + typ, sign: sign,
	}, true
}

func alterRename(r *reader, t string) (form, bool) {
	if r.word("to") {
		_, to, ok := r.ident()
		if !ok || !r.semicolonEnd() {
			return form{}, false
		}
		return form{
			main: Text{words("Rename "), code(t), words(" to "), code(to), words(".")},
			done: Text{words("renamed "), code(t), words(" to "), code(to)}, deed: "rename the table",
		}, true
	}
	typ := "column"
	if r.word("constraint") {
		typ = "constraint"
	} else {
		r.word("column")
	}
	_, from, ok := r.ident()
	if !ok || !r.word("to") {
		return form{}, false
	}
	_, to, ok := r.ident()
	if !ok || !r.semicolonEnd() {
		return form{}, false
	}
	return form{
		main: Text{words("Rename the " + typ + " "), code(from), words(" of "), code(t), words(" to "), code(to), words(".")},
		done: Text{words("renamed the " + typ + " "), code(from), words(" of "), code(t), words(" to "), code(to)}, deed: "rename the " + typ,
	}, true
}

func alterColumn(r *reader, t string) (form, bool) {
	r.word("column")
	_, col, ok := r.ident()
	if !ok {
		return form{}, false
	}
	switch {
	case r.word("type"), r.word("set", "data", "type"):
		return form{
			main: Text{words("Change the type of the column "), code(col), words(" of "), code(t), words(".")},
			done: Text{words("changed the type of the column "), code(col), words(" of "), code(t)}, deed: "change the type",
		}, true
	case r.word("set", "not", "null"):
		return form{
			main: Text{words("No longer allow empty values in the column "), code(col), words(" of "), code(t), words(".")},
			done: Text{words("no longer allowed empty values in the column "), code(col), words(" of "), code(t)}, deed: "forbid empty values",
		}, r.semicolonEnd()
	case r.word("drop", "not", "null"):
		return form{
			main: Text{words("Allow empty values in the column "), code(col), words(" of "), code(t), words(".")},
			done: Text{words("allowed empty values in the column "), code(col), words(" of "), code(t)}, deed: "allow empty values",
		}, r.semicolonEnd()
	case r.word("set", "default"):
		return form{
			main: Text{words("Change the default of the column "), code(col), words(" of "), code(t), words(".")},
			done: Text{words("changed the default of the column "), code(col), words(" of "), code(t)}, deed: "change the default",
		}, true
	case r.word("drop", "default"):
		return form{
			main: Text{words("Remove the default of the column "), code(col), words(" of "), code(t), words(".")},
			done: Text{words("removed the default of the column "), code(col), words(" of "), code(t)}, deed: "remove the default",
		}, r.semicolonEnd()
	}
	return form{}, false
}

// objectWord takes the kind of an object that CREATE and DROP name.
func objectWord(r *reader) string {
	for _, k := range [][]string{
		{"materialized", "view"},
		{"table"},
		{"view"},
		{"index"},
		{"sequence"},
		{"type"},
		{"domain"},
		{"schema"},
	} {
		if r.word(k...) {
			return strings.Join(k, " ")
		}
	}
	return ""
}

func dropObject(r *reader, target string) (form, bool) {
	typ := objectWord(r)
	if typ == "" {
		return form{}, false
	}
	ifExists(r)
	last, raw, ok := r.name()
	if !ok || !r.simpleEnd() {
		return form{}, false
	}
	n := tableName(target, last, raw)
	return form{
		main: Text{words("Drop the " + typ + " "), code(n), words(".")},
		done: Text{words("dropped the " + typ + " "), code(n)},
		deed: "drop the " + typ, sign: "del", drops: n, object: n,
	}, true
}

func create(r *reader, target string) (form, bool) {
	replace := r.word("or", "replace")
	if r.word("unique", "index") || r.word("index") {
		return createIndex(r, target)
	}
	typ := objectWord(r)
	if typ == "" {
		return form{}, false
	}
	ifExists(r)
	last, raw, ok := r.name()
	if !ok {
		return form{}, false
	}
	n := tableName(target, last, raw)
	verb, done, sign := "Create the ", "created the ", "ins"
	if replace {
		verb, done, sign = "Create or replace the ", "created or replaced the ", "upd"
	}
	return form{
		main: Text{words(verb + typ + " "), code(n), words(".")},
		done: Text{words(done + typ + " "), code(n)},
		deed: strings.ToLower(verb) + typ, sign: sign,
	}, true
}

func createIndex(r *reader, target string) (form, bool) {
	ifExists(r)
	idx := ""
	if !r.word("on") {
		_, raw, ok := r.ident()
		if !ok || !r.word("on") {
			return form{}, false
		}
		idx = raw
	}
	r.word("only")
	last, raw, ok := r.name()
	if !ok {
		return form{}, false
	}
	t := code(tableName(target, last, raw))
	f := form{deed: "build the index", sign: "ins"}
	if idx == "" {
		f.main, f.done = Text{words("Build an index on "), t, words(".")}, Text{words("built an index on "), t}
	} else {
		f.main = Text{words("Build the index "), code(idx), words(" on "), t, words(".")}
		f.done = Text{words("built the index "), code(idx), words(" on "), t}
	}
	return f, true
}

// dropsOf lists the dropped objects of a migration.
func dropsOf(p plan.Preview) []plan.Drop {
	if p.Facts == nil {
		return nil
	}
	return p.Facts.Drops
}

// dropsData says whether values are lost.
func dropsData(p plan.Preview) bool {
	return p.Facts != nil && lostValues(p.Facts.Lost) > 0
}

func lostValues(lost []plan.Lost) (n int64) {
	for _, l := range lost {
		n += l.NonNullValues
	}
	return n
}

// sameObject compares a dropped object with the one the statement names.
func sameObject(d plan.Drop, f form) bool {
	if f.object == "" {
		return false
	}
	return d.Name == f.object || d.Name == f.drops || strings.HasSuffix(f.object, "."+d.Name) || strings.HasSuffix(d.Name, "."+f.object)
}

// alongWith lists the dropped objects the statement does not name, without repeating one.
func alongWith(p plan.Preview, f form) []plan.Drop {
	var out []plan.Drop
	seen := map[plan.Drop]bool{}
	for _, d := range dropsOf(p) {
		if sameObject(d, f) || seen[d] {
			continue
		}
		seen[d] = true
		out = append(out, d)
	}
	return out
}

// takenAlong says what a drop takes with it.
func takenAlong(p plan.Preview, f form) Text {
	list := alongWith(p, f)
	switch n := int64(len(list)); {
	case n == 0:
		return nil
	case f.drops == "" && n <= 3: // the form is not known, so it is not known what was named either
		return append(dropList(list), words(" "+plural(n, "is", "are")+" dropped."))
	case n <= 3:
		return append(dropList(list), words(" "+plural(n, "is", "are")+" dropped with it."))
	default:
		return Text{count(n), words(" other objects are dropped with it.")}
	}
}

func dropList(list []plan.Drop) Text {
	var out Text
	for i, d := range list {
		typ := d.Type
		switch {
		case i == 0:
			typ = capital(typ)
		case i == len(list)-1:
			out = append(out, words(" and "))
		default:
			out = append(out, words(", "))
		}
		out = append(out, quoted(typ), words(" "), code(d.Name))
	}
	return out
}

func capital(s string) string {
	if s == "" {
		return "Object"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
