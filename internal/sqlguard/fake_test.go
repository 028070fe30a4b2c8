package sqlguard

import (
	"context"
	"strings"
)

// fakeCatalog answers like a small database: schemas public, app, audit things, and the functions of
// pg_catalog that the tests name. The package is pure, so no Postgres is claimed here; the same rules
// are tried against real servers where the catalog is implemented.
type fakeCatalog struct {
	version   int
	path      []string
	relations map[Name]Relation
	routines  []Routine
	operators map[string][]Routine
	types     map[string][]Routine
	parts     map[string][]Target
	asked     int

	schemas    map[string]string // of types; else that of the name, or public
	statistics []Statistics
}

func (c *fakeCatalog) typeSchema(n Name) string {
	switch {
	case n.Schema != "":
		return n.Schema
	case c.schemas[n.Name] != "":
		return c.schemas[n.Name]
	}
	return "public"
}

func (c *fakeCatalog) Lookup(_ context.Context, q Lookup, _ bool) (*Facts, error) {
	c.asked++
	f := &Facts{
		ServerVersion: c.version, SearchPath: c.path,
		Relations: map[Name]Relation{}, Functions: map[Name][]Routine{},
		Operators: map[Name][]Routine{}, Types: map[Name][]Routine{},
		FunctionVersions: map[string]string{}, OperatorVersions: map[string]string{}, TypeVersions: map[Name]string{}, PathVersion: "path",
		TypeParts: map[Name][]Target{}, TypeTargets: map[Name]Target{}, Statistics: map[Name]Statistics{},
	}
	missing := false
	for _, n := range q.Relations {
		rel, ok := c.relations[n]
		for i := 0; !ok && n.Schema == "" && i < len(c.path); i++ {
			rel, ok = c.relations[Name{Schema: c.path[i], Name: n.Name}]
		}
		if ok {
			f.Relations[n] = rel
		} else {
			missing = true
		}
	}
	if missing {
		for n := range c.relations {
			if n.Schema != "pg_catalog" && n.Schema != "information_schema" {
				f.Candidates = append(f.Candidates, n)
			}
		}
	}
	for _, n := range q.Functions {
		f.FunctionVersions[n.Name] = "F" + n.Name
		for _, r := range c.routines {
			if r.Name == n.Name && (n.Schema == "" || n.Schema == r.Schema) {
				f.Functions[n] = append(f.Functions[n], r)
			}
		}
	}
	for _, n := range q.Operators {
		f.Operators[n] = c.operators[n.Name]
		f.OperatorVersions[n.Name] = "O" + n.Name
	}
	for _, n := range q.Types {
		if rs, ok := c.types[n.Name]; ok {
			f.Types[n] = rs
			f.TypeVersions[n] = "T" + n.Name
			f.TypeParts[n] = c.parts[n.Name]
			f.TypeTargets[n] = Target{OID: 8000, Schema: c.typeSchema(n), Name: n.Name, Kind: 'e'}
		}
	}
	for _, n := range q.Statistics {
		for _, s := range c.statistics {
			if s.Object.Name == n.Name && (n.Schema == "" || n.Schema == s.Object.Schema) {
				f.Statistics[n] = s
			}
		}
	}
	return f, nil
}

func col(name, typ string, notNull bool) Column {
	return Column{Name: name, Type: typ, TypeOID: typeOIDs[typ], NotNull: notNull}
}

var typeOIDs = map[string]uint32{
	"boolean": 16, "bigint": 20, "integer": 23, "text": 25, "numeric": 1700, "timestamp with time zone": 1184,
	"jsonb": 3802, "text[]": 1009, "tstzrange": 3910, "app.pair": 16999, "app.positive": 16998, "real": 700,
}

var aggregates = set(`sum count min max avg array_agg string_agg json_agg bool_and bool_or every`)

func newFake() *fakeCatalog {
	c := &fakeCatalog{
		version: 150018, path: []string{"pg_catalog", "public"},
		relations: map[Name]Relation{}, operators: map[string][]Routine{}, types: map[string][]Routine{},
	}
	oid := uint32(16384)
	add := func(schema, name string, kind byte, cols ...Column) *Relation {
		oid++
		r := Relation{
			OID: oid, Version: "R" + name, Schema: schema, Name: name, Kind: kind, Persistence: 'p', Columns: cols,
			PrimaryKey: []string{"id"}, Closure: []uint32{oid, oid + 10000},
		}
		c.relations[Name{Schema: schema, Name: name}] = r
		return &r
	}
	change := func(r *Relation, f func(*Relation)) {
		f(r)
		c.relations[Name{Schema: r.Schema, Name: r.Name}] = *r
	}
	customers := add("public", "customers", 'r', col("id", "bigint", true), col("tenant_id", "integer", true),
		col("name", "text", true), col("email", "text", false), col("status", "text", true),
		col("last_login", "timestamp with time zone", false), col("created_at", "timestamp with time zone", true),
		col("tags", "text[]", false), col("data", "jsonb", false), col("active", "boolean", true))
	add("public", "products", 'r', col("id", "bigint", true), col("name", "text", true), col("price", "numeric", true),
		col("note", "text", false), col("stock", "integer", true), Column{Name: "total", Type: "numeric", Generated: true},
		Column{Name: "serial_no", Type: "bigint", NotNull: true, Identity: 'a'})
	orders := add("public", "orders", 'r', col("id", "bigint", true), col("customer_id", "bigint", true),
		col("status", "text", true), col("placed_at", "timestamp with time zone", true), col("amount", "numeric", false))
	add("public", "order_items", 'r', col("id", "bigint", true), col("order_id", "bigint", true), col("qty", "integer", true))
	add("app", "t", 'r', col("id", "integer", true), col("a", "integer", false))
	add("app", "Product", 'r', col("Id", "integer", true), col("weird col", "text", false))
	add("secret", "salaries", 'r', col("id", "integer", true), col("amount", "numeric", true))
	add("public", "mat", 'm', col("id", "bigint", true))
	add("public", "ext", 'f', col("id", "bigint", true))
	add("public", "ids", 'S')
	add("public", "idx", 'i')
	change(add("public", "fparts", 'p', col("id", "bigint", true)), func(r *Relation) { r.HasForeignPartition = true })
	add("public", "clash", 'r', col("id", "bigint", true), col("sw_r", "text", true))
	view := func(name, def string, updatable int32, below ...Relation) {
		change(add("public", name, 'v', col("id", "bigint", true)), func(r *Relation) {
			r.ViewDef, r.Updatable = def, updatable
			for _, b := range below {
				r.Below = append(r.Below, b.target())
			}
		})
	}
	view("active_customers", " SELECT id FROM customers WHERE active;", 28, *customers)
	view("order_totals", " SELECT customer_id AS id, sum(amount) FROM orders GROUP BY customer_id;", 0, *orders)
	view("salaries_view", " SELECT id FROM secret.salaries;", 28, c.relations[Name{"secret", "salaries"}])
	view("boom_view", " SELECT app.boom() AS id;", 0)
	view("over_boom", " SELECT id FROM boom_view;", 0)
	view("newer_view", " SELECT id FROM json_table('[]', '$' COLUMNS (id int));", 0)
	for s := range strings.FieldsSeq(`pg_class pg_type pg_am pg_stats pg_authid pg_stat_activity pg_largeobject
		pg_statistic pg_settings pg_locks pg_user_mapping pg_timezone_names pg_prepared_statements pg_cursors
		pg_attribute pg_namespace pg_shadow pg_hba_file_rules pg_file_settings pg_subscription pg_foreign_server`) {
		add("pg_catalog", s, 'v')
	}
	add("information_schema", "tables", 'v')
	add("information_schema", "sql_features", 'v')
	add("mcp_audit", "log", 'r', col("id", "bigint", true))
	add("pg_toast", "pg_toast_16385", 't')

	oid = 1000
	fn := func(schema, names string, vol byte, ext string) {
		for n := range strings.FieldsSeq(names) {
			oid++
			c.routines = append(c.routines, Routine{
				OID: oid, Schema: schema, Name: n, Volatility: vol, Kind: 'f', Extension: ext,
				OnPath:     schema == "pg_catalog" || schema == "public",
				ShowsNames: n == "pg_typeof" || strings.HasPrefix(n, "to_reg") || strings.HasPrefix(n, "pg_partition_"),
			})
		}
	}
	fn("pg_catalog", `lower upper length abs round substring btrim coalesce position date_part extract
		sum count min max avg array_length array_agg jsonb_array_length jsonb_extract_path_text
		jsonb_build_object string_agg regexp_replace regexp_match split_part trim ltrim rtrim replace concat_ws
		concat format left right strpos to_number ceil floor mod power sqrt sign greatest md5 sha256 encode decode
		unnest generate_series row_number rank lag lead ntile json_agg json_array_elements jsonb_array_elements
		jsonb_path_exists jsonb_typeof similar_to_escape like_escape timezone date_bin isfinite make_date
		array_position array_append cardinality int4range lower_inc isempty to_tsvector plainto_tsquery
		starts_with reverse ascii chr initcap lpad rpad repeat translate bit_length octet_length width_bucket
		percentile_cont mode bool_and bool_or every justify_days numrange daterange overlay num_nonnulls
		num_nulls to_hex trunc cbrt ln exp gcd jsonb_set jsonb_strip_nulls jsonb_exists array_remove
		array_to_string string_to_array age_immutable xpath json_object tstzrange int8range
		pg_column_size_dummy nullif_dummy range_agg overlaps is_normalized normalize xmlexists json_to_recordset
		char_length make_interval tsrange to_tsquery websearch_to_tsquery phraseto_tsquery ts_rank point`, 'i', "")
	fn("pg_catalog", `now date_trunc age to_char to_date to_timestamp current_setting pg_typeof pg_backend_pid version
		statement_timestamp transaction_timestamp to_regclass pg_column_size has_table_privilege pg_get_viewdef
		obj_description table_to_xml schema_to_xml database_to_xml table_to_xml_and_xmlschema pg_stat_get_activity
		pg_stat_get_backend_activity txid_current pg_current_xact_id current_schema current_schemas row_to_json to_json to_jsonb
		pg_get_serial_sequence pg_collation_for pg_hba_file_rules pg_size_pretty pg_input_is_valid`, 's', "")
	fn("pg_catalog", `format_type pg_get_functiondef pg_get_function_arguments pg_get_function_result pg_get_object_address
		pg_stat_get_live_tuples pg_stat_get_numscans has_column_privilege has_any_column_privilege has_sequence_privilege
		has_schema_privilege has_type_privilege has_function_privilege has_server_privilege has_database_privilege to_regtype to_regproc to_regprocedure to_regnamespace
		record_in array_in domain_in pg_table_is_visible pg_type_is_visible regtypeout regprocin pg_input_error_info pg_describe_object pg_identify_object
		col_description pg_get_publication_tables pg_partition_root pg_get_constraintdef pg_has_role pg_get_userbyid`, 's', "")
	fn("information_schema", "_pg_index_position", 's', "")
	fn("pg_catalog", `pg_partition_tree pg_partition_ancestors pg_blocking_pids`, 'v', "")
	fn("pg_catalog", `random clock_timestamp timeofday gen_random_uuid pg_sleep pg_sleep_for pg_sleep_until
		nextval setval currval lastval set_config pg_notify pg_advisory_lock pg_try_advisory_lock pg_advisory_xact_lock
		pg_terminate_backend pg_cancel_backend pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file lo_import
		lo_export lo_get lo_create loread lowrite query_to_xml query_to_xml_and_xmlschema cursor_to_xml ts_stat ts_rewrite
		pg_relation_size pg_total_relation_size pg_table_size pg_database_size pg_reload_conf pg_switch_wal
		pg_create_restore_point pg_logical_emit_message pg_promote setseed pg_export_snapshot pg_is_in_recovery
		pg_stat_reset pg_replication_origin_create`, 'v', "")
	fn("app", "boom", 'v', "")
	fn("app", "steady", 's', "")
	fn("public", "touch lower_it", 'v', "")
	fn("public", "title_of fit", 's', "")
	fn("public", "round", 'v', "") // a volatile overload of a name of the system
	fn("public", "dblink dblink_exec http_get odd_ext", 'v', "ext")
	fn("public", "similarity", 'i', "pg_trgm")
	fn("public", "uuid_generate_v4", 'v', "uuid-ossp")
	fn("public", "crosstab connectby", 's', "tablefunc")
	c.operators["=="] = []Routine{{OID: 9001, Schema: "public", Name: "eqeq", Volatility: 'v', Kind: 'f', OnPath: true}}
	c.types["weird"] = []Routine{{OID: 9002, Schema: "public", Name: "weird_from_text", Volatility: 'v', Kind: 'f', OnPath: true}}
	c.types["mood"] = nil
	c.types["fit"] = []Routine{{OID: 9004, Schema: "public", Name: "fit_check", Volatility: 'v', Kind: 'f', OnPath: true}}
	c.operators["~~~"] = []Routine{{OID: 9005, Schema: "public", Name: "citext_like", Volatility: 'i', Kind: 'f', OnPath: true, Extension: "citext"}}
	c.operators["==="] = []Routine{{OID: 9006, Schema: "public", Name: "alike", Volatility: 'i', Kind: 'f', OnPath: true}}
	c.types["checked"] = []Routine{{OID: 9007, Schema: "public", Name: "is_checked", Volatility: 'i', Kind: 'f', OnPath: true}}
	c.types["state"], c.types["pay_grade"], c.types["email"] = nil, nil, nil
	c.schemas = map[string]string{"pay_grade": "secret"}
	for schema, table := range map[string]string{"public": "orders", "secret": "salaries"} {
		on := c.relations[Name{Schema: schema, Name: table}]
		c.statistics = append(c.statistics,
			Statistics{Object: Target{OID: 8100, Schema: schema, Name: table + "_stats"}, Table: on.target()})
	}
	c.statistics = append(c.statistics, Statistics{
		Object: Target{OID: 8101, Schema: "public", Name: "of_a_hidden_table"}, Table: Target{OID: 1, Schema: "secret", Name: "salaries", Kind: 'r'},
	})
	for n := range strings.FieldsSeq("anyref salaries _salaries refs pairs orders") {
		c.types[n] = nil
	}
	table := func(schema, name string) Target { return Target{OID: 1, Schema: schema, Name: name, Kind: 'r'} }
	c.parts = map[string][]Target{
		"anyref": {{Schema: "pg_catalog", Name: "regclass"}}, "refs": {{Schema: "pg_catalog", Name: "regtype"}},
		"salaries": {table("secret", "salaries")}, "_salaries": {table("secret", "salaries")}, "orders": {table("public", "orders")},
	}
	add("public", "touched", 'r', col("id", "bigint", true), col("touch", "text", false))
	for i, r := range c.routines {
		if r.Schema == "pg_catalog" && aggregates[r.Name] {
			c.routines[i].Kind = 'a'
		}
	}
	c.types["citext"] = []Routine{{OID: 9003, Schema: "public", Name: "citextin", Volatility: 'i', Kind: 'f', OnPath: true, Extension: "citext"}}
	return c
}

func mustList(schemas, tables []string) Allowlist {
	a, err := ParseAllowlist(schemas, tables)
	if err != nil {
		panic(err)
	}
	return a
}

// openGuard reads everything and writes public and app.
func openGuard() *Guard {
	return New(Policy{Write: mustList([]string{"public", "app"}, nil)})
}

// tightGuard reads and writes schema public only.
func tightGuard() *Guard {
	return New(Policy{Read: mustList([]string{"public"}, nil), Write: mustList([]string{"public"}, nil)})
}
