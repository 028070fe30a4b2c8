package sqlguard

import (
	pg "github.com/pganalyze/pg_query_go/v5"
)

// relationKind is what a kind of relation is called, and its pg_class.relkind.
type relationKind struct {
	name string
	kind byte
}

var relationKinds = map[pg.ObjectType]relationKind{
	pg.ObjectType_OBJECT_TABLE:    {"table", 'r'},
	pg.ObjectType_OBJECT_VIEW:     {"view", 'v'},
	pg.ObjectType_OBJECT_MATVIEW:  {"materialized view", 'm'},
	pg.ObjectType_OBJECT_INDEX:    {"index", 'i'},
	pg.ObjectType_OBJECT_SEQUENCE: {"sequence", 'S'},
}

func (d *ddl) rename(s *pg.RenameStmt) error {
	d.ifThere = s.MissingOk
	d.cascade = s.Behavior == pg.DropBehavior_DROP_CASCADE
	switch s.RenameType {
	case pg.ObjectType_OBJECT_TYPE:
		d.label = "ALTER TYPE RENAME"
		d.typeList(s.GetObject().GetList().GetItems())
		return nil
	case pg.ObjectType_OBJECT_DOMAIN, pg.ObjectType_OBJECT_DOMCONSTRAINT:
		d.label = "ALTER DOMAIN RENAME"
		d.typeList(s.GetObject().GetList().GetItems())
		return nil
	case pg.ObjectType_OBJECT_COLUMN, pg.ObjectType_OBJECT_TABCONSTRAINT:
		if s.Relation == nil || s.RelationType == pg.ObjectType_OBJECT_FOREIGN_TABLE {
			return refuseObject(pg.ObjectType_OBJECT_FOREIGN_TABLE)
		}
		d.label = "ALTER TABLE RENAME"
		old := d.write(s.Relation, "")
		if s.RenameType == pg.ObjectType_OBJECT_COLUMN {
			d.renames = append(d.renames, renameThing{old, s.Subname, s.Newname})
		}
		return nil
	}
	k, ok := relationKinds[s.RenameType]
	if !ok || s.Relation == nil {
		return refuseObject(s.RenameType)
	}
	d.label = "ALTER " + upper(k.name) + " RENAME"
	old := d.write(s.Relation, "")
	thing := newThing{name: Name{Name: s.Newname}, beside: old, kind: k.kind}
	if k.kind == 'i' {
		thing.free = true
	} else {
		d.renames = append(d.renames, renameThing{rel: old, to: s.Newname})
	}
	d.create = append(d.create, thing)
	return nil
}

func (d *ddl) setSchema(s *pg.AlterObjectSchemaStmt) error {
	d.ifThere = s.MissingOk
	switch s.ObjectType {
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		d.label = "ALTER TYPE SET SCHEMA"
		items := s.GetObject().GetList().GetItems()
		d.typeList(items)
		if parts := strs(items); len(parts) > 0 {
			d.newTypes = append(d.newTypes, Name{Schema: s.Newschema, Name: parts[len(parts)-1]})
		}
		return nil
	}
	k, ok := relationKinds[s.ObjectType]
	if !ok || s.Relation == nil {
		return refuseObject(s.ObjectType)
	}
	d.label = "ALTER " + upper(k.name) + " SET SCHEMA"
	old := d.write(s.Relation, "")
	d.create = append(d.create, newThing{name: Name{Schema: s.Newschema, Name: old.Name}, kind: k.kind})
	return nil
}

func (d *ddl) drop(s *pg.DropStmt) error {
	d.cascade = s.Behavior == pg.DropBehavior_DROP_CASCADE
	d.ifThere = s.MissingOk
	if s.Concurrent {
		return formConcurrently.refuse()
	}
	for _, o := range s.Objects {
		items := o.GetList().GetItems()
		switch s.RemoveType {
		case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
			d.label = map[pg.ObjectType]string{pg.ObjectType_OBJECT_TYPE: "DROP TYPE", pg.ObjectType_OBJECT_DOMAIN: "DROP DOMAIN"}[s.RemoveType]
			d.typeList(o.GetTypeName().GetNames())
		case pg.ObjectType_OBJECT_TRIGGER: // the last word is the trigger
			d.label = "DROP TRIGGER"
			if n, ok := d.writeList(items[:len(items)-1], ""); ok {
				d.drops = append(d.drops, dropThing{kind: "trigger", rel: n, column: items[len(items)-1].GetString_().GetSval()})
			}
		case pg.ObjectType_OBJECT_STATISTIC_EXT:
			d.label = "DROP STATISTICS"
			d.statistics(items)
		default:
			k, ok := relationKinds[s.RemoveType]
			if !ok {
				return refuseObject(s.RemoveType)
			}
			d.label = "DROP " + upper(k.name)
			if n, ok := d.writeList(items, k.name); ok {
				d.drops = append(d.drops, dropThing{kind: k.name, rel: n})
			}
		}
	}
	return d.found.err
}

func (d *ddl) comment(s *pg.CommentStmt) error {
	items := s.GetObject().GetList().GetItems()
	cut := 0
	switch s.Objtype {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_INDEX,
		pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW:
	case pg.ObjectType_OBJECT_COLUMN, pg.ObjectType_OBJECT_TABCONSTRAINT, pg.ObjectType_OBJECT_TRIGGER:
		cut = 1 // the last part is the column, the constraint or the trigger
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		d.typeList(s.GetObject().GetTypeName().GetNames())
		return nil
	case pg.ObjectType_OBJECT_DOMCONSTRAINT:
		if len(items) > 0 {
			d.typeList(items[0].GetTypeName().GetNames())
		}
		return nil
	case pg.ObjectType_OBJECT_STATISTIC_EXT:
		d.statistics(items)
		d.locksNothing = true
		return nil
	default:
		return refuseObject(s.Objtype)
	}
	if len(items) <= cut {
		return unsupported("The comment names no table", "Write COMMENT ON COLUMN schema.table.column.")
	}
	d.writeList(items[:len(items)-cut], "")
	return d.found.err
}

// statistics notes an existing statistics object; its table is looked up.
func (d *ddl) statistics(items []*pg.Node) {
	if n, ok := d.found.name("statistics", items); ok {
		d.stats = append(d.stats, n)
		d.found.statistics = append(d.found.statistics, n)
	}
}

func (d *ddl) createStatistics(s *pg.CreateStatsStmt) error {
	for _, r := range s.Relations {
		rv := r.GetRangeVar()
		if rv == nil {
			return unsupported("Statistics are for tables", "Name a table in FROM.")
		}
		d.write(rv, "")
	}
	if len(s.Defnames) == 0 { // since Postgres 16: a name that is free, in the schema of the table
		return nil
	}
	if n, ok := d.found.name("statistics", s.Defnames); ok {
		d.create = append(d.create, newThing{name: n})
	}
	return nil
}

// createTrigger takes the function as one that the text calls: from then on every change of the table does,
// previews included. FROM of a constraint trigger is found by the walk and counts as read.
func (d *ddl) createTrigger(s *pg.CreateTrigStmt) error {
	d.write(s.Relation, "")
	if n, ok := d.found.name("function", s.Funcname); ok {
		d.trigger = n
		d.found.calls = append(d.found.calls, call{name: n})
	}
	return nil
}

// alterDomain: a new CHECK, NOT NULL, and VALIDATE hold against every column of the domain, in any schema.
func (d *ddl) alterDomain(s *pg.AlterDomainStmt) error {
	d.ifThere = false // IF EXISTS is about the constraint
	d.cascade = s.Behavior == pg.DropBehavior_DROP_CASCADE
	d.typeList(s.TypeName)
	switch s.Subtype {
	case "O", "V": // SET NOT NULL, VALIDATE CONSTRAINT
		d.values = true
	case "C":
		d.values = !s.GetDef().GetConstraint().GetSkipValidation()
	case "T", "N", "X": // a default, DROP NOT NULL, DROP CONSTRAINT
	default:
		return unsupported("This form of ALTER DOMAIN is not supported", "Defaults, NOT NULL and constraints can be changed.")
	}
	return nil
}
