package sqlguard

import "strings"

// builtinTypes are the types the grammar spells itself and the usual others of pg_catalog; a cast to
// them calls no function of the database's own.
var builtinTypes = set(`bool boolean bytea char bpchar name int2 int4 int8 smallint integer bigint int
float4 float8 real numeric decimal text varchar date time timetz timestamp timestamptz interval uuid
json jsonb jsonpath xml money bit varbit inet cidr macaddr macaddr8 point line lseg box path polygon
circle tsvector tsquery oid xid xid8 cid tid pg_lsn pg_snapshot txid_snapshot regtype regproc
regprocedure regoper regoperator regrole regnamespace regconfig regdictionary regcollation regclass
record void unknown cstring any anyelement anyarray int4range int8range numrange tsrange tstzrange
daterange int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange
oidvector int2vector refcursor aclitem
serial bigserial smallserial serial2 serial4 serial8`)

// harmlessVolatile are volatile functions that leave nothing behind and reveal nothing: the text may
// call them before anybody decided. The statement timeout bounds pg_sleep.
var harmlessVolatile = set(`random random_normal clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7
array_shuffle array_sample pg_sleep pg_sleep_for pg_sleep_until
pg_is_in_recovery pg_last_xact_replay_timestamp pg_last_wal_receive_lsn pg_last_wal_replay_lsn
pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn
pg_partition_tree pg_partition_ancestors pg_blocking_pids
pg_database_size pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size`)

// harmlessExtension are volatile functions of extensions that only make random values.
var harmlessExtension = map[string]map[string]bool{
	"uuid-ossp": set(`uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4`),
	"pgcrypto":  set(`gen_random_uuid gen_random_bytes gen_salt`),
}

// relationArgument are functions whose first argument names a relation as a value. Under a read
// allowlist they need a literal name that the allowlist shows.
var relationArgument = set(`pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size
to_regclass pg_get_serial_sequence pg_relation_filepath pg_relation_filenode pg_get_viewdef
pg_get_indexdef pg_get_ruledef pg_get_triggerdef pg_get_constraintdef pg_get_statisticsobjdef
pg_get_partkeydef pg_get_partition_constraintdef pg_partition_root pg_partition_tree
pg_partition_ancestors pg_sequence_last_value pg_sequence_parameters pg_get_sequence_data
pg_relation_is_updatable pg_column_is_updatable row_security_active col_description
obj_description pg_identify_object pg_identify_object_as_address pg_describe_object
pg_get_object_address pg_relation_is_publishable pg_get_publication_tables pg_index_column_has_property
pg_index_has_property pg_filenode_relation pg_get_expr regclassout regclasssend`)

// refusedFunctions are never called from agent text, whatever their volatility: they take SQL, files
// or table names as text, read other sessions, change the session, show where the server runs, or leave
// something behind a ROLLBACK.
var refusedFunctions = set(`query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml
cursor_to_xmlschema table_to_xml table_to_xmlschema table_to_xml_and_xmlschema schema_to_xml
schema_to_xmlschema schema_to_xml_and_xmlschema database_to_xml database_to_xmlschema
database_to_xml_and_xmlschema ts_stat ts_rewrite xpath_table connectby
loread lowrite pg_stat_file pg_current_logfile set_config setseed setval nextval currval lastval
pg_notify pg_listening_channels pg_notification_queue_usage
txid_current txid_current_if_assigned txid_status pg_current_xact_id pg_current_xact_id_if_assigned
pg_export_snapshot pg_terminate_backend pg_cancel_backend pg_log_backend_memory_contexts
pg_reload_conf pg_rotate_logfile pg_rotate_logfile_old pg_promote pg_switch_wal pg_create_restore_point
pg_stat_get_activity pg_hba_file_rules pg_ident_file_mappings
pg_show_all_file_settings pg_prepared_statement pg_prepared_xact pg_cursor pg_config
pg_get_replication_slots pg_stat_get_wal_receiver pg_stat_get_wal_senders pg_stat_get_subscription
pg_stat_get_progress_info pg_mcv_list_items pg_options_to_table pg_get_backend_memory_contexts
pg_get_shmem_allocations pg_extension_config_dump regclassin regclassrecv get_raw_page
pg_stats_ext_mcvlist_items brin_summarize_new_values brin_summarize_range brin_desummarize_range
gin_clean_pending_list pg_import_system_collations currtid2 pg_nextoid
inet_server_addr inet_server_port inet_client_addr inet_client_port pg_tablespace_location`)

var refusedPrefixes = []string{
	"dblink", "pg_read_", "pg_ls_", "lo_", "pg_file_", "pg_logdir_ls", "pg_advisory_", "pg_try_advisory_",
	"pg_logical_", "pg_replication_", "pg_create_", "pg_drop_", "pg_copy_", "pg_backup_", "pg_start_backup",
	"pg_stop_backup", "pg_wal_replay_", "pg_stat_reset", "pg_stat_get_backend_", "pg_stat_statements",
	"pg_restore_", "pg_clear_", "binary_upgrade_", "crosstab", "postgres_fdw_", "pg_walfile_", "pg_event_trigger_",
	"pgstattuple", "pgstatindex", "pg_get_wal_", "pg_prewarm", "http_", "cron_",
}

func alwaysRefused(name string) bool {
	if refusedFunctions[name] {
		return true
	}
	for _, p := range refusedPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
