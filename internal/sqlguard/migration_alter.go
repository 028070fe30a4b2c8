package sqlguard

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// alterForms are the sub-commands of ALTER TABLE that are taken. Those that are not stand in refusedForms;
// TestEverySubCommandHasAForm holds that none is in neither.
var alterForms = map[pg.AlterTableType]bool{
	pg.AlterTableType_AT_AddColumn:               true,
	pg.AlterTableType_AT_ColumnDefault:           true,
	pg.AlterTableType_AT_DropNotNull:             true,
	pg.AlterTableType_AT_SetNotNull:              true,
	pg.AlterTableType_AT_DropExpression:          true,
	pg.AlterTableType_AT_SetStatistics:           true,
	pg.AlterTableType_AT_SetOptions:              true,
	pg.AlterTableType_AT_ResetOptions:            true,
	pg.AlterTableType_AT_SetStorage:              true,
	pg.AlterTableType_AT_SetCompression:          true,
	pg.AlterTableType_AT_DropColumn:              true,
	pg.AlterTableType_AT_AddConstraint:           true,
	pg.AlterTableType_AT_AlterConstraint:         true,
	pg.AlterTableType_AT_ValidateConstraint:      true,
	pg.AlterTableType_AT_DropConstraint:          true,
	pg.AlterTableType_AT_AlterColumnType:         true,
	pg.AlterTableType_AT_SetRelOptions:           true,
	pg.AlterTableType_AT_ResetRelOptions:         true,
	pg.AlterTableType_AT_AddInherit:              true,
	pg.AlterTableType_AT_DropInherit:             true,
	pg.AlterTableType_AT_AttachPartition:         true,
	pg.AlterTableType_AT_DetachPartition:         true,
	pg.AlterTableType_AT_AddIdentity:             true,
	pg.AlterTableType_AT_SetIdentity:             true,
	pg.AlterTableType_AT_DropIdentity:            true,
	pg.AlterTableType_AT_SetLogged:               true,
	pg.AlterTableType_AT_SetUnLogged:             true,
	pg.AlterTableType_AT_ClusterOn:               true,
	pg.AlterTableType_AT_DropCluster:             true,
	pg.AlterTableType_AT_DropOids:                true, // does nothing since Postgres 12
	pg.AlterTableType_AT_AddOf:                   true,
	pg.AlterTableType_AT_DropOf:                  true,
	pg.AlterTableType_AT_ReplicaIdentity:         true,
	pg.AlterTableType_AT_SetAccessMethod:         true,
	pg.AlterTableType_AT_DetachPartitionFinalize: true,
	pg.AlterTableType_AT_EnableRowSecurity:       true, // shows less, never more
	pg.AlterTableType_AT_ForceRowSecurity:        true,
	pg.AlterTableType_AT_EnableTrig:              true,
	pg.AlterTableType_AT_EnableAlwaysTrig:        true,
	pg.AlterTableType_AT_EnableReplicaTrig:       true,
	pg.AlterTableType_AT_DisableTrig:             true,
	pg.AlterTableType_AT_EnableTrigUser:          true,
	pg.AlterTableType_AT_DisableTrigUser:         true,
}

// alterable are what ALTER TABLE and its sisters can stand for here.
var alterable = map[pg.ObjectType]bool{
	pg.ObjectType_OBJECT_TABLE: true, pg.ObjectType_OBJECT_VIEW: true, pg.ObjectType_OBJECT_INDEX: true,
	pg.ObjectType_OBJECT_MATVIEW: true, pg.ObjectType_OBJECT_SEQUENCE: true,
}

func (d *ddl) alterTable(s *pg.AlterTableStmt) error {
	if !alterable[s.Objtype] {
		if s.Objtype == pg.ObjectType_OBJECT_TYPE {
			return refuseObject(pg.ObjectType_OBJECT_ATTRIBUTE)
		}
		return refuseObject(s.Objtype)
	}
	d.label = "ALTER " + upper(relationKinds[s.Objtype].name)
	d.ifThere = s.MissingOk
	d.only = !s.Relation.GetInh()
	rel := d.write(s.Relation, "")
	for _, n := range s.Cmds {
		c := n.GetAlterTableCmd()
		if c == nil {
			return unsupported("This form of ALTER TABLE is not supported", "Use a plain sub-command.")
		}
		if !alterForms[c.Subtype] {
			return refuseCommand(c.Subtype)
		}
		if err := d.subCommand(rel, c); err != nil {
			return err
		}
		if h := heavyOf(c); h != "" {
			d.heavy = append(d.heavy, heavyThing{table: heavyTable(rel, c), kind: h, typ: addedType(c)})
		}
		if c.Subtype == pg.AlterTableType_AT_AttachPartition {
			d.heavy = append(d.heavy, heavyThing{table: rel, kind: HeavyDefaultOf})
		}
	}
	return nil
}

func upper(kind string) string { return strings.ToUpper(kind) }

func (d *ddl) subCommand(rel Name, c *pg.AlterTableCmd) error {
	d.cascade = d.cascade || c.Behavior == pg.DropBehavior_DROP_CASCADE
	switch c.Subtype {
	case pg.AlterTableType_AT_DropColumn:
		d.drops = append(d.drops, dropThing{kind: "column", rel: rel, column: c.Name})
	case pg.AlterTableType_AT_ColumnDefault, pg.AlterTableType_AT_DropExpression:
		if c.Def == nil { // DROP DEFAULT
			d.drops = append(d.drops, dropThing{kind: "default", rel: rel, column: c.Name})
		}
	case pg.AlterTableType_AT_DropConstraint:
		d.drops = append(d.drops, dropThing{kind: "constraint", rel: rel, column: c.Name})
	case pg.AlterTableType_AT_AddInherit, pg.AlterTableType_AT_DropInherit:
		d.write(c.GetDef().GetRangeVar(), "table")
	case pg.AlterTableType_AT_AttachPartition, pg.AlterTableType_AT_DetachPartition, pg.AlterTableType_AT_DetachPartitionFinalize:
		cmd := c.GetDef().GetPartitionCmd()
		if cmd == nil {
			return unsupported("This form of ATTACH or DETACH is not supported", "Use ATTACH PARTITION or DETACH PARTITION.")
		}
		if cmd.Concurrent {
			return formConcurrently.refuse()
		}
		d.write(cmd.Name, "")
	}
	return nil
}
