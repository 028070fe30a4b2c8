-- Definitions and grants, one line an object. Not reltuples, relpages and relhasindex: Postgres
-- writes them outside of the transaction.
WITH own AS (
  SELECT oid FROM pg_namespace WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_(toast|temp)'
)
SELECT 'schema', oid::text, nspname || ' ' || coalesce(nspacl::text, '-') || nspowner::regrole::text FROM pg_namespace WHERE oid IN (SELECT oid FROM own)
UNION ALL SELECT 'relation', oid::text, concat_ws(' ', oid::regclass::text, relkind, relfilenode, relowner::regrole, relacl::text, reloptions::text, relrowsecurity, relispartition, relpersistence)
  FROM pg_class WHERE relnamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'column', a.attrelid::text || '.' || a.attnum, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attisdropped, a.attacl::text, pg_get_expr(d.adbin, d.adrelid))
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relnamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'constraint', oid::text, conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'index', indexrelid::text, concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid, indisunique) FROM pg_index WHERE indexrelid IN (SELECT oid FROM pg_class WHERE relnamespace IN (SELECT oid FROM own))
UNION ALL SELECT 'function', oid::text, concat_ws(' ', proname, md5(prosrc), provolatile, prosecdef, proowner::regrole, proacl::text) FROM pg_proc WHERE pronamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'type', oid::text, concat_ws(' ', typname, typtype, typacl::text) FROM pg_type WHERE typnamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'enum', oid::text, concat_ws(' ', enumtypid, enumlabel) FROM pg_enum
UNION ALL SELECT 'trigger', oid::text, concat_ws(' ', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
UNION ALL SELECT 'rule', oid::text, concat_ws(' ', rulename, md5(pg_get_ruledef(oid))) FROM pg_rewrite WHERE ev_class IN (SELECT oid FROM pg_class WHERE relnamespace IN (SELECT oid FROM own))
UNION ALL SELECT 'policy', oid::text, polname::text FROM pg_policy
UNION ALL SELECT 'extension', oid::text, extname::text FROM pg_extension
UNION ALL SELECT 'comment', objoid::text || '.' || objsubid, md5(description) FROM pg_description WHERE objoid >= 16384
UNION ALL SELECT 'default acl', oid::text, defaclacl::text FROM pg_default_acl
UNION ALL SELECT 'large object', oid::text, coalesce(lomacl::text, '-') FROM pg_largeobject_metadata
UNION ALL SELECT 'event trigger', oid::text, evtname::text FROM pg_event_trigger
UNION ALL SELECT 'foreign server', oid::text, srvname::text FROM pg_foreign_server
UNION ALL SELECT 'publication', oid::text, pubname::text FROM pg_publication
UNION ALL SELECT 'statistics', oid::text, stxname::text FROM pg_statistic_ext
UNION ALL SELECT 'setting', setrole::text, concat_ws(' ', setrole::regrole, setconfig::text) FROM pg_db_role_setting WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())) AND setrole::regrole::text !~ '^sw_test_role_'
UNION ALL SELECT 'role', rolname::text, concat_ws(' ', rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolbypassrls) FROM pg_roles WHERE rolname !~ '^sw_test_role_'
UNION ALL SELECT 'member', m.roleid::regrole::text, m.member::regrole::text FROM pg_auth_members m WHERE m.member::regrole::text !~ '^sw_test_role_' AND m.roleid::regrole::text !~ '^sw_test_role_'
UNION ALL SELECT 'database', oid::text, coalesce(datacl::text, '-') FROM pg_database WHERE datname = current_database()
ORDER BY 1, 2, 3
