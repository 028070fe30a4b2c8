package sqlguard

import (
	pg "github.com/pganalyze/pg_query_go/v5"
)

// Heavy is a part of a migration that may rewrite or scan a whole table under its lock.
type Heavy string

// The kinds (manual, ALTER TABLE, Notes; CREATE INDEX). What is not among them is free of both: adding a
// column without a default or with a constant one, dropping, renaming, defaults, NOT VALID constraints.
const (
	HeavyType       Heavy = "type"              // ALTER COLUMN TYPE: a rewrite, unless the values may stay as they are
	HeavyDefault    Heavy = "default"           // ADD COLUMN with a default or expression that is worked out for each row
	HeavyNotNull    Heavy = "not null"          // SET NOT NULL: a scan
	HeavyCheck      Heavy = "check"             // ADD CHECK without NOT VALID: a scan
	HeavyForeignKey Heavy = "foreign key"       // ADD FOREIGN KEY without NOT VALID: a scan of both tables
	HeavyUnique     Heavy = "unique"            // ADD PRIMARY KEY, UNIQUE or EXCLUDE without USING INDEX: an index build
	HeavyValidate   Heavy = "validate"          // VALIDATE CONSTRAINT: a scan that blocks no writes
	HeavyIndex      Heavy = "index"             // CREATE INDEX: an index build
	HeavyPartition  Heavy = "partition"         // ATTACH PARTITION: a scan of the partition
	HeavyStorage    Heavy = "storage"           // SET LOGGED, SET UNLOGGED, SET ACCESS METHOD: a rewrite
	HeavyDomain     Heavy = "domain"            // ADD COLUMN of a type that may be a domain with a constraint or default: a rewrite
	HeavyDefaultOf  Heavy = "default partition" // a new partition: a scan of the default partition, for rows that belong to it now
)

// heavyThing is a heavy part and the table that it rewrites or scans.
type heavyThing struct {
	table Name
	kind  Heavy
	typ   Name // of HeavyDomain
}

// renameThing is a new name of a column, or (column "") of the relation.
type renameThing struct {
	rel        Name
	column, to string
}

func (h heavyThing) typeText() string {
	if h.kind != HeavyDomain {
		return ""
	}
	return h.typ.String()
}

// heavyTable is the table that a sub-command works through: the partition where one is attached.
func heavyTable(rel Name, c *pg.AlterTableCmd) Name {
	if p := c.GetDef().GetPartitionCmd().GetName(); c.Subtype == pg.AlterTableType_AT_AttachPartition && p != nil {
		return Name{Schema: p.Schemaname, Name: p.Relname}
	}
	return rel
}

// heavyOf finds the heavy part of one sub-command of ALTER TABLE, "" for none. It errs to the heavy side:
// what a part really did is measured.
func heavyOf(c *pg.AlterTableCmd) Heavy {
	switch c.Subtype {
	case pg.AlterTableType_AT_AlterColumnType:
		return HeavyType
	case pg.AlterTableType_AT_SetNotNull:
		return HeavyNotNull
	case pg.AlterTableType_AT_ValidateConstraint:
		return HeavyValidate
	case pg.AlterTableType_AT_AttachPartition:
		return HeavyPartition
	case pg.AlterTableType_AT_SetLogged, pg.AlterTableType_AT_SetUnLogged, pg.AlterTableType_AT_SetAccessMethod:
		return HeavyStorage
	case pg.AlterTableType_AT_AddConstraint:
		return heavyConstraint(c.GetDef().GetConstraint())
	case pg.AlterTableType_AT_AddColumn:
		return heavyColumn(c.GetDef().GetColumnDef())
	default:
		return ""
	}
}

func heavyConstraint(k *pg.Constraint) Heavy {
	switch {
	case k == nil:
		return ""
	case k.Indexname != "" && k.Contype == pg.ConstrType_CONSTR_PRIMARY:
		return HeavyNotNull // a key of columns that may be NULL is looked through for NULLs
	case k.Indexname != "":
		return ""
	}
	switch k.Contype {
	case pg.ConstrType_CONSTR_CHECK:
		if k.SkipValidation {
			return ""
		}
		return HeavyCheck
	case pg.ConstrType_CONSTR_FOREIGN:
		if k.SkipValidation {
			return ""
		}
		return HeavyForeignKey
	case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE, pg.ConstrType_CONSTR_EXCLUSION:
		return HeavyUnique
	default:
		return ""
	}
}

// heavyColumn: a literal is the same for every row, and is kept in the catalog (since Postgres 11).
func heavyColumn(c *pg.ColumnDef) Heavy {
	if c == nil {
		return ""
	}
	for _, n := range c.GetTypeName().GetNames() {
		switch n.GetString_().GetSval() {
		case "serial", "serial2", "serial4", "serial8", "bigserial", "smallserial":
			return HeavyDefault
		}
	}
	filled, refers := false, false
	for _, n := range c.Constraints {
		k := n.GetConstraint()
		switch k.GetContype() {
		case pg.ConstrType_CONSTR_DEFAULT:
			if !literal(k.RawExpr) {
				return HeavyDefault
			}
			filled = true
		case pg.ConstrType_CONSTR_IDENTITY, pg.ConstrType_CONSTR_GENERATED:
			return HeavyDefault
		case pg.ConstrType_CONSTR_FOREIGN:
			refers = heavyConstraint(k) != ""
		default:
			if h := heavyConstraint(k); h != "" {
				return h
			}
		}
	}
	if names := c.GetTypeName().GetNames(); len(names) > 0 && !builtinType(typeOf(names)) {
		return HeavyDomain
	}
	if filled && refers { // without a default the new column is empty and there is nothing to look up
		return HeavyForeignKey
	}
	return ""
}

// literal tells what is the same for every row: a constant, also with casts and a sign, and the time at
// which the transaction or statement began.
func literal(n *pg.Node) bool {
	switch {
	case n.GetAConst() != nil, n.GetSqlvalueFunction() != nil:
		return true
	case n.GetFuncCall() != nil:
		names := n.GetFuncCall().Funcname
		switch names[len(names)-1].GetString_().GetSval() {
		case "now", "transaction_timestamp", "statement_timestamp":
			return len(n.GetFuncCall().Args) == 0
		}
		return false
	case n.GetTypeCast() != nil:
		return literal(n.GetTypeCast().Arg)
	case n.GetAExpr() != nil:
		e := n.GetAExpr()
		return e.Lexpr == nil && literal(e.Rexpr)
	}
	return false
}

// addedType is the type of the column that a sub-command adds.
func addedType(c *pg.AlterTableCmd) Name {
	if names := c.GetDef().GetColumnDef().GetTypeName().GetNames(); len(names) > 0 {
		return typeOf(names)
	}
	return Name{}
}

// typeOf is a type's name as it is written.
func typeOf(names []*pg.Node) Name {
	n := Name{Name: names[len(names)-1].GetString_().GetSval()}
	if len(names) > 1 {
		n.Schema = names[len(names)-2].GetString_().GetSval()
	}
	return n
}
