package sqlguard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/wire"
)

// maxViewDepth bounds how deep views over views are followed.
const maxViewDepth = 16

// The different names of one text that the catalog is asked about.
const (
	maxRelations = 200
	maxFunctions = 500
	maxOperators = 200
	maxTypes     = 200
)

func few(what string, n, most int) error {
	if n <= most {
		return nil
	}
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("The text names %d different %s; at most %d are taken.", n, what, most),
		"Split it into smaller statements.")
}

// mode is what the text is for: it decides about volatile functions of the database's own schemas.
type mode int

const (
	readMode  mode = iota // refused unless the policy allows the name
	writeMode             // allowed and reported
	ddlMode               // as writeMode, and nextval of a sequence that may be written
)

// verdict is what resolving a tree gave.
type verdict struct {
	facts     *Facts
	relations []Target
	byName    map[Name]Relation
	closure   map[uint32]bool
	volatile  map[string]bool
	unstable  bool                 // some function is not immutable or stable
	outside   bool                 // some function is outside pg_catalog and may read tables
	prints    bool                 // something of the system is called or read that locks what it describes
	relied    map[wire.Fact]bool   // what of the catalog was used
	methods   map[string][]Routine // functions that x.f may mean, by f
	known     *known
	masks     string   // the masks in force, as the catalog is asked with them
	outputs   []Output // see Statement.Outputs
}

func newVerdict(facts *Facts) *verdict {
	k := &known{relations: map[Name]Relation{}, bodies: map[uint32]*pg.Node{}, aggregates: map[Name]bool{}}
	k.add(facts)
	return &verdict{
		known: k,
		facts: facts, byName: map[Name]Relation{}, closure: map[uint32]bool{},
		volatile: map[string]bool{}, relied: map[wire.Fact]bool{},
	}
}

func (v *verdict) rely(kind byte, key, version string) {
	v.relied[wire.Fact{Kind: kind, Key: key, Version: version}] = true
}

// relyOn notes a relation. Postgres' own do not change.
func (v *verdict) relyOn(rel Relation) {
	if rel.OID >= wire.FirstUserOID {
		oid := strconv.FormatUint(uint64(rel.OID), 10)
		v.rely(wire.FactRelation, oid, rel.Version)
		if v.masks != "" {
			v.rely(wire.FactMask, oid+" "+v.masks, rel.Mask)
		}
	}
}

// sortedFacts is relied as a list; the same text gives the same list.
func (v *verdict) sortedFacts() []wire.Fact {
	return slices.SortedFunc(maps.Keys(v.relied), func(a, b wire.Fact) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version))
	})
}

// ask looks names up, a second time without the cache when one of the needed relations or functions
// was missing: it may be newer than the cache. A function's name that is a type's is a cast.
func ask(ctx context.Context, cat Catalog, q Lookup, needed []Name) (*Facts, error) {
	facts, err := cat.Lookup(ctx, q, false)
	if err != nil {
		return nil, fmt.Errorf("looking up names: %w", err)
	}
	missing := false
	for _, n := range needed {
		if _, ok := facts.Relations[n]; !ok {
			missing = true
		}
	}
	for _, n := range q.Functions {
		if _, cast := facts.Types[n]; len(facts.Functions[n]) == 0 && !cast && !builtinType(n) {
			missing = true
		}
	}
	if !missing {
		return facts, nil
	}
	if facts, err = cat.Lookup(ctx, q, true); err != nil {
		return nil, fmt.Errorf("looking up names again: %w", err)
	}
	return facts, nil
}

// judge resolves everything a tree names and checks it for reading. extra are relations that the
// caller checks itself (targets); they are only looked up.
func (g *Guard) judge(ctx context.Context, cat Catalog, f *found, m mode, extra ...Name) (*verdict, error) {
	if f.err != nil {
		return nil, f.err
	}
	hidden := !g.policy.Read.Empty()
	if hidden {
		f.readTypeNames()
	}
	q := f.lookup()
	q.Relations = appendNew(appendNew(q.Relations, f.named), extra)
	for _, e := range []error{
		few("tables", len(q.Relations), maxRelations), few("functions", len(q.Functions), maxFunctions),
		few("operators", len(q.Operators), maxOperators), few("types", len(q.Types), maxTypes+maxFunctions),
	} {
		if e != nil {
			return nil, e
		}
	}
	if hidden {
		q.Relations = appendNew(q.Relations, f.userTypes())
	}
	for _, n := range extra {
		f.alias(n.Name, n)
	}
	facts, err := ask(ctx, cat, q, appendNew(append([]Name{}, f.relations...), extra))
	if err != nil {
		return nil, err
	}
	if err := f.readsAs16(facts.ServerVersion); err != nil {
		return nil, err
	}
	v := newVerdict(facts)
	v.masks = g.masks.text
	v.rely(wire.FactPath, "", facts.PathVersion)
	for _, n := range extra {
		if rel, ok := facts.Relations[n]; ok {
			v.add(n, rel)
		}
	}
	for _, n := range f.relations {
		rel, ok := facts.Relations[n]
		if !ok {
			return nil, g.unknownRelation(n, facts.Candidates, g.CanRead)
		}
		if err := g.readable(rel); err != nil {
			return nil, err
		}
		if err := g.childrenReadable(rel, f.inherits[n]); err != nil {
			return nil, err
		}
		v.add(n, rel)
	}
	if hidden {
		if err := g.unseen(f, v); err != nil {
			return nil, err
		}
	}
	if err := v.attributes(ctx, cat, f); err != nil {
		return nil, err
	}
	if err := g.functions(f, v, m, hidden); err != nil {
		return nil, err
	}
	if err := g.casts(f, v, m); err != nil {
		return nil, err
	}
	if err := g.settings(f, v); err != nil {
		return nil, err
	}
	if err := g.views(ctx, cat, v, m); err != nil {
		return nil, err
	}
	if v.outputs, err = g.unmasked(f, v, m); err != nil {
		return nil, err
	}
	return v, checkGrowth(v.known, f.roots, extra)
}

func (v *verdict) add(n Name, rel Relation) {
	v.byName[n] = rel
	v.relyOn(rel)
	for _, t := range v.relations {
		if t.OID == rel.OID {
			return
		}
	}
	v.prints = v.prints || systemSchema(rel.Schema) && rel.Kind == 'v'
	v.relations = append(v.relations, rel.target())
	v.closure[rel.OID] = true
	for _, oid := range rel.Closure {
		v.closure[oid] = true
	}
	for _, t := range rel.Below {
		v.closure[t.OID] = true
	}
}

func (r Relation) target() Target {
	return Target{OID: r.OID, Schema: r.Schema, Name: r.Name, Kind: r.Kind}
}

// lookup is what must be asked about a tree.
func (f *found) lookup() Lookup {
	q := Lookup{Relations: append([]Name{}, f.relations...), Operators: f.operators, Statistics: f.statistics}
	seen := map[Name]bool{}
	for _, c := range f.calls {
		if !seen[c.name] {
			seen[c.name] = true
			q.Functions = append(q.Functions, c.name)
		}
		// f(x) is a cast where f is a type and no function (manual, 4.2.9).
		if n := c.name; len(c.args) == 1 && !builtinType(n) && !f.known("t", n) && f.first("ct", n) {
			q.Types = append(q.Types, n)
		}
	}
	q.Types = append(q.Types, f.userTypes()...)
	return q
}

func (f *found) userTypes() []Name {
	var out []Name
	for _, n := range f.types {
		if !builtinType(n) {
			out = append(out, n)
		}
	}
	return out
}

func builtinType(n Name) bool {
	return (n.Schema == "" || n.Schema == "pg_catalog") && builtinTypes[n.Name]
}

// appendNew appends what is not there yet.
func appendNew(list, more []Name) []Name {
	if len(more) == 0 {
		return list
	}
	have := make(map[Name]bool, len(list))
	for _, n := range list {
		have[n] = true
	}
	for _, n := range more {
		if !have[n] {
			have[n] = true
			list = append(list, n)
		}
	}
	return list
}

// readable is the check of one resolved relation for reading.
func (g *Guard) readable(rel Relation) error {
	name := QuoteName(rel.Schema, rel.Name)
	switch rel.Kind {
	case 'r', 'p', 'v', 'm', 'f', 'S', 'c', 0:
	default:
		return refusal.New(refusal.TableNotAllowlisted, fmt.Sprintf("%s is not a table or view.", name), "Read the table it belongs to.")
	}
	if g.CanRead(rel.Schema, rel.Name) {
		return nil
	}
	hint := "Ask the operator to add it to allowlist.read, or use describe_schema to see what is readable."
	if rel.Schema == "pg_catalog" && (rel.Name == "pg_roles" || rel.Name == "pg_user") {
		hint = "It shows the settings of roles, which can hold secrets. pg_get_userbyid, pg_has_role and pg_auth_members give names and memberships."
	} else if neverReadable(rel.Schema, rel.Name) {
		hint = "It can show secrets, other sessions' statements or hidden values, and is never readable here."
	} else if rel.Schema == "pg_catalog" || rel.Schema == "information_schema" {
		hint = "Use describe_schema for tables, columns, keys and indexes."
	}
	return refusal.New(refusal.TableNotAllowlisted, fmt.Sprintf("Reading %s is not allowed.", name), hint)
}

// childrenReadable: a table is read with those that inherit from it, unless ONLY stands before it (manual,
// 5.10). Partitions are no tables of their own here. See TestChildrenOfAReadableTable.
func (g *Guard) childrenReadable(rel Relation, inherits bool) error {
	if !inherits {
		return nil
	}
	for _, c := range rel.Children {
		if !g.CanRead(c.Schema, c.Name) {
			name := QuoteName(rel.Schema, rel.Name)
			return refusal.New(refusal.TableNotAllowlisted, fmt.Sprintf("Reading %s also reads a table that inherits from it and is not readable.", name),
				fmt.Sprintf("Write ONLY %s, or ask the operator to add the tables that inherit from it to allowlist.read.", name))
		}
	}
	return nil
}

// unknownRelation refuses a name that does not exist, with near matches that may is allowed to show.
func (g *Guard) unknownRelation(n Name, candidates []Name, may func(schema, name string) bool) error {
	var shownNames []Name
	for _, c := range candidates {
		if may(c.Schema, c.Name) {
			shownNames = append(shownNames, c)
		}
	}
	hint := "Call describe_schema to see the tables that exist."
	if near := nearNames(n, shownNames); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "?"
	} else if near := nearSchemas(n, shownNames); len(near) > 0 {
		hint = "There is nothing in a schema " + QuoteIdent(n.Schema) + "; did you mean schema " + strings.Join(near, ", ") + "? describe_schema lists its tables."
	}
	return refusal.New(refusal.InvalidTableName, fmt.Sprintf("There is no table or view %s.", n), hint)
}

// views follows the bodies of views for the functions in them. What a view reads is its owner's
// matter: the view stands in the allowlist by its own name.
func (g *Guard) views(ctx context.Context, cat Catalog, v *verdict, m mode) error {
	done := map[uint32]bool{}
	var queue []Relation
	for _, rel := range v.byName {
		queue = append(queue, rel)
	}
	sort.Slice(queue, func(i, j int) bool { return queue[i].OID < queue[j].OID })
	for depth := 0; len(queue) > 0; depth++ {
		if depth > maxViewDepth {
			return refusal.New(refusal.InvalidInput, "A view stands on views more than 16 deep.", "Read the tables themselves.")
		}
		body := newFound()
		for _, rel := range queue {
			if rel.Kind != 'v' || done[rel.OID] || systemSchema(rel.Schema) {
				continue
			}
			done[rel.OID] = true
			what := "body of view " + QuoteName(rel.Schema, rel.Name)
			if _, err := scan(what, rel.ViewDef); err != nil {
				return unreadableView(what)
			}
			node, err := parseOne(what, rel.ViewDef)
			if err != nil {
				return unreadableView(what)
			}
			body.walk(node.ProtoReflect(), nil)
			v.known.bodies[rel.OID] = node
		}
		if body.err != nil {
			return body.err
		}
		if err := body.readsAs16(v.facts.ServerVersion); err != nil {
			return err
		}
		body.params = nil
		q := body.lookup()
		if len(q.Relations)+len(q.Functions)+len(q.Operators)+len(q.Types) == 0 {
			return nil
		}
		facts, err := ask(ctx, cat, q, nil)
		if err != nil {
			return err
		}
		v.known.add(facts)
		inner := &verdict{
			facts: facts, byName: facts.Relations, closure: v.closure, volatile: v.volatile, relied: v.relied, masks: v.masks,
		}
		if err := inner.attributes(ctx, cat, body); err != nil {
			return err
		}
		if err := g.functions(body, inner, m, false); err != nil {
			return err
		}
		if err := g.casts(body, inner, m); err != nil {
			return err
		}
		v.unstable = v.unstable || inner.unstable
		v.outside, v.prints = v.outside || inner.outside, v.prints || inner.prints
		queue = queue[:0]
		for _, n := range body.relations {
			if rel, ok := facts.Relations[n]; ok {
				v.relyOn(rel)
				v.prints = v.prints || systemSchema(rel.Schema) && rel.Kind == 'v'
				queue = append(queue, rel)
			}
		}
	}
	return nil
}

func unreadableView(what string) error {
	return refusal.New(refusal.FunctionNotAllowed,
		fmt.Sprintf("The %s uses syntax that the parser here (Postgres 16) does not know, so the functions in it cannot be checked.", what),
		"Read the tables below it instead.")
}

func systemSchema(schema string) bool {
	return schema == "pg_catalog" || schema == "information_schema"
}

func (v *verdict) oids() []uint32 {
	out := make([]uint32, 0, len(v.closure))
	for oid := range v.closure {
		if oid != 0 {
			out = append(out, oid)
		}
	}
	slices.Sort(out)
	return out
}

func sortedNames(m map[Name]Relation) []Name {
	return slices.SortedFunc(maps.Keys(m), func(a, b Name) int { return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name)) })
}

func (v *verdict) names() []string {
	out := make([]string, 0, len(v.volatile))
	for n := range v.volatile {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}
