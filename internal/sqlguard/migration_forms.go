package sqlguard

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
)

// MigrationForm is one line of what run_migration takes and refuses. The guard decides by the same lines
// that docs/reference.md prints: see TestMigrationFormsAreInTheReference and, for nothing being left out,
// TestEveryStatementHasAForm.
type MigrationForm struct {
	// Statement names the form as the manual does.
	Statement string
	// Write and Read say, of a form that is taken, what is held against the write and the read allowlist.
	Write, Read string
	// Code, Why and Instead are the refusal of a form that is not taken; Code is empty for the others.
	Code         refusal.Code
	Why, Instead string
}

// MigrationForms lists the forms: those that are taken first. The slice is the caller's.
func MigrationForms() []MigrationForm {
	var out []MigrationForm
	for _, f := range takenForms {
		out = append(out, f.MigrationForm)
	}
	for _, f := range refusedForms {
		out = append(out, MigrationForm{Statement: f.statement, Code: f.code, Why: f.why + ".", Instead: f.instead})
	}
	return out
}

// takenForm is a form that is taken. nodes are the grammar's names of the statements that it is.
type takenForm struct {
	MigrationForm
	nodes string
}

func form(nodes, statement, write, read string) takenForm {
	return takenForm{MigrationForm: MigrationForm{Statement: statement, Write: write, Read: read}, nodes: nodes}
}

// takenForms are the forms that are taken, in the order of docs/reference.md.
var takenForms = []takenForm{
	form("create_stmt", "CREATE TABLE, also LIKE, INHERITS, PARTITION OF, OF", "the new table; parents; sequences of its defaults and identity columns", "REFERENCES, LIKE"),
	form("create_table_as_stmt", "CREATE TABLE AS, CREATE MATERIALIZED VIEW", "the new table or view", "what its query reads"),
	form("alter_table_stmt", "ALTER TABLE, ALTER INDEX, ALTER VIEW, ALTER MATERIALIZED VIEW: sub-commands, also ATTACH and DETACH PARTITION, INHERIT",
		"the table, or the table of the index; partitions; parents", "REFERENCES"),
	form("rename_stmt", "ALTER … RENAME of a table, index, view, sequence, type, domain, column, constraint, enum value", "the old name and the new one", ""),
	form("alter_object_schema_stmt", "ALTER … SET SCHEMA of a table, view, sequence, type or domain", "the old place and the new one", ""),
	form("drop_stmt", "DROP TABLE, INDEX, VIEW, MATERIALIZED VIEW, SEQUENCE, TYPE, DOMAIN, TRIGGER, STATISTICS",
		"each that is named; of an index, trigger or statistics object its table, of a sequence its own name or its table's, of a type its schema", ""),
	form("index_stmt", "CREATE [UNIQUE] INDEX", "the table", ""),
	form("view_stmt", "CREATE [OR REPLACE] VIEW", "the view", "what its query reads"),
	form("create_enum_stmt alter_enum_stmt", "CREATE TYPE … AS ENUM, ALTER TYPE … ADD VALUE", "the type's schema", ""),
	form("create_domain_stmt alter_domain_stmt", "CREATE DOMAIN, ALTER DOMAIN", "the domain's schema", ""),
	form("create_seq_stmt alter_seq_stmt", "CREATE SEQUENCE, ALTER SEQUENCE", "the sequence, or its table; the table of OWNED BY", ""),
	form("create_trig_stmt", "CREATE [OR REPLACE] [CONSTRAINT] TRIGGER with a function that exists and is one of the database's own", "the table", "FROM of a constraint trigger; the function"),
	form("create_stats_stmt", "CREATE STATISTICS", "the table; the schema of the new name", ""),
	form("comment_stmt", "COMMENT ON a table, column, constraint, index, view, sequence, type, domain, trigger or statistics object", "what DROP of it would ask for", ""),
}

// refusedForm is a form that is not taken: the statements of the grammar, and the kinds of objects and the
// sub-commands of ALTER TABLE, that it stands for.
type refusedForm struct {
	statement    string
	code         refusal.Code
	why, instead string
	nodes        string
	objects      []pg.ObjectType
	commands     []pg.AlterTableType
}

func (f refusedForm) refuse() error { return refusal.New(f.code, f.why+".", f.instead) }

// Those that a condition finds, not a name of the grammar.
var (
	formConcurrently = refusedForm{
		statement: "CONCURRENTLY: CREATE INDEX, DROP INDEX, DETACH PARTITION", code: refusal.UnsupportedMigration,
		why: "CONCURRENTLY cannot run inside a transaction, so it cannot be previewed", instead: "Leave CONCURRENTLY out (the table is locked while it runs), or ask the operator to run it.",
	}
	formTablespace = refusedForm{
		statement: "TABLESPACE", code: refusal.UnsupportedMigration, nodes: "create_table_space_stmt drop_table_space_stmt alter_table_space_options_stmt alter_table_move_all_stmt",
		why: "TABLESPACE is the operator's choice", instead: "Leave it out.",
		objects: []pg.ObjectType{pg.ObjectType_OBJECT_TABLESPACE}, commands: []pg.AlterTableType{pg.AlterTableType_AT_SetTableSpace},
	}
	formTemporary = refusedForm{
		statement: "TEMPORARY tables, views and sequences", code: refusal.UnsupportedMigration,
		why: "A temporary table or view ends with its session", instead: "Create a permanent one.",
	}
	formMulti = refusedForm{
		statement: "more than one statement", code: refusal.MultiStatement, why: "The text holds more than one statement", instead: "Send one statement per call.",
	}
)

// refusedForms are the forms that are not taken, in the order of docs/reference.md.
var refusedForms = []refusedForm{
	formMulti, formConcurrently, formTablespace, formTemporary,
	{
		statement: "GRANT, REVOKE, ALTER DEFAULT PRIVILEGES", code: refusal.UnsupportedMigration, why: "Grants are the operator's",
		instead: "Ask the operator to run it; what a migration creates gets what the default privileges of its role give.",
		nodes:   "grant_stmt grant_role_stmt alter_default_privileges_stmt", objects: []pg.ObjectType{pg.ObjectType_OBJECT_DEFACL, pg.ObjectType_OBJECT_PARAMETER_ACL},
	},
	{
		statement: "OWNER TO, REASSIGN OWNED, DROP OWNED", code: refusal.UnsupportedMigration, why: "Ownership is the operator's",
		instead: "Ask the operator to run it.", nodes: "alter_owner_stmt reassign_owned_stmt drop_owned_stmt",
		commands: []pg.AlterTableType{pg.AlterTableType_AT_ChangeOwner},
	},
	{
		statement: "DISABLE and NO FORCE ROW LEVEL SECURITY, CREATE, ALTER and DROP POLICY, SECURITY LABEL", code: refusal.UnsupportedMigration,
		why: "Whom row security lets see what is the operator's", instead: "Ask the operator to run it.",
		nodes: "create_policy_stmt alter_policy_stmt sec_label_stmt", objects: []pg.ObjectType{pg.ObjectType_OBJECT_POLICY},
		commands: []pg.AlterTableType{pg.AlterTableType_AT_DisableRowSecurity, pg.AlterTableType_AT_NoForceRowSecurity},
	},
	{
		statement: "ROLE, USER, GROUP: CREATE, ALTER, DROP", code: refusal.UnsupportedMigration, why: "Roles are the operator's", instead: "Ask the operator to run it.",
		nodes: "create_role_stmt alter_role_stmt alter_role_set_stmt drop_role_stmt", objects: []pg.ObjectType{pg.ObjectType_OBJECT_ROLE},
	},
	{
		statement: "FUNCTION, PROCEDURE, AGGREGATE, LANGUAGE, RULE, EVENT TRIGGER; DO, CALL", code: refusal.UnsupportedMigration,
		why: "Code inside the database (functions, rules, event triggers, DO, CALL) is not supported", instead: "Ask the operator to install it; CREATE TRIGGER may use a function that exists.",
		nodes: "create_function_stmt alter_function_stmt rule_stmt create_event_trig_stmt alter_event_trig_stmt do_stmt call_stmt create_plang_stmt create_transform_stmt return_stmt",
		objects: []pg.ObjectType{
			pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE, pg.ObjectType_OBJECT_RULE,
			pg.ObjectType_OBJECT_LANGUAGE, pg.ObjectType_OBJECT_TRANSFORM, pg.ObjectType_OBJECT_EVENT_TRIGGER,
		},
		commands: []pg.AlterTableType{
			pg.AlterTableType_AT_EnableRule, pg.AlterTableType_AT_EnableAlwaysRule, pg.AlterTableType_AT_EnableReplicaRule, pg.AlterTableType_AT_DisableRule,
		},
	},
	{
		statement: "ENABLE and DISABLE TRIGGER ALL", code: refusal.UnsupportedMigration, why: "ALL includes the triggers that hold foreign keys",
		instead: "Name the trigger, or write USER.", commands: []pg.AlterTableType{pg.AlterTableType_AT_EnableTrigAll, pg.AlterTableType_AT_DisableTrigAll},
	},
	{
		statement: "EXTENSION: CREATE, ALTER, DROP, DEPENDS ON", code: refusal.UnsupportedMigration, why: "Extensions are the operator's", instead: "Ask the operator to install it.",
		nodes:   "create_extension_stmt alter_extension_stmt alter_extension_contents_stmt alter_object_depends_stmt",
		objects: []pg.ObjectType{pg.ObjectType_OBJECT_EXTENSION},
	},
	{
		statement: "SERVER, FOREIGN DATA WRAPPER, FOREIGN TABLE, USER MAPPING, PUBLICATION, SUBSCRIPTION", code: refusal.UnsupportedMigration,
		why: "Foreign data and replication are the operator's", instead: "Ask the operator to run it.",
		nodes: `create_fdw_stmt alter_fdw_stmt create_foreign_server_stmt alter_foreign_server_stmt create_foreign_table_stmt create_user_mapping_stmt
			alter_user_mapping_stmt drop_user_mapping_stmt import_foreign_schema_stmt create_publication_stmt alter_publication_stmt create_subscription_stmt
			alter_subscription_stmt drop_subscription_stmt`,
		objects: []pg.ObjectType{
			pg.ObjectType_OBJECT_FDW, pg.ObjectType_OBJECT_FOREIGN_SERVER, pg.ObjectType_OBJECT_FOREIGN_TABLE, pg.ObjectType_OBJECT_USER_MAPPING, pg.ObjectType_OBJECT_PUBLICATION,
			pg.ObjectType_OBJECT_PUBLICATION_NAMESPACE, pg.ObjectType_OBJECT_PUBLICATION_REL, pg.ObjectType_OBJECT_SUBSCRIPTION,
		},
		commands: []pg.AlterTableType{pg.AlterTableType_AT_GenericOptions, pg.AlterTableType_AT_AlterColumnGenericOptions},
	},
	{
		statement: "SCHEMA: CREATE, ALTER, DROP", code: refusal.UnsupportedMigration, why: "Schemas are what the allowlists are made of, so they are the operator's",
		instead: "Ask the operator to create and allowlist it.", nodes: "create_schema_stmt", objects: []pg.ObjectType{pg.ObjectType_OBJECT_SCHEMA},
	},
	{
		statement: "DATABASE, ALTER SYSTEM, SET, RESET", code: refusal.UnsupportedMigration, why: "Settings and databases are the operator's", instead: "Ask the operator to run it.",
		nodes:   "createdb_stmt dropdb_stmt alter_database_stmt alter_database_set_stmt alter_database_refresh_coll_stmt alter_system_stmt variable_set_stmt",
		objects: []pg.ObjectType{pg.ObjectType_OBJECT_DATABASE},
	},
	{
		statement: "VACUUM, ANALYZE, REINDEX, CLUSTER, CHECKPOINT", code: refusal.UnsupportedMigration, why: "Maintenance is not a migration", instead: "Ask the operator to run it.",
		nodes: "vacuum_stmt reindex_stmt cluster_stmt check_point_stmt",
	},
	{
		statement: "REFRESH MATERIALIZED VIEW", code: refusal.UnsupportedMigration,
		why:     "REFRESH changes rows, as many as the view has, under a lock that stops its readers, and a preview could show none of them",
		instead: "Ask the operator to run it, best CONCURRENTLY and on a schedule.", nodes: "refresh_mat_view_stmt",
	},
	{
		statement: "CREATE TYPE of another kind than ENUM; ALTER TYPE … ATTRIBUTE, SET", code: refusal.UnsupportedMigration, why: "Of types only enums and domains are supported",
		instead: "Use a table, an enum or a domain, or ask the operator to run it.", nodes: "composite_type_stmt create_range_stmt alter_type_stmt",
		objects: []pg.ObjectType{pg.ObjectType_OBJECT_ATTRIBUTE},
	},
	{
		statement: "ALTER TRIGGER, ALTER STATISTICS", code: refusal.UnsupportedMigration, why: "Triggers and statistics objects are not altered here",
		instead: "Drop it, and create it anew.", nodes: "alter_stats_stmt",
		objects: []pg.ObjectType{pg.ObjectType_OBJECT_TRIGGER, pg.ObjectType_OBJECT_STATISTIC_EXT},
	},
	{
		statement: "OPERATOR, CAST, COLLATION, CONVERSION, ACCESS METHOD, TEXT SEARCH, LARGE OBJECT", code: refusal.UnsupportedMigration,
		why: "This kind of object is not supported", instead: "Ask the operator to run it.",
		nodes: `define_stmt create_am_stmt create_op_class_stmt create_op_family_stmt alter_op_family_stmt alter_operator_stmt alter_collation_stmt create_conversion_stmt
			create_cast_stmt alter_tsdictionary_stmt alter_tsconfiguration_stmt`,
		objects: []pg.ObjectType{
			pg.ObjectType_OBJECT_OPERATOR, pg.ObjectType_OBJECT_OPCLASS, pg.ObjectType_OBJECT_OPFAMILY, pg.ObjectType_OBJECT_AMOP, pg.ObjectType_OBJECT_AMPROC, pg.ObjectType_OBJECT_CAST,
			pg.ObjectType_OBJECT_COLLATION, pg.ObjectType_OBJECT_CONVERSION, pg.ObjectType_OBJECT_ACCESS_METHOD, pg.ObjectType_OBJECT_TSCONFIGURATION,
			pg.ObjectType_OBJECT_TSDICTIONARY, pg.ObjectType_OBJECT_TSPARSER, pg.ObjectType_OBJECT_TSTEMPLATE, pg.ObjectType_OBJECT_LARGEOBJECT,
		},
	},
	{
		statement: "TRUNCATE", code: refusal.UnsupportedMigration, why: "TRUNCATE counts no rows, so no preview could show them",
		instead: "Use delete_rows with confirm_full_table: true, which shows what it would remove.", nodes: "truncate_stmt",
	},
	{
		statement: "COPY", code: refusal.UnsupportedMigration, why: "COPY is not supported", instead: "Use insert_rows to write and query to read.", nodes: "copy_stmt",
	},
	{
		statement: "BEGIN, COMMIT, ROLLBACK, SAVEPOINT, PREPARE TRANSACTION", code: refusal.UnsupportedMigration, why: "Transaction control is not supported",
		instead: "Each plan is a transaction of its own; only execute_plan commits.", nodes: "transaction_stmt constraints_set_stmt",
	},
	{
		statement: "LOCK, LISTEN, NOTIFY, PREPARE, EXECUTE, DECLARE, FETCH, DISCARD, LOAD, SHOW", code: refusal.UnsupportedMigration, why: "This is no change of the schema",
		instead: "Send a DDL statement.",
		nodes: `lock_stmt listen_stmt notify_stmt unlisten_stmt prepare_stmt execute_stmt deallocate_stmt declare_cursor_stmt fetch_stmt close_portal_stmt discard_stmt
			load_stmt variable_show_stmt`,
	},
	{
		statement: "SELECT, VALUES, SELECT INTO", code: refusal.InvalidInput, why: "This is a query, not a migration",
		instead: "Use query; for a new table write CREATE TABLE … AS SELECT.", nodes: "select_stmt set_operation_stmt plassign_stmt",
	},
	{
		statement: "EXPLAIN", code: refusal.InvalidInput, why: "EXPLAIN is not a migration", instead: "Use explain_plan.", nodes: "explain_stmt",
	},
	{
		statement: "INSERT, UPDATE, DELETE, MERGE", code: refusal.InvalidInput, why: "This changes rows; it is not a migration", instead: usePreview,
		nodes: "insert_stmt update_stmt delete_stmt merge_stmt",
	},
}

// taken tells whether the statement is of a form that is taken.
func taken(node *pg.Node) bool {
	name := stmtName(node)
	return slices.ContainsFunc(takenForms, func(f takenForm) bool { return slices.Contains(strings.Fields(f.nodes), name) })
}

// stmtName is the grammar's name of a statement, e.g. "grant_stmt".
func stmtName(node *pg.Node) string {
	m := node.ProtoReflect()
	if fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); fd != nil {
		return string(fd.Name())
	}
	return ""
}

// refuseForm says what a statement is that no form takes, and what to do instead.
func refuseForm(node *pg.Node) error {
	name := stmtName(node)
	for _, f := range refusedForms {
		if slices.Contains(strings.Fields(f.nodes), name) {
			return f.refuse()
		}
	}
	return refuseUnknown()
}

// refuseObject is the same by the kind of object, refuseCommand by the sub-command of ALTER TABLE.
func refuseObject(t pg.ObjectType) error {
	for _, f := range refusedForms {
		if slices.Contains(f.objects, t) {
			return f.refuse()
		}
	}
	return refuseUnknown()
}

func refuseCommand(t pg.AlterTableType) error {
	for _, f := range refusedForms {
		if slices.Contains(f.commands, t) {
			return f.refuse()
		}
	}
	return refuseUnknown()
}

func refuseUnknown() error {
	return unsupported("This form of DDL is not supported", "CREATE, ALTER and DROP of tables, indexes, views, sequences, enum types, domains, triggers and statistics, and COMMENT, are.")
}

func unsupported(what, hint string) error {
	return refusal.New(refusal.UnsupportedMigration, what+".", hint)
}
