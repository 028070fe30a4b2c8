package sqlguard

import (
	"fmt"
	"sort"
	"strings"
)

// Allowlist is a set of schemas or of tables, by exact folded name. The zero value is empty.
type Allowlist struct {
	schemas map[string]bool
	tables  map[Name]bool
}

// ParseAllowlist reads the configuration's lists. Names are compared as Postgres resolves them:
// unquoted parts folded, dots inside quotes do not separate. If tables is not empty only those
// count, else schemas. Tables must be fully qualified, since a search_path must not decide what is
// allowed. The error names the entry that is wrong.
func ParseAllowlist(schemas, tables []string) (Allowlist, error) {
	a := Allowlist{schemas: map[string]bool{}, tables: map[Name]bool{}}
	for _, text := range tables {
		n, err := ParseName(text)
		if err != nil {
			return Allowlist{}, fmt.Errorf("reading allowlist table %q: not a qualified table name", text)
		}
		if n.Schema == "" {
			return Allowlist{}, fmt.Errorf("reading allowlist table %q: write it as schema.table", text)
		}
		a.tables[n] = true
	}
	for _, text := range schemas {
		n, err := ParseName(text)
		if err != nil || n.Schema != "" {
			return Allowlist{}, fmt.Errorf("reading allowlist schema %q: not a schema name", text)
		}
		a.schemas[n.Name] = true
	}
	if len(a.tables) > 0 {
		a.schemas = nil // the contract: tables win
	}
	return a, nil
}

// ParseWriteAllowlist is ParseAllowlist for the write list: naming a place that is never writable is
// a mistake that must be loud.
func ParseWriteAllowlist(schemas, tables []string) (Allowlist, error) {
	a, err := ParseAllowlist(schemas, tables)
	if err != nil {
		return Allowlist{}, err
	}
	// Also entries that tables overrule: the mistake is in the file all the same.
	both := make([]string, 0, len(schemas)+len(tables))
	both = append(append(both, schemas...), tables...)
	for i, text := range both {
		n, perr := ParseName(text)
		if perr != nil {
			return Allowlist{}, fmt.Errorf("reading write allowlist entry %q: %w", text, perr)
		}
		schema := n.Schema
		if i < len(schemas) {
			schema = n.Name
		}
		if neverWritableSchema(schema) {
			return Allowlist{}, fmt.Errorf("reading write allowlist entry %q: schema %s is never writable", text, schema)
		}
	}
	return a, nil
}

// Empty tells that nothing is listed.
func (a Allowlist) Empty() bool { return len(a.schemas) == 0 && len(a.tables) == 0 }

// Allows tells whether the list names that relation or its schema. It is false for an empty list;
// what an empty list means is the policy's matter.
func (a Allowlist) Allows(schema, name string) bool {
	if len(a.tables) > 0 {
		return a.tables[Name{Schema: schema, Name: name}]
	}
	return a.schemas[schema]
}

// String lists the entries for the line at start-up, sorted.
func (a Allowlist) String() string {
	var out []string
	for n := range a.tables {
		out = append(out, n.String())
	}
	for s := range a.schemas {
		out = append(out, QuoteIdent(s)+".*")
	}
	if len(out) == 0 {
		return "(empty)"
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// CanRead is the final word on reading one relation: the read allowlist and what is never readable.
func (g *Guard) CanRead(schema, name string) bool {
	if neverReadable(schema, name) {
		return false
	}
	if g.policy.Read.Allows(schema, name) {
		return true
	}
	switch schema {
	case "mcp_audit": // only when listed by name
		return false
	case "pg_catalog":
		return g.policy.Read.Empty() || harmlessCatalog[name]
	case "information_schema":
		return g.policy.Read.Empty() || harmlessInformation[name]
	}
	return g.policy.Read.Empty()
}

// CanWrite is the final word on writing one relation by name: the write allowlist and what is never
// writable. An empty write allowlist allows nothing.
func (g *Guard) CanWrite(schema, name string) bool {
	return !neverWritableSchema(schema) && g.policy.Write.Allows(schema, name)
}

func neverWritableSchema(schema string) bool {
	switch schema {
	case "mcp_audit", "pg_catalog", "information_schema", "pg_toast", "pg_temp":
		return true
	}
	return strings.HasPrefix(schema, "pg_") // the prefix is reserved to the system (manual, 5.9.5)
}

// neverReadable holds catalogs that show other sessions' statements, secrets, or samples of the
// values in tables the allowlist hides.
func neverReadable(schema, name string) bool {
	switch {
	case schema == "pg_catalog":
		if secretCatalog[name] {
			return true
		}
		for _, p := range secretCatalogPrefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	case schema == "information_schema":
		return secretInformation[name]
	case strings.HasPrefix(schema, "pg_toast"), strings.HasPrefix(schema, "pg_temp"):
		return true
	}
	// The extension's views may live in any schema.
	return strings.HasPrefix(name, "pg_stat_statements")
}

var secretCatalog = set(`pg_stat_activity pg_cursors pg_authid pg_shadow pg_foreign_server
pg_subscription pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_replication_origin_status
pg_stat_replication pg_stat_ssl pg_stat_gssapi pg_stat_wal_receiver pg_stat_subscription
pg_seclabel pg_seclabels pg_shseclabel pg_db_role_setting pg_roles pg_user
pg_config pg_shmem_allocations pg_backend_memory_contexts`)

var secretCatalogPrefixes = []string{
	"pg_stats", "pg_statistic", "pg_stat_statements", "pg_prepared_", "pg_user_mapping",
	"pg_largeobject", "pg_stat_progress_", "pg_replication_slots", "pg_foreign_data_wrapper",
	"pg_foreign_table", "pg_toast",
}

var secretInformation = set(`user_mapping_options user_mappings foreign_server_options
foreign_servers foreign_table_options foreign_data_wrapper_options _pg_user_mappings
_pg_foreign_servers _pg_foreign_tables _pg_foreign_table_columns _pg_foreign_data_wrappers
column_options`)

// harmlessCatalog says nothing about any table, so it stays readable under a read allowlist.
var harmlessCatalog = set(`pg_am pg_cast pg_collation pg_conversion pg_language pg_opclass pg_opfamily
pg_timezone_names pg_timezone_abbrevs pg_extension pg_available_extensions
pg_available_extension_versions pg_ts_config pg_ts_dict pg_ts_parser pg_ts_template pg_ts_config_map`)

var harmlessInformation = set(`sql_features sql_implementation_info sql_parts sql_sizing
character_sets collations information_schema_catalog_name`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}
