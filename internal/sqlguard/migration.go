package sqlguard

import (
	"context"
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// Migration checks one DDL statement of a known form. Every relation it creates, changes or drops
// must be in the write allowlist, every one it only points to (REFERENCES, LIKE, the sources of a view
// or of AS SELECT) must be readable, and the functions in its expressions obey the same rules as
// everywhere. For DDL this parser stands alone: the server has no grammar position that refuses
// COMMIT here. So the list of forms is closed and everything else is UNSUPPORTED_MIGRATION.
func (g *Guard) Migration(ctx context.Context, cat Catalog, text string) (*Statement, error) {
	node, line, tokens, err := parseStatement(text)
	if err != nil {
		return nil, err
	}
	d := &ddl{found: newFound(), skip: map[*pg.RangeVar]bool{}}
	d.found.skip = d.skip
	if err := d.form(node); err != nil {
		return nil, err
	}
	d.sequences(node)
	if err := checkReserved("statement", tokens); err != nil {
		return nil, err
	}
	f := d.found
	f.add(node)
	switch {
	case f.err != nil:
		return nil, f.err
	case f.writes != "":
		return nil, refusal.New(refusal.UnsupportedMigration, fmt.Sprintf("The statement holds %s inside.", article(f.writes)), usePreview)
	case f.locking:
		return nil, refusal.New(refusal.UnsupportedMigration, "The query inside locks rows.", "Leave FOR UPDATE out.")
	case len(f.params) > 0:
		return nil, refusal.New(refusal.InvalidInput, "A migration takes no parameters.", "Write the values as literals.")
	}
	v, err := g.judge(ctx, cat, f, ddlMode, d.existing()...)
	if err != nil {
		return nil, err
	}
	if err := checkNumbers("statement", tokens, v.facts.ServerVersion); err != nil {
		return nil, err
	}
	if err := g.covered(d, v, node); err != nil {
		return nil, err
	}
	form, err := g.ddlForm(d, v)
	if err != nil {
		return nil, err
	}
	return &Statement{
		class: DDL, sql: line, relations: v.relations, volatile: v.names(), facts: v.sortedFacts(), outside: v.outside,
		closure: v.oids(), ddl: form, mask: g.maskView(v, nil),
	}, nil
}

// ddl is what the form of a statement says about the relations in it. Relations that no list here
// holds are found by the walk and count as read.
type ddl struct {
	found    *found
	skip     map[*pg.RangeVar]bool
	label    string
	writes   []Name     // existing, changed or dropped
	kinds    []string   // what each of writes must be, "" for any
	create   []newThing // come into being
	types    []Name     // existing types and domains that are changed or dropped
	newTypes []Name     // types and domains that come into being
	stats    []Name     // existing statistics objects
	trigger  Name       // the function of a trigger that comes into being
	// locksNothing: of a statistics object, that its table is not locked (COMMENT).
	locksNothing bool
	values       bool // every table that uses the domain is read
	drops        []dropThing
	heavy        []heavyThing
	renames      []renameThing
	cascade      bool
	only         bool // ALTER TABLE ONLY
	ifThere      bool // IF EXISTS
}

// newThing is what the statement creates. beside is the existing relation whose schema it gets when it has
// none of its own (indexes, RENAME).
type newThing struct {
	name   Name
	beside Name
	kind   byte // 0 for what is no relation: only its schema can be checked
	free   bool // belongs to a relation that is checked already: no allowlist entry of its own
}

type dropThing struct {
	kind   string
	rel    Name
	column string
}

func (d *ddl) existing() []Name { return d.writes }

// write notes an existing relation that the statement changes.
func (d *ddl) write(rv *pg.RangeVar, kind string) Name {
	n, ok := d.found.rangeName(rv)
	if !ok {
		d.found.fail(refusal.New(refusal.InvalidInput, "The statement names no table.", "Name one."))
		return Name{}
	}
	d.skip[rv] = true
	d.writeName(n, kind)
	return n
}

func (d *ddl) writeName(n Name, kind string) {
	d.writes = append(d.writes, n)
	d.kinds = append(d.kinds, kind)
}

// writeList notes an existing relation that is named by a list of words.
func (d *ddl) writeList(items []*pg.Node, kind string) (Name, bool) {
	n, ok := d.found.name("table", items)
	if ok {
		d.writeName(n, kind)
	}
	return n, ok
}

// typeList reads the name of an existing type or domain.
func (d *ddl) typeList(items []*pg.Node) {
	if n, ok := d.found.name("type", items); ok {
		d.types = append(d.types, n)
		d.found.addType(n)
	}
}

func (d *ddl) newType(items []*pg.Node) {
	if n, ok := d.found.name("type", items); ok {
		d.newTypes = append(d.newTypes, n)
	}
}

func (d *ddl) creates(rv *pg.RangeVar, kind byte) {
	n, ok := d.found.rangeName(rv)
	if !ok {
		return
	}
	d.skip[rv] = true
	if rv.Relpersistence == "t" {
		d.found.fail(formTemporary.refuse())
	}
	d.create = append(d.create, newThing{name: n, kind: kind})
}

// form dispatches on the statement. Each branch names every relation that is more than read.
func (d *ddl) form(node *pg.Node) error {
	if !taken(node) {
		return refuseForm(node)
	}
	switch n := node.Node.(type) {
	case *pg.Node_CreateStmt:
		d.label = "CREATE TABLE"
		return d.createTable(n.CreateStmt)
	case *pg.Node_CreateTableAsStmt:
		return d.createAs(n.CreateTableAsStmt)
	case *pg.Node_AlterTableStmt:
		return d.alterTable(n.AlterTableStmt)
	case *pg.Node_RenameStmt:
		return d.rename(n.RenameStmt)
	case *pg.Node_AlterObjectSchemaStmt:
		return d.setSchema(n.AlterObjectSchemaStmt)
	case *pg.Node_DropStmt:
		return d.drop(n.DropStmt)
	case *pg.Node_IndexStmt:
		return d.index(n.IndexStmt)
	case *pg.Node_ViewStmt:
		d.label = "CREATE VIEW"
		d.creates(n.ViewStmt.View, 'v')
		return d.query(n.ViewStmt.Query)
	case *pg.Node_CommentStmt:
		d.label = "COMMENT"
		return d.comment(n.CommentStmt)
	case *pg.Node_CreateSeqStmt:
		d.label = "CREATE SEQUENCE"
		d.creates(n.CreateSeqStmt.Sequence, 'S')
	case *pg.Node_AlterSeqStmt:
		d.label, d.ifThere = "ALTER SEQUENCE", n.AlterSeqStmt.MissingOk
		d.write(n.AlterSeqStmt.Sequence, "sequence")
	case *pg.Node_CreateTrigStmt:
		d.label = "CREATE TRIGGER"
		return d.createTrigger(n.CreateTrigStmt)
	case *pg.Node_CreateStatsStmt:
		d.label = "CREATE STATISTICS"
		return d.createStatistics(n.CreateStatsStmt)
	case *pg.Node_CreateEnumStmt:
		d.label = "CREATE TYPE"
		d.newType(n.CreateEnumStmt.TypeName)
	case *pg.Node_AlterEnumStmt:
		d.label = "ALTER TYPE"
		d.typeList(n.AlterEnumStmt.TypeName)
	case *pg.Node_CreateDomainStmt:
		d.label = "CREATE DOMAIN"
		d.newType(n.CreateDomainStmt.Domainname)
	case *pg.Node_AlterDomainStmt:
		d.label = "ALTER DOMAIN"
		return d.alterDomain(n.AlterDomainStmt)
	default:
		return refuseForm(node)
	}
	return nil
}

// query insists on a plain SELECT below CREATE VIEW or CREATE TABLE AS.
func (d *ddl) query(node *pg.Node) error {
	sel := node.GetSelectStmt()
	switch {
	case sel == nil:
		return unsupported("Only a SELECT can stand below AS", "Write the query itself.")
	case sel.IntoClause != nil:
		return unsupported("SELECT INTO cannot stand below AS", "Leave INTO out.")
	}
	return nil
}

func (d *ddl) createTable(s *pg.CreateStmt) error {
	d.creates(s.Relation, 'r')
	if s.Partspec != nil && len(d.create) > 0 {
		d.create[len(d.create)-1].kind = 'p'
	}
	for _, n := range s.InhRelations { // INHERITS and PARTITION OF change the parent
		parent := d.write(n.GetRangeVar(), "table")
		if s.Partbound != nil {
			d.heavy = append(d.heavy, heavyThing{table: parent, kind: HeavyDefaultOf})
		}
	}
	if s.Tablespacename != "" {
		return formTablespace.refuse()
	}
	return nil
}

func (d *ddl) createAs(s *pg.CreateTableAsStmt) error {
	switch s.Objtype {
	case pg.ObjectType_OBJECT_TABLE:
		d.label = "CREATE TABLE AS"
		d.creates(s.GetInto().GetRel(), 'r')
	case pg.ObjectType_OBJECT_MATVIEW:
		d.label = "CREATE MATERIALIZED VIEW"
		d.creates(s.GetInto().GetRel(), 'm')
	default:
		return unsupported("This kind of CREATE … AS is not supported", "Use CREATE TABLE … AS SELECT.")
	}
	if s.GetInto().GetTableSpaceName() != "" {
		return formTablespace.refuse()
	}
	return d.query(s.Query)
}

func (d *ddl) index(s *pg.IndexStmt) error {
	d.label = "CREATE INDEX"
	switch {
	case s.Concurrent:
		return formConcurrently.refuse()
	case s.TableSpace != "":
		return formTablespace.refuse()
	}
	on := d.write(s.Relation, "")
	d.heavy = append(d.heavy, heavyThing{table: on, kind: HeavyIndex})
	if s.Idxname != "" {
		d.create = append(d.create, newThing{name: Name{Name: s.Idxname}, beside: on, kind: 'i', free: true})
	}
	return nil
}

// sequences finds what a sequence is tied to or called, wherever options of one can stand: OWNED BY, and
// SEQUENCE NAME of an identity column, which may name any schema. See TestMigrationTargets.
func (d *ddl) sequences(node *pg.Node) {
	visit(node.ProtoReflect(), func(m protoreflect.Message) {
		e, ok := m.Interface().(*pg.DefElem)
		if !ok {
			return
		}
		items := e.GetArg().GetList().GetItems()
		switch {
		case e.Defname == "owned_by" && len(items) > 1: // else OWNED BY NONE
			d.writeList(items[:len(items)-1], "table")
		case e.Defname == "sequence_name" && len(items) > 1: // else it gets the table's schema
			if n, ok := d.found.name("sequence", items); ok {
				d.create = append(d.create, newThing{name: n, kind: 'S'})
			}
		}
	})
}
