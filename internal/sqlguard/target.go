package sqlguard

import (
	"context"
	"fmt"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// ResolveTable finds the relation that text names, for the `table` arguments. The name is read as
// Postgres reads it; where nothing has that name, a relation with exactly the case as written is
// taken (app.Product finds app."Product"). A relation that is hidden from reading is answered like one
// that does not exist, unless it may be written.
func (g *Guard) ResolveTable(ctx context.Context, cat Catalog, text string) (Relation, error) {
	rel, err := g.resolve(ctx, cat, text)
	if err != nil {
		return Relation{}, err
	}
	if !g.CanRead(rel.Schema, rel.Name) && !g.CanWrite(rel.Schema, rel.Name) {
		return Relation{}, g.readable(rel)
	}
	return rel, nil
}

func (g *Guard) resolve(ctx context.Context, cat Catalog, text string) (Relation, error) {
	name, err := ParseName(text)
	if err != nil {
		return Relation{}, err
	}
	if strings.HasPrefix(name.Name, reservedPrefix) {
		return Relation{}, refusal.New(refusal.InvalidTableName,
			fmt.Sprintf("The table name %s starts with %s; such names belong to this server.", name, reservedPrefix),
			"A table of that name cannot be used here; ask the operator to put a view in front of it.")
	}
	names := []Name{name}
	if w := writtenName(text); w != name {
		names = append(names, w)
	}
	q := Lookup{Relations: names}
	facts, err := cat.Lookup(ctx, q, false)
	if err != nil {
		return Relation{}, fmt.Errorf("looking up %s: %w", name, err)
	}
	rel, ok := firstOf(facts, names)
	if !ok {
		if facts, err = cat.Lookup(ctx, q, true); err != nil {
			return Relation{}, fmt.Errorf("looking up %s again: %w", name, err)
		}
		rel, ok = firstOf(facts, names)
	}
	if !ok {
		return Relation{}, g.unknownRelation(name, facts.Candidates, func(s, n string) bool { return g.CanRead(s, n) || g.CanWrite(s, n) })
	}
	return rel, nil
}

func firstOf(facts *Facts, names []Name) (Relation, bool) {
	for _, n := range names {
		if rel, ok := facts.Relations[n]; ok {
			return rel, true
		}
	}
	return Relation{}, false
}

// Bits of pg_relation_is_updatable: 1 << CmdType.
const (
	updatableUpdate = 1 << 2
	updatableInsert = 1 << 3
	updatableDelete = 1 << 4
)

// writeTarget resolves the target of a DML statement and says why it cannot be written.
func (g *Guard) writeTarget(ctx context.Context, cat Catalog, text string, class Class) (Relation, error) {
	rel, err := g.resolve(ctx, cat, text)
	if err != nil {
		return Relation{}, err
	}
	if err := g.writable(rel, class); err != nil {
		return Relation{}, err
	}
	if class != Insert && !g.CanRead(rel.Schema, rel.Name) {
		// Its preview shows rows, and its where asks them. See TestWritesThatReadNeedTheReadAllowlist.
		return Relation{}, refusal.New(refusal.TableNotAllowlisted,
			fmt.Sprintf("%s may be written and not read, and %s_rows reads the rows that it changes.", QuoteName(rel.Schema, rel.Name), class),
			"Ask the operator to add it to allowlist.read; insert_rows is possible without.")
	}
	for _, c := range rel.Columns {
		if reservedAliases[c.Name] {
			return Relation{}, notWritable(rel, fmt.Sprintf("has a column %s, a name that this server uses in its own statements", c.Name),
				"Ask the operator to rename the column.")
		}
	}
	return rel, nil
}

func notWritable(rel Relation, why, hint string) error {
	return refusal.New(refusal.TableNotWritable, fmt.Sprintf("%s %s.", QuoteName(rel.Schema, rel.Name), why), hint)
}

func (g *Guard) writable(rel Relation, class Class) error {
	switch {
	case neverWritableSchema(rel.Schema):
		return notWritable(rel, "belongs to the system or to the audit trail and is never writable", "Choose another table.")
	case !g.CanWrite(rel.Schema, rel.Name):
		return notWritable(rel, "is not in the write allowlist", "Ask the operator to add it to allowlist.write. "+g.writableNow())
	}
	if err := ruled(rel, class); err != nil {
		return err
	}
	switch rel.Kind {
	case 'r', 'p':
		if rel.HasForeignPartition {
			return notWritable(rel, "has a partition that is a foreign table, whose commit is not under control here", "Write to the other partitions by name.")
		}
		return nil
	case 'v':
		return g.writableView(rel, class)
	case 'm':
		return notWritable(rel, "is a materialized view", "Change the tables it is made from; refreshing it is the operator's.")
	case 'f':
		return notWritable(rel, "is a foreign table, whose commit is not under control here", "Change it in the database it lives in.")
	case 'S':
		return notWritable(rel, "is a sequence", "Sequences advance by themselves; name a table.")
	}
	return notWritable(rel, "is not a table or an updatable view", "Name a table.")
}

// ruled refuses a statement that a rewrite rule would turn into another, or add others to: what then runs was
// never judged, and Postgres takes only some rules where the statement stands for a preview (inside WITH).
// See TestRulesAreSaid.
func ruled(rel Relation, class Class) error {
	event := map[Class]byte{Update: '2', Insert: '3', Delete: '4'}[class]
	var names []string
	for _, r := range rel.Rules {
		if r.Event == event {
			names = append(names, QuoteIdent(r.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	what := "rule"
	if len(names) > 1 {
		what = "rules"
	}
	return notWritable(rel, fmt.Sprintf("has the rewrite %s %s on %s, so the database would run something else than the statement says",
		what, strings.Join(names, ", "), strings.ToUpper(string(class))),
		"Write to the tables that it leads to, or ask the operator to replace it by a trigger, whose changes a preview shows.")
}

func (g *Guard) writableView(rel Relation, class Class) error {
	bit := map[Class]int32{Update: updatableUpdate, Insert: updatableInsert, Delete: updatableDelete}[class]
	if rel.Updatable&bit == 0 {
		return notWritable(rel, fmt.Sprintf("is a view that Postgres cannot %s through", class), "Write to the table below it.")
	}
	for _, t := range rel.Below {
		switch {
		case t.Kind == 'f':
			return notWritable(rel, "is a view over a foreign table", "Write to tables of this database only.")
		case t.Kind == 'v' || t.Kind == 'm':
		case !g.CanWrite(t.Schema, t.Name):
			below := "a table that is not shown here"
			if g.CanRead(t.Schema, t.Name) {
				below = t.String()
			}
			return notWritable(rel, fmt.Sprintf("is a view over %s, which is not in the write allowlist", below),
				"Ask the operator to add every table below the view to allowlist.write.")
		}
	}
	if rel.HasForeignPartition {
		return notWritable(rel, "is a view over a table with a foreign partition", "Write to tables of this database only.")
	}
	return nil
}

// writableNow says what the write allowlist names.
func (g *Guard) writableNow() string {
	if g.policy.Write.Empty() {
		return "The write allowlist is empty: nothing is writable."
	}
	return "Writable now: " + shortList(g.policy.Write.String()) + "."
}

func shortList(s string) string {
	const most = 300
	if len(s) > most {
		return s[:strings.LastIndex(s[:most], ",")] + ", …"
	}
	return s
}

// column finds the column a JSON key or list entry names: exactly as written, else in double quotes,
// else folded.
func column(rel Relation, text string) (Column, error) {
	tries := []string{text}
	if n, err := ParseName(text); err == nil && n.Schema == "" {
		tries = append(tries, n.Name)
	}
	for _, name := range tries {
		for _, c := range rel.Columns {
			if c.Name == name {
				return c, nil
			}
		}
	}
	return Column{}, refusal.New(refusal.InvalidInput,
		fmt.Sprintf("%s has no column %s.", QuoteName(rel.Schema, rel.Name), shown(text)),
		"Columns: "+strings.Join(nearColumn(text, rel.Columns), ", ")+".")
}

// settable refuses columns that Postgres computes, and under a read allowlist those whose values the preview
// would print as names, whatever number was given.
func (g *Guard) settable(rel Relation, c Column, isDefault bool) error {
	name := QuoteName(rel.Schema, rel.Name) + "." + QuoteIdent(c.Name)
	switch {
	case c.Generated && !isDefault:
		return refusal.New(refusal.InvalidInput, fmt.Sprintf("%s is a generated column; Postgres computes it.", name), "Leave the column out.")
	case c.Identity == 'a' && !isDefault:
		return refusal.New(refusal.InvalidInput,
			fmt.Sprintf("%s is GENERATED ALWAYS AS IDENTITY; Postgres gives its value.", name), "Leave the column out.")
	case c.ShowsNames && !isDefault && !g.policy.Read.Empty():
		return refusal.New(refusal.FunctionNotAllowed,
			fmt.Sprintf("%s is of type %s, which shows numbers as names; with a read allowlist a value could name hidden tables.", name, c.Type), "Leave the column out.")
	}
	return nil
}
