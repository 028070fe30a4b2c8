-- Every definition and grant of a database outside the system's schemas, one line an object, with its OID and
-- file: what pg_dump would print differently is different here. Not reltuples, relpages and relhasindex, which
-- Postgres writes outside of transactions, and not the rows. $1: a regular expression of schemas that are left
-- out.
WITH own AS (
  SELECT oid FROM pg_namespace WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_(toast|temp)' AND ($1 = '' OR nspname !~ $1)
), rel AS (
  SELECT * FROM pg_class WHERE relnamespace IN (SELECT oid FROM own)
)
SELECT 'schema' AS kind, oid::text AS id, concat_ws(' ', nspname, nspacl::text, nspowner::regrole) AS is FROM pg_namespace WHERE oid IN (SELECT oid FROM own)
UNION ALL SELECT 'relation', oid::text, concat_ws(' ', oid::regclass::text, relnamespace, relkind, relfilenode, reltablespace, relowner::regrole, relam, reloftype, relacl::text, reloptions::text,
    relrowsecurity, relforcerowsecurity, relispartition, relpersistence, relreplident, pg_get_expr(relpartbound, oid),
    CASE WHEN relkind = 'p' THEN pg_get_partkeydef(oid) WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END,
    (SELECT reloptions::text FROM pg_class t WHERE t.oid = rel.reltoastrelid)) FROM rel
UNION ALL SELECT 'column', a.attrelid::text || '.' || a.attnum, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation, a.attnotnull, a.attidentity, a.attgenerated,
    a.attisdropped, a.attislocal, a.attinhcount, a.attstorage, a.attcompression, a.attstattarget, a.attacl::text, a.attoptions::text, a.attmissingval::text, pg_get_expr(d.adbin, d.adrelid))
  FROM pg_attribute a JOIN rel ON rel.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
UNION ALL SELECT 'parent', inhrelid::text || '.' || inhseqno, concat_ws(' ', inhparent, inhdetachpending) FROM pg_inherits WHERE inhrelid IN (SELECT oid FROM rel)
UNION ALL SELECT 'constraint', oid::text, concat_ws(' ', conname, connamespace, contypid, conrelid, pg_get_constraintdef(oid), coninhcount, conparentid) FROM pg_constraint WHERE connamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'index', indexrelid::text, concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid, indisunique, indisprimary, indisclustered, indisreplident) FROM pg_index WHERE indexrelid IN (SELECT oid FROM rel)
UNION ALL SELECT 'sequence', s.seqrelid::text, concat_ws(' ', s.seqtypid, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle) FROM pg_sequence s JOIN rel ON rel.oid = s.seqrelid
UNION ALL SELECT 'owned', d.objid::text, concat_ws(' ', d.refobjid, d.refobjsubid, d.deptype) FROM pg_depend d JOIN rel ON rel.oid = d.objid AND rel.relkind = 'S' WHERE d.classid = 1259 AND d.refclassid = 1259 AND d.deptype IN ('a', 'i')
UNION ALL SELECT 'function', oid::text, concat_ws(' ', proname, md5(prosrc), provolatile, prosecdef, proowner::regrole, proacl::text) FROM pg_proc WHERE pronamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'type', oid::text, concat_ws(' ', typname, typnamespace, typtype, typnotnull, typdefault, typowner::regrole, typacl::text) FROM pg_type WHERE typnamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'enum', oid::text, concat_ws(' ', enumtypid, enumsortorder, enumlabel) FROM pg_enum WHERE enumtypid IN (SELECT oid FROM pg_type WHERE typnamespace IN (SELECT oid FROM own))
UNION ALL SELECT 'trigger', oid::text, concat_ws(' ', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM rel)
UNION ALL SELECT 'rule', oid::text, concat_ws(' ', rulename, ev_enabled, md5(pg_get_ruledef(oid))) FROM pg_rewrite WHERE ev_class IN (SELECT oid FROM rel)
UNION ALL SELECT 'policy', oid::text, concat_ws(' ', polname, polrelid, polcmd, polpermissive, polroles, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) FROM pg_policy WHERE polrelid IN (SELECT oid FROM rel)
UNION ALL SELECT 'statistics', oid::text, concat_ws(' ', stxname, stxstattarget, pg_get_statisticsobjdef(oid)) FROM pg_statistic_ext WHERE stxnamespace IN (SELECT oid FROM own)
UNION ALL SELECT 'comment', objoid::text || '.' || objsubid || '.' || classoid, description FROM pg_description WHERE objoid >= 16384
UNION ALL SELECT 'extension', oid::text, extname::text FROM pg_extension
UNION ALL SELECT 'default acl', oid::text, defaclacl::text FROM pg_default_acl
UNION ALL SELECT 'event trigger', oid::text, evtname::text FROM pg_event_trigger
UNION ALL SELECT 'foreign server', oid::text, srvname::text FROM pg_foreign_server
UNION ALL SELECT 'publication', oid::text, pubname::text FROM pg_publication
ORDER BY 1, 2, 3
