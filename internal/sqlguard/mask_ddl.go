package sqlguard

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// A migration must not take a masked column, or its table, out from under its mask, nor learn of values by
// what succeeds: a new type of the column, a foreign key, a statistics object. Expressions and queries in it
// are judged by the walk over the whole text, in which no output column is the outermost. See
// TestMigrationsDoNotUncover.

// cleanForms are what may be done to a view that reads a masked column: nothing of its rows is read.
var cleanForms = map[string]bool{
	"DROP VIEW": true, "DROP MATERIALIZED VIEW": true, "COMMENT": true, "ALTER VIEW RENAME": true, "ALTER MATERIALIZED VIEW RENAME": true,
	"ALTER VIEW SET SCHEMA": true, "ALTER MATERIALIZED VIEW SET SCHEMA": true,
}

// covered refuses such migrations.
func (g *Guard) covered(d *ddl, v *verdict, node *pg.Node) error {
	if !g.masks.on() {
		return nil
	}
	masked := map[Name]map[string]MaskAs{}
	for n, rel := range v.byName {
		if cols := g.maskedColumns(rel); len(cols) > 0 {
			masked[n] = cols
		}
		if maskOf(rel.Mask).Reads && slices.Contains(d.writes, n) && !cleanForms[d.label] {
			return g.maskable(rel)
		}
	}
	switch n := node.Node.(type) {
	case *pg.Node_ViewStmt:
		return g.replacesMasked(d, v)
	case *pg.Node_CreateStmt:
		if err := fits(d, masked, v, n.CreateStmt); err != nil {
			return err
		}
	case *pg.Node_RenameStmt:
		return moved(d, masked, n.RenameStmt)
	case *pg.Node_AlterObjectSchemaStmt:
		return movedTable(d, masked)
	case *pg.Node_AlterTableStmt:
		if err := altered(d, masked, n.AlterTableStmt); err != nil {
			return err
		}
	}
	return d.mentions(node, masked, v)
}

func uncovers(what string) error {
	return refusal.New(refusal.MaskedColumn, what+".", "Leave the masked column and its table as they are, or ask the operator to run it and to adapt the setting mask.")
}

// replacesMasked: a view whose columns are masked by name could be made anew with others that show the same.
func (g *Guard) replacesMasked(d *ddl, v *verdict) error {
	for _, c := range d.create {
		schema, err := g.newSchema(c, v)
		if err != nil {
			return err
		}
		for _, m := range g.masks.list {
			if m.Schema == schema && m.Table == c.name.Name {
				return uncovers(fmt.Sprintf("The columns of %s are masked by name, and a new query could show the same under other names", QuoteName(schema, m.Table)))
			}
		}
	}
	return nil
}

func moved(d *ddl, masked map[Name]map[string]MaskAs, s *pg.RenameStmt) error {
	switch s.RenameType {
	case pg.ObjectType_OBJECT_COLUMN:
		for _, n := range d.writes {
			if _, ok := masked[n][s.Subname]; ok {
				return uncovers(fmt.Sprintf("The column %s is masked by name", QuoteIdent(s.Subname)))
			}
		}
		return nil
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		return nil
	default:
		return movedTable(d, masked)
	}
}

func movedTable(d *ddl, masked map[Name]map[string]MaskAs) error {
	for _, n := range d.writes {
		if len(masked[n]) > 0 {
			return uncovers(fmt.Sprintf("Columns of %s are masked by name", n))
		}
	}
	return nil
}

// altered judges the sub-commands of ALTER TABLE.
func altered(d *ddl, masked map[Name]map[string]MaskAs, s *pg.AlterTableStmt) error {
	for _, item := range s.Cmds {
		c := item.GetAlterTableCmd()
		switch c.GetSubtype() {
		case pg.AlterTableType_AT_AddInherit, pg.AlterTableType_AT_DropInherit, pg.AlterTableType_AT_AttachPartition,
			pg.AlterTableType_AT_DetachPartition, pg.AlterTableType_AT_DetachPartitionFinalize, pg.AlterTableType_AT_AddOf, pg.AlterTableType_AT_DropOf:
			if err := movedTable(d, masked); err != nil {
				return err
			}
		case pg.AlterTableType_AT_AlterColumnType, pg.AlterTableType_AT_DropExpression:
			for _, n := range d.writes {
				if _, ok := masked[n][c.Name]; ok {
					return uncovers(fmt.Sprintf("The column %s is masked, and whether its values fit another definition would tell of them", QuoteIdent(c.Name)))
				}
			}
		default:
		}
	}
	return nil
}

// fits judges a new partition or heir of a table with masked columns: its bounds must not be about these, since
// what fits tells of the rows of a default partition and of the other bounds; and no expression may hold its
// whole row, since which rows can be moved into it would tell. See TestPartitionsDoNotAskMaskedColumns.
func fits(d *ddl, masked map[Name]map[string]MaskAs, v *verdict, s *pg.CreateStmt) error {
	for name := range masked {
		switch {
		case !slices.Contains(d.writes, name):
			continue
		case s.Partbound != nil && maskOf(v.byName[name].Mask).InKey:
			return uncovers(fmt.Sprintf("%s is partitioned by a masked column, and whether a partition fits would tell of its values", name))
		}
		whole := false
		visit(s.ProtoReflect(), func(m protoreflect.Message) {
			if ref, ok := m.Interface().(*pg.ColumnRef); ok {
				whole = whole || slices.ContainsFunc(ref.Fields, func(f *pg.Node) bool { return f.GetString_().GetSval() == s.Relation.GetRelname() })
			}
		})
		if whole {
			return uncovers(fmt.Sprintf("Whole rows of %s hold masked columns", s.Relation.GetRelname()))
		}
	}
	return nil
}

// mentions finds masked columns that are named by words, where no expression stands.
func (d *ddl) mentions(node *pg.Node, masked map[Name]map[string]MaskAs, v *verdict) error {
	own := map[string]bool{}
	for _, n := range d.writes {
		for c := range masked[n] {
			own[c] = true
		}
	}
	var err error
	deny := func(what string) {
		if err == nil {
			err = uncovers(what)
		}
	}
	visit(node.ProtoReflect(), func(m protoreflect.Message) {
		switch n := m.Interface().(type) {
		case *pg.StatsElem:
			if own[n.Name] {
				deny("Statistics of a masked column tell of its values")
			}
		case *pg.PartitionSpec: // of a new partition or heir: which rows may be moved into it would tell
			visit(m, func(m protoreflect.Message) {
				switch n := m.Interface().(type) {
				case *pg.PartitionElem:
					if own[n.Name] {
						deny("A partition key holds the values of a masked column against bounds")
					}
				case *pg.ColumnRef:
					if f := n.Fields; len(f) > 0 && own[f[len(f)-1].GetString_().GetSval()] {
						deny("A partition key holds the values of a masked column against bounds")
					}
				}
			})
		case *pg.Constraint:
			if n.Contype == pg.ConstrType_CONSTR_EXCLUSION && slices.ContainsFunc(n.Exclusions, func(e *pg.Node) bool {
				items := e.GetList().GetItems()
				return len(items) > 0 && own[items[0].GetIndexElem().GetName()]
			}) {
				deny("An exclusion constraint compares the values of a masked column")
			}
			if n.Contype != pg.ConstrType_CONSTR_FOREIGN {
				return
			}
			if slices.ContainsFunc(strs(n.FkAttrs), func(c string) bool { return own[c] }) || d.pointsAt(n, masked, v) {
				deny("A foreign key compares the values of a masked column with others, and may copy them")
			}
		}
	})
	return err
}

// pointsAt tells whether a foreign key refers to a masked column, named or as part of the primary key.
func (d *ddl) pointsAt(c *pg.Constraint, masked map[Name]map[string]MaskAs, v *verdict) bool {
	if c.Pktable == nil {
		return false
	}
	n := Name{Schema: c.Pktable.Schemaname, Name: c.Pktable.Relname}
	columns := strs(c.PkAttrs)
	if len(columns) == 0 {
		columns = v.byName[n].PrimaryKey
	}
	return slices.ContainsFunc(columns, func(name string) bool { _, ok := masked[n][name]; return ok })
}
