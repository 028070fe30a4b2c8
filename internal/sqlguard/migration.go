package sqlguard

import (
	"context"
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"

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
	form, err := g.ddlForm(d, v)
	if err != nil {
		return nil, err
	}
	return &Statement{
		class: DDL, sql: line, relations: v.relations, volatile: v.names(), facts: v.sortedFacts(), outside: v.outside,
		closure: v.oids(), ddl: form,
	}, nil
}

// ddl is what the form of a statement says about the relations in it. Relations that no list here
// holds are found by the walk and count as read.
type ddl struct {
	found   *found
	skip    map[*pg.RangeVar]bool
	label   string
	writes  []Name     // existing, changed or dropped
	kinds   []string   // what each of writes must be, "" for any
	create  []newThing // come into being
	types   []Name     // types created, changed or dropped: only their schema can be checked
	drops   []dropThing
	heavy   []heavyThing
	renames []renameThing
	cascade bool
	ifThere bool // IF EXISTS
}

// newThing is a relation that the statement creates. beside is the existing relation whose schema
// it gets when it has none of its own (indexes, RENAME).
type newThing struct {
	name   Name
	beside Name
	kind   byte
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

func (d *ddl) creates(rv *pg.RangeVar, kind byte) {
	n, ok := d.found.rangeName(rv)
	if !ok {
		return
	}
	d.skip[rv] = true
	if rv.Relpersistence == "t" {
		d.found.fail(unsupported("A temporary table or view ends with its session", "Create a permanent one."))
	}
	d.create = append(d.create, newThing{name: n, kind: kind})
}

func unsupported(what, hint string) error {
	return refusal.New(refusal.UnsupportedMigration, what+".", hint)
}

// form dispatches on the statement. Each branch names every relation that is more than read.
func (d *ddl) form(node *pg.Node) error {
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
	case *pg.Node_CreateEnumStmt:
		d.label = "CREATE TYPE"
		return d.typeName(n.CreateEnumStmt.TypeName)
	case *pg.Node_AlterEnumStmt:
		d.label = "ALTER TYPE"
		return d.typeName(n.AlterEnumStmt.TypeName)
	case *pg.Node_CommentStmt:
		d.label = "COMMENT"
		return d.comment(n.CommentStmt)
	case *pg.Node_CreateSeqStmt:
		d.label = "CREATE SEQUENCE"
		d.creates(n.CreateSeqStmt.Sequence, 'S')
		return d.sequenceOptions(n.CreateSeqStmt.Options)
	case *pg.Node_AlterSeqStmt:
		d.label = "ALTER SEQUENCE"
		d.write(n.AlterSeqStmt.Sequence, "sequence")
		return d.sequenceOptions(n.AlterSeqStmt.Options)
	}
	return unsupportedForm(node)
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

func (d *ddl) typeName(nodes []*pg.Node) error {
	n, ok := d.found.name("type", nodes)
	if ok {
		d.types = append(d.types, n)
	}
	return nil
}

func (d *ddl) createTable(s *pg.CreateStmt) error {
	d.creates(s.Relation, 'r')
	if s.Partspec != nil {
		d.create[len(d.create)-1].kind = 'p'
	}
	for _, n := range s.InhRelations { // INHERITS and PARTITION OF change the parent
		d.write(n.GetRangeVar(), "table")
	}
	if s.Tablespacename != "" {
		return unsupported("TABLESPACE is the operator's choice", "Leave it out.")
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
		return unsupported("TABLESPACE is the operator's choice", "Leave it out.")
	}
	return d.query(s.Query)
}

func (d *ddl) rename(s *pg.RenameStmt) error {
	kind, ok := map[pg.ObjectType]string{
		pg.ObjectType_OBJECT_TABLE: "table", pg.ObjectType_OBJECT_VIEW: "view", pg.ObjectType_OBJECT_INDEX: "index",
		pg.ObjectType_OBJECT_SEQUENCE: "sequence", pg.ObjectType_OBJECT_MATVIEW: "materialized view",
		pg.ObjectType_OBJECT_COLUMN: "", pg.ObjectType_OBJECT_TABCONSTRAINT: "table",
	}[s.RenameType]
	if !ok || s.Relation == nil {
		return unsupported("Renaming this kind of object is not supported", "Tables, views, columns, constraints, indexes and sequences can be renamed.")
	}
	d.label, d.ifThere = "ALTER TABLE RENAME", s.MissingOk
	d.cascade = s.Behavior == pg.DropBehavior_DROP_CASCADE
	old := d.write(s.Relation, "")
	switch s.RenameType {
	case pg.ObjectType_OBJECT_COLUMN:
		d.renames = append(d.renames, renameThing{old, s.Subname, s.Newname})
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
	case pg.ObjectType_OBJECT_INDEX:
		d.create = append(d.create, newThing{name: Name{Name: s.Newname}, beside: old, kind: 'i', free: true})
	default:
		kindByte := map[string]byte{"table": 'r', "view": 'v', "sequence": 'S', "materialized view": 'm'}[kind]
		d.renames = append(d.renames, renameThing{rel: old, to: s.Newname})
		d.create = append(d.create, newThing{name: Name{Name: s.Newname}, beside: old, kind: kindByte})
	}
	return nil
}

func (d *ddl) setSchema(s *pg.AlterObjectSchemaStmt) error {
	kind, ok := map[pg.ObjectType]byte{
		pg.ObjectType_OBJECT_TABLE: 'r', pg.ObjectType_OBJECT_VIEW: 'v',
		pg.ObjectType_OBJECT_SEQUENCE: 'S', pg.ObjectType_OBJECT_MATVIEW: 'm',
	}[s.ObjectType]
	if !ok || s.Relation == nil {
		return unsupported("Moving this kind of object to another schema is not supported", "Tables, views and sequences can be moved.")
	}
	d.label, d.ifThere = "ALTER TABLE SET SCHEMA", s.MissingOk
	old := d.write(s.Relation, "")
	d.create = append(d.create, newThing{name: Name{Schema: s.Newschema, Name: old.Name}, kind: kind})
	return nil
}

func (d *ddl) drop(s *pg.DropStmt) error {
	kind, ok := map[pg.ObjectType]string{
		pg.ObjectType_OBJECT_TABLE: "table", pg.ObjectType_OBJECT_VIEW: "view", pg.ObjectType_OBJECT_INDEX: "index",
		pg.ObjectType_OBJECT_SEQUENCE: "sequence", pg.ObjectType_OBJECT_MATVIEW: "materialized view",
		pg.ObjectType_OBJECT_TYPE: "type",
	}[s.RemoveType]
	switch {
	case !ok:
		return unsupported("Dropping this kind of object is not supported", "Tables, views, indexes, sequences and types can be dropped.")
	case s.Concurrent:
		return unsupported("DROP INDEX CONCURRENTLY cannot run inside a transaction, so it cannot be previewed", "Leave CONCURRENTLY out, or ask the operator.")
	}
	d.label = map[string]string{
		"table": "DROP TABLE", "view": "DROP VIEW", "index": "DROP INDEX", "sequence": "DROP SEQUENCE",
		"materialized view": "DROP MATERIALIZED VIEW", "type": "DROP TYPE",
	}[kind]
	d.cascade = s.Behavior == pg.DropBehavior_DROP_CASCADE
	d.ifThere = s.MissingOk
	for _, o := range s.Objects {
		if kind == "type" {
			if err := d.typeName(o.GetTypeName().GetNames()); err != nil {
				return err
			}
			continue
		}
		n, ok := d.found.name(kind, o.GetList().GetItems())
		if !ok {
			return d.found.err
		}
		d.writeName(n, kind)
		d.drops = append(d.drops, dropThing{kind: kind, rel: n})
	}
	return nil
}

func (d *ddl) index(s *pg.IndexStmt) error {
	d.label = "CREATE INDEX"
	switch {
	case s.Concurrent:
		return unsupported("CREATE INDEX CONCURRENTLY cannot run inside a transaction, so it cannot be previewed",
			"Leave CONCURRENTLY out (the table is locked for writes while it is built), or ask the operator.")
	case s.TableSpace != "":
		return unsupported("TABLESPACE is the operator's choice", "Leave it out.")
	}
	on := d.write(s.Relation, "")
	d.heavy = append(d.heavy, heavyThing{on, HeavyIndex})
	if s.Idxname != "" {
		d.create = append(d.create, newThing{name: Name{Name: s.Idxname}, beside: on, kind: 'i', free: true})
	}
	return nil
}

func (d *ddl) comment(s *pg.CommentStmt) error {
	items := s.GetObject().GetList().GetItems()
	cut := 0
	switch s.Objtype {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_INDEX,
		pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW:
	case pg.ObjectType_OBJECT_COLUMN, pg.ObjectType_OBJECT_TABCONSTRAINT:
		cut = 1 // the last part is the column or the constraint
	case pg.ObjectType_OBJECT_TYPE:
		return d.typeName(s.GetObject().GetTypeName().GetNames())
	default:
		return unsupported("A comment on this kind of object is not supported", "Tables, columns, constraints, indexes, views, sequences and types can have one.")
	}
	if len(items) <= cut {
		return unsupported("The comment names no table", "Write COMMENT ON COLUMN schema.table.column.")
	}
	n, ok := d.found.name("table", items[:len(items)-cut])
	if !ok {
		return d.found.err
	}
	d.writeName(n, "")
	return nil
}

// sequenceOptions finds the table of OWNED BY, which the statement ties the sequence to.
func (d *ddl) sequenceOptions(options []*pg.Node) error {
	for _, o := range options {
		e := o.GetDefElem()
		if e.GetDefname() != "owned_by" {
			continue
		}
		items := e.GetArg().GetList().GetItems()
		if len(items) < 2 { // OWNED BY NONE
			continue
		}
		n, ok := d.found.name("table", items[:len(items)-1])
		if !ok {
			return d.found.err
		}
		d.writeName(n, "table")
	}
	return nil
}
