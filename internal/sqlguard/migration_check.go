package sqlguard

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// ddlForm checks what the form named and describes it.
func (g *Guard) ddlForm(d *ddl, v *verdict) (DDLForm, error) {
	out := DDLForm{Form: d.label, Cascade: d.cascade}
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
		case !c.free && !g.CanWrite(schema, c.name.Name):
			return out, refusal.New(refusal.TableNotWritable,
				fmt.Sprintf("%s would come into being, and it is not in the write allowlist.", QuoteName(schema, c.name.Name)),
				"Ask the operator to add its schema (or, where tables are listed, this name) to allowlist.write. "+g.writableNow())
		}
		out.Creates = append(out.Creates, Target{Schema: schema, Name: c.name.Name, Kind: c.kind})
	}
	for _, n := range d.types {
		schema := n.Schema
		if schema == "" {
			schema = creationSchema(v.facts.SearchPath)
		}
		if schema == "" || neverWritableSchema(schema) || !g.policy.Write.touches(schema) {
			return out, refusal.New(refusal.TableNotWritable, fmt.Sprintf("The schema of type %s is not in the write allowlist.", n),
				"Write the type's name with a schema that the write allowlist names.")
		}
		if out.Form == "DROP TYPE" {
			out.Drops = append(out.Drops, DropName{Type: "type", Relation: QuoteName(schema, n.Name)})
		}
	}
	for _, dr := range d.drops {
		rel := v.facts.Relations[dr.rel]
		out.Drops = append(out.Drops, DropName{Type: dr.kind, Relation: QuoteName(rel.Schema, rel.Name), Column: dr.column})
	}
	for _, h := range d.heavy {
		if rel, ok := v.facts.Relations[h.table]; ok {
			out.Heavy = append(out.Heavy, HeavyPart{Kind: h.kind, Table: rel.target()})
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

// unsupportedForm says what a statement is and what to do instead.
func unsupportedForm(node *pg.Node) error {
	switch node.Node.(type) {
	case *pg.Node_SelectStmt:
		return refusal.New(refusal.InvalidInput, "This is a query, not a migration.", "Use query.")
	case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt:
		return refusal.New(refusal.InvalidInput, "This changes rows; it is not a migration.", usePreview)
	case *pg.Node_ExplainStmt:
		return refusal.New(refusal.InvalidInput, "EXPLAIN is not a migration.", "Use explain_plan.")
	case *pg.Node_TruncateStmt:
		return unsupported("TRUNCATE is not supported", "Use delete_rows with confirm_full_table: true, which shows what it would remove.")
	case *pg.Node_TransactionStmt:
		return unsupported("Transaction control is not supported", "Each plan is a transaction of its own; only execute_plan commits.")
	case *pg.Node_GrantStmt, *pg.Node_GrantRoleStmt, *pg.Node_AlterDefaultPrivilegesStmt, *pg.Node_AlterOwnerStmt,
		*pg.Node_ReassignOwnedStmt, *pg.Node_DropOwnedStmt:
		return unsupported("Grants and ownership are the operator's", "Ask the operator to run it.")
	case *pg.Node_CreateRoleStmt, *pg.Node_AlterRoleStmt, *pg.Node_AlterRoleSetStmt, *pg.Node_DropRoleStmt:
		return unsupported("Roles are the operator's", "Ask the operator to run it.")
	case *pg.Node_CreateFunctionStmt, *pg.Node_AlterFunctionStmt, *pg.Node_CreateTrigStmt, *pg.Node_RuleStmt,
		*pg.Node_CreateEventTrigStmt, *pg.Node_DoStmt, *pg.Node_CallStmt, *pg.Node_CreatePlangStmt:
		return unsupported("Code inside the database (functions, triggers, rules, DO, CALL) is not supported", "Ask the operator to install it.")
	case *pg.Node_CreateExtensionStmt, *pg.Node_AlterExtensionStmt, *pg.Node_AlterExtensionContentsStmt:
		return unsupported("Extensions are the operator's", "Ask the operator to install it.")
	case *pg.Node_VacuumStmt, *pg.Node_ReindexStmt, *pg.Node_ClusterStmt, *pg.Node_CheckPointStmt, *pg.Node_RefreshMatViewStmt:
		return unsupported("Maintenance is not a migration", "Ask the operator to run it.")
	case *pg.Node_CreatedbStmt, *pg.Node_DropdbStmt, *pg.Node_AlterDatabaseStmt, *pg.Node_AlterDatabaseSetStmt,
		*pg.Node_AlterSystemStmt, *pg.Node_VariableSetStmt, *pg.Node_CreateTableSpaceStmt, *pg.Node_DropTableSpaceStmt:
		return unsupported("Settings and databases are the operator's", "Ask the operator to run it.")
	case *pg.Node_CreateSchemaStmt:
		return unsupported("CREATE SCHEMA is not supported: a new schema is in no allowlist", "Ask the operator to create and allowlist it.")
	case *pg.Node_CreatePolicyStmt, *pg.Node_AlterPolicyStmt:
		return unsupported("Row security is the operator's", "Ask the operator to run it.")
	case *pg.Node_CreateFdwStmt, *pg.Node_CreateForeignServerStmt, *pg.Node_CreateForeignTableStmt, *pg.Node_CreateUserMappingStmt,
		*pg.Node_AlterForeignServerStmt, *pg.Node_AlterUserMappingStmt, *pg.Node_ImportForeignSchemaStmt,
		*pg.Node_CreatePublicationStmt, *pg.Node_CreateSubscriptionStmt, *pg.Node_AlterPublicationStmt, *pg.Node_AlterSubscriptionStmt:
		return unsupported("Foreign data and replication are the operator's", "Ask the operator to run it.")
	case *pg.Node_CopyStmt:
		return unsupported("COPY is not supported", "Use insert_rows to write and query to read.")
	case *pg.Node_LockStmt, *pg.Node_NotifyStmt, *pg.Node_ListenStmt, *pg.Node_DeclareCursorStmt, *pg.Node_PrepareStmt,
		*pg.Node_ExecuteStmt, *pg.Node_DiscardStmt, *pg.Node_LoadStmt, *pg.Node_VariableShowStmt:
		return unsupported("This is no change of the schema", "Send a DDL statement.")
	}
	return unsupported("This form of DDL is not supported",
		"CREATE, ALTER and DROP of tables, indexes, views, sequences and enum types, and COMMENT, are.")
}
