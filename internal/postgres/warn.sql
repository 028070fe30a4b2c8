-- What deserves a loud warning, once per pool. Looks at every relation outside the system schemas,
-- so it is not asked on each connection.
WITH reach AS (
  WITH RECURSIVE up AS (
    SELECT r.oid AS roleid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
    UNION
    SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN up ON m.member = up.roleid
  )
  SELECT up.roleid AS oid FROM up
), rel AS (
  SELECT c.oid, c.relkind, c.relowner,
         pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) AS name, n.nspname
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%'
)
SELECT COALESCE((SELECT rel.name FROM rel, reach r
         WHERE pg_catalog.has_table_privilege(r.oid, rel.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR pg_catalog.has_any_column_privilege(r.oid, rel.oid, 'INSERT, UPDATE')
         LIMIT 1),
       (SELECT 'the sequence ' || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
          FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace, reach r
         WHERE c.relkind = 'S' AND n.nspname NOT LIKE 'pg\_%'
           AND pg_catalog.has_sequence_privilege(r.oid, c.oid, 'USAGE, UPDATE')
         LIMIT 1)) AS writable,
       (SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_namespace n, reach r
         WHERE pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')
           AND n.nspname NOT LIKE 'pg\_temp%' AND n.nspname NOT LIKE 'pg\_toast_temp%'
         LIMIT 1) AS creatable,
       (SELECT rel.name FROM rel
         WHERE rel.nspname <> 'mcp_audit' AND pg_catalog.pg_has_role(rel.relowner, 'USAGE')
         LIMIT 1) AS owned,
       EXISTS (SELECT FROM rel WHERE rel.nspname = 'mcp_audit' AND rel.name = 'mcp_audit.log') AS has_log,
       EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = 'mcp_audit' AND p.proname = 'outcome') AS has_outcome,
       EXISTS (SELECT FROM pg_catalog.pg_index i
                 JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
                WHERE n.nspname = 'mcp_audit' AND c.relname = 'log' AND i.indisunique AND i.indnkeyatts = 1
                  AND a.attname = 'plan_token' AND i.indpred IS NOT NULL) AS has_index,
       EXISTS (SELECT FROM rel WHERE rel.name = 'mcp_audit.log'
                AND pg_catalog.has_table_privilege(rel.oid, 'INSERT')) AS may_log,
       EXISTS (SELECT FROM rel, reach r WHERE rel.name = 'mcp_audit.log'
                AND (pg_catalog.has_table_privilege(r.oid, rel.oid, 'UPDATE, DELETE, TRUNCATE')
                  OR pg_catalog.has_any_column_privilege(r.oid, rel.oid, 'UPDATE'))) AS may_alter_log,
       -- Functions that run with their owner's rights and may write: those of extensions are known to them.
       (SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(p.proname)
          FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace, reach r
         WHERE p.prosecdef AND p.oid >= 16384 AND n.nspname <> 'mcp_audit' AND p.proowner <> r.oid
           AND p.prorettype NOT IN ('pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype)
           AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                            WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e')
         ORDER BY 1 LIMIT 1) AS definer
