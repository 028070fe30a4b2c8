package sqlguard

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// alterForms are the sub-commands of ALTER TABLE that are taken. Those that are not: ownership,
// row security, rules, triggers on and off, tablespaces, replica identity, typed tables.
var alterForms = map[pg.AlterTableType]bool{
	pg.AlterTableType_AT_AddColumn:          true,
	pg.AlterTableType_AT_ColumnDefault:      true,
	pg.AlterTableType_AT_DropNotNull:        true,
	pg.AlterTableType_AT_SetNotNull:         true,
	pg.AlterTableType_AT_DropExpression:     true,
	pg.AlterTableType_AT_SetStatistics:      true,
	pg.AlterTableType_AT_SetOptions:         true,
	pg.AlterTableType_AT_ResetOptions:       true,
	pg.AlterTableType_AT_SetStorage:         true,
	pg.AlterTableType_AT_SetCompression:     true,
	pg.AlterTableType_AT_DropColumn:         true,
	pg.AlterTableType_AT_AddConstraint:      true,
	pg.AlterTableType_AT_AlterConstraint:    true,
	pg.AlterTableType_AT_ValidateConstraint: true,
	pg.AlterTableType_AT_DropConstraint:     true,
	pg.AlterTableType_AT_AlterColumnType:    true,
	pg.AlterTableType_AT_SetRelOptions:      true,
	pg.AlterTableType_AT_ResetRelOptions:    true,
	pg.AlterTableType_AT_AddInherit:         true,
	pg.AlterTableType_AT_DropInherit:        true,
	pg.AlterTableType_AT_AttachPartition:    true,
	pg.AlterTableType_AT_DetachPartition:    true,
	pg.AlterTableType_AT_AddIdentity:        true,
	pg.AlterTableType_AT_SetIdentity:        true,
	pg.AlterTableType_AT_DropIdentity:       true,
	pg.AlterTableType_AT_SetLogged:          true,
	pg.AlterTableType_AT_SetUnLogged:        true,
	pg.AlterTableType_AT_ClusterOn:          true,
	pg.AlterTableType_AT_DropCluster:        true,
}

var alterRefused = map[pg.AlterTableType]string{
	pg.AlterTableType_AT_ChangeOwner:        "Ownership is the operator's",
	pg.AlterTableType_AT_SetTableSpace:      "TABLESPACE is the operator's choice",
	pg.AlterTableType_AT_EnableRowSecurity:  "Row security is the operator's",
	pg.AlterTableType_AT_DisableRowSecurity: "Row security is the operator's",
	pg.AlterTableType_AT_ForceRowSecurity:   "Row security is the operator's",
	pg.AlterTableType_AT_NoForceRowSecurity: "Row security is the operator's",
	pg.AlterTableType_AT_DisableTrig:        "Switching triggers off is the operator's",
	pg.AlterTableType_AT_DisableTrigAll:     "Switching triggers off is the operator's",
	pg.AlterTableType_AT_DisableTrigUser:    "Switching triggers off is the operator's",
}

func (d *ddl) alterTable(s *pg.AlterTableStmt) error {
	switch s.Objtype {
	case pg.ObjectType_OBJECT_TABLE:
		d.label = "ALTER TABLE"
	case pg.ObjectType_OBJECT_VIEW:
		d.label = "ALTER VIEW"
	default:
		return unsupported("ALTER of this kind of object is not supported", "ALTER TABLE, ALTER VIEW and ALTER SEQUENCE are.")
	}
	d.ifThere = s.MissingOk
	rel := d.write(s.Relation, "")
	for _, n := range s.Cmds {
		c := n.GetAlterTableCmd()
		if c == nil {
			return unsupported("This form of ALTER TABLE is not supported", "Use a plain sub-command.")
		}
		if why, ok := alterRefused[c.Subtype]; ok {
			return unsupported(why, "Ask the operator.")
		}
		if !alterForms[c.Subtype] {
			return unsupported(fmt.Sprintf("The sub-command %s of ALTER TABLE is not supported", alterName(c.Subtype)),
				"Columns, constraints, defaults, types, identity, inheritance, partitions and storage options can be changed.")
		}
		if err := d.subCommand(rel, c); err != nil {
			return err
		}
		if h := heavyOf(c); h != "" {
			d.heavy = append(d.heavy, heavyThing{heavyTable(rel, c), h})
		}
	}
	return nil
}

func alterName(t pg.AlterTableType) string {
	const prefix = "AT_"
	if s := t.String(); len(s) > len(prefix) {
		return s[len(prefix):]
	}
	return t.String()
}

func (d *ddl) subCommand(rel Name, c *pg.AlterTableCmd) error {
	d.cascade = d.cascade || c.Behavior == pg.DropBehavior_DROP_CASCADE
	switch c.Subtype {
	case pg.AlterTableType_AT_DropColumn:
		d.drops = append(d.drops, dropThing{kind: "column", rel: rel, column: c.Name})
	case pg.AlterTableType_AT_DropConstraint:
		d.drops = append(d.drops, dropThing{kind: "constraint", rel: rel, column: c.Name})
	case pg.AlterTableType_AT_AddInherit, pg.AlterTableType_AT_DropInherit:
		d.write(c.GetDef().GetRangeVar(), "table")
	case pg.AlterTableType_AT_AttachPartition, pg.AlterTableType_AT_DetachPartition:
		cmd := c.GetDef().GetPartitionCmd()
		if cmd == nil {
			return unsupported("This form of ATTACH or DETACH is not supported", "Use ATTACH PARTITION or DETACH PARTITION.")
		}
		if cmd.Concurrent {
			return unsupported("DETACH PARTITION CONCURRENTLY cannot run inside a transaction", "Leave CONCURRENTLY out.")
		}
		d.write(cmd.Name, "")
	}
	return nil
}
