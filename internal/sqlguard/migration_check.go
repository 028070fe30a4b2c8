package sqlguard

import (
	"fmt"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// ddlForm checks what the form named and describes it.
func (g *Guard) ddlForm(d *ddl, v *verdict) (DDLForm, error) {
	out := DDLForm{Form: d.label, Cascade: d.cascade, Only: d.only}
	written := map[uint32]bool{}
	for i, n := range d.writes {
		rel, ok := v.facts.Relations[n]
		switch {
		case !ok && d.ifThere:
			return out, refusal.New(refusal.InvalidTableName, fmt.Sprintf("There is no table, view, index or sequence %s.", n),
				"It is not there, so there is nothing to do about it; leave it out of the statement.")
		case !ok:
			return out, g.unknownRelation(n, v.facts.Candidates, func(s, t string) bool { return g.CanRead(s, t) || g.CanWrite(s, t) })
		}
		if err := g.ddlWritable(rel, d.kinds[i]); err != nil {
			return out, err
		}
		if !written[rel.OID] {
			written[rel.OID] = true
			out.Writes = append(out.Writes, rel.target())
			if out.Above == nil {
				out.Above = map[uint32][]Target{}
			}
			out.Above[rel.OID] = rel.belongsTo()
		}
	}
	for _, c := range d.create {
		schema, err := g.newSchema(c, v)
		if err != nil {
			return out, err
		}
		switch {
		case neverWritableSchema(schema):
			return out, refusal.New(refusal.TableNotWritable, fmt.Sprintf("Nothing can be created in schema %s.", QuoteIdent(schema)), "Choose another schema.")
		case c.kind == 0:
			if !g.policy.Write.touches(schema) {
				return out, g.schemaNotWritable(QuoteName(schema, c.name.Name))
			}
			continue
		case !c.free && !g.CanWrite(schema, c.name.Name):
			return out, refusal.New(refusal.TableNotWritable,
				fmt.Sprintf("%s would come into being, and it is not in the write allowlist.", QuoteName(schema, c.name.Name)),
				"Ask the operator to add its schema (or, where tables are listed, this name) to allowlist.write. "+g.writableNow())
		}
		out.Creates = append(out.Creates, Target{Schema: schema, Name: c.name.Name, Kind: c.kind})
	}
	if err := g.ddlObjects(d, v, &out); err != nil {
		return out, err
	}
	for _, dr := range d.drops {
		rel := v.facts.Relations[dr.rel]
		out.Drops = append(out.Drops, DropName{Type: dr.kind, Relation: QuoteName(rel.Schema, rel.Name), Column: dr.column})
	}
	for _, h := range d.heavy {
		if rel, ok := v.facts.Relations[h.table]; ok {
			out.Heavy = append(out.Heavy, HeavyPart{Kind: h.kind, Table: rel.target(), Type: h.typeText()})
		}
	}
	for _, r := range d.renames {
		if rel, ok := v.facts.Relations[r.rel]; ok {
			out.Renames = append(out.Renames, Rename{Relation: rel.target(), Column: r.column, NewName: r.to})
		}
	}
	for _, n := range d.found.relations {
		if rel, ok := v.facts.Relations[n]; ok {
			out.Reads = append(out.Reads, rel.target())
		}
	}
	return out, nil
}

// belongsTo are the table of an index or a sequence, and what that, or a table itself, inherits from.
func (r Relation) belongsTo() []Target {
	out := r.Ancestors(r.OID)
	if r.Kind == 'v' || r.Kind == 'm' {
		return out
	}
	for _, t := range r.Below {
		out = append(append(out, t), r.Ancestors(t.OID)...)
	}
	return out
}

// ddlObjects checks what is no relation: types and domains, for which only their schema can be listed,
// statistics objects, which are their table's, and a trigger's function.
func (g *Guard) ddlObjects(d *ddl, v *verdict, out *DDLForm) error {
	for _, n := range d.newTypes {
		schema := n.Schema
		if schema == "" {
			schema = creationSchema(v.facts.SearchPath)
		}
		if schema == "" || neverWritableSchema(schema) || !g.policy.Write.touches(schema) {
			return g.schemaNotWritable(QuoteName(schema, n.Name))
		}
	}
	for _, n := range d.types {
		t, ok := v.facts.TypeTargets[n]
		switch {
		case builtinType(n):
			return refusal.New(refusal.TableNotWritable, fmt.Sprintf("The type %s is Postgres' own.", n), "Choose another type.")
		case !ok:
			return d.missing("type", n)
		case neverWritableSchema(t.Schema) || !g.policy.Write.touches(t.Schema):
			return g.schemaNotWritable(t.String())
		case d.values && (!g.policy.Read.Empty() || g.masks.on()):
			return refusal.New(refusal.TableNotAllowlisted,
				fmt.Sprintf("This reads every table that uses %s, also what is hidden or masked.", t),
				"Add the constraint as NOT VALID, which holds for new values only, or ask the operator to run it.")
		}
		out.Types = append(out.Types, t)
		if out.Form == "DROP TYPE" || out.Form == "DROP DOMAIN" {
			out.Drops = append(out.Drops, DropName{Type: "type", Relation: t.String()})
		}
	}
	for _, n := range d.stats {
		s, ok := v.facts.Statistics[n]
		if !ok {
			return d.missing("statistics object", n)
		}
		if err := g.ddlWritable(Relation{OID: s.Table.OID, Schema: s.Table.Schema, Name: s.Table.Name, Kind: s.Table.Kind}, ""); err != nil {
			return err
		}
		if d.locksNothing { // what is written must show as a lock
			out.Reads = append(out.Reads, s.Table)
		} else {
			out.Writes = append(out.Writes, s.Table)
			out.Drops = append(out.Drops, DropName{Type: "statistics", Relation: s.Object.String()})
		}
	}
	if d.trigger == (Name{}) {
		return nil
	}
	for _, r := range inSchema(v.facts.Functions[d.trigger], d.trigger) {
		if systemSchema(r.Schema) || r.Extension != "" {
			return refusal.New(refusal.FunctionNotAllowed, fmt.Sprintf("The function %s is not one of the database's own.", QuoteName(r.Schema, r.Name)),
				"Use a function that the operator has installed in a schema of the database.")
		}
	}
	return nil
}

func (d *ddl) missing(what string, n Name) error {
	hint := "Correct the name, or write it with its schema."
	if d.ifThere {
		hint = "It is not there, so there is nothing to do about it; leave it out of the statement."
	}
	return refusal.New(refusal.InvalidTableName, fmt.Sprintf("There is no %s %s.", what, n), hint)
}

func (g *Guard) schemaNotWritable(name string) error {
	return refusal.New(refusal.TableNotWritable, fmt.Sprintf("The schema of %s is not in the write allowlist.", name),
		"Write the name with a schema that the write allowlist names. "+g.writableNow())
}

// ddlWritable checks an existing relation that a statement changes or drops.
func (g *Guard) ddlWritable(rel Relation, kind string) error {
	fits := map[string]string{
		"": "rpvmSiI", "table": "rp", "view": "v", "index": "iI", "sequence": "S", "materialized view": "m",
	}[kind]
	name := QuoteName(rel.Schema, rel.Name)
	found := false
	for i := range len(fits) {
		found = found || fits[i] == rel.Kind
	}
	switch {
	case neverWritableSchema(rel.Schema):
		return notWritable(rel, "belongs to the system or to the audit trail and is never writable", "Choose another table.")
	case !found && kind != "":
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("%s is not a %s.", name, kind), "Use the statement for what it is.")
	case !found:
		return notWritable(rel, "is not a kind of relation that can be changed here", "Ask the operator.")
	case g.CanWrite(rel.Schema, rel.Name):
		return nil
	case rel.Kind == 'i' || rel.Kind == 'I' || rel.Kind == 'S':
		// An index or a sequence that belongs to a listed table needs no entry of its own.
		for _, t := range rel.Below {
			if g.CanWrite(t.Schema, t.Name) {
				return nil
			}
		}
	}
	return notWritable(rel, "is not in the write allowlist", "Ask the operator to add it to allowlist.write.")
}

// newSchema is where a new relation comes into being.
func (g *Guard) newSchema(c newThing, v *verdict) (string, error) {
	if c.name.Schema != "" {
		return c.name.Schema, nil
	}
	if c.beside != (Name{}) {
		return v.facts.Relations[c.beside].Schema, nil
	}
	if s := creationSchema(v.facts.SearchPath); s != "" {
		return s, nil
	}
	return "", refusal.New(refusal.InvalidTableName, fmt.Sprintf("There is no schema to create %s in.", c.name), "Write the name with its schema.")
}

// creationSchema is the first schema of the search path in which Postgres would create.
func creationSchema(path []string) string {
	for _, s := range path {
		if !neverWritableSchema(s) || s == "mcp_audit" {
			return s
		}
	}
	return ""
}

// touches tells whether the list names that schema or a table in it.
func (a Allowlist) touches(schema string) bool {
	if len(a.tables) == 0 {
		return a.schemas[schema]
	}
	for n := range a.tables {
		if n.Schema == schema {
			return true
		}
	}
	return false
}
