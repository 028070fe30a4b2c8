-- What must be known of a new connection before it is used: one row, cheap whatever the size of
-- the database. $1 is database.migrationRole or ''.
WITH me AS (
  SELECT r.oid, r.rolname, r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolreplication
  FROM pg_catalog.pg_roles r
  WHERE r.rolname IN (current_user, session_user)
), reach AS (
  -- Membership of any kind: with or without INHERIT, SET or ADMIN. UNION ends cycles.
  WITH RECURSIVE up AS (
    SELECT me.oid AS roleid FROM me
    UNION
    SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN up ON m.member = up.roleid
  )
  SELECT r.oid, r.rolname, r.rolsuper, r.rolbypassrls
  FROM up JOIN pg_catalog.pg_roles r ON r.oid = up.roleid
), audit AS (
  SELECT n.oid, n.nspowner AS owner FROM pg_catalog.pg_namespace n WHERE n.nspname = 'mcp_audit'
  UNION ALL
  SELECT n.oid, c.relowner
  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
  WHERE n.nspname = 'mcp_audit' AND c.relkind IN ('r', 'p', 'v')
)
SELECT pg_catalog.current_setting('server_version_num') AS version,
       current_user::text AS role,
       (SELECT pg_catalog.string_agg(DISTINCT d.what, '; ' ORDER BY d.what) FROM (
          SELECT 'is a superuser' AS what FROM me WHERE me.rolsuper
          UNION ALL SELECT 'has BYPASSRLS' FROM me WHERE me.rolbypassrls
          UNION ALL SELECT 'is a member of the superuser role ' || pg_catalog.quote_ident(r.rolname)
            FROM reach r WHERE r.rolsuper AND r.oid NOT IN (SELECT me.oid FROM me)
          UNION ALL SELECT 'is a member of ' || pg_catalog.quote_ident(r.rolname) || ', which has BYPASSRLS'
            FROM reach r WHERE r.rolbypassrls AND NOT r.rolsuper AND r.oid NOT IN (SELECT me.oid FROM me)
          UNION ALL SELECT 'is a member of ' || r.rolname
            FROM reach r WHERE r.rolname IN ('pg_write_all_data', 'pg_execute_server_program',
                                             'pg_read_server_files', 'pg_write_server_files')
       ) d) AS dangers,
       EXISTS (SELECT FROM audit a JOIN reach r ON r.oid = a.owner) AS owns_audit,
       (SELECT pg_catalog.string_agg(DISTINCT d.what, '; ' ORDER BY d.what) FROM (
          SELECT 'CREATEROLE' AS what FROM me WHERE me.rolcreaterole
          UNION ALL SELECT 'REPLICATION' FROM me WHERE me.rolreplication
       ) d) AS attributes,
       pg_catalog.pg_is_in_recovery() AS standby,
       $1 <> '' AND NOT EXISTS (SELECT FROM reach r WHERE r.rolname = $1) AS not_migrator,
       pg_catalog.pg_backend_pid() AS pid
