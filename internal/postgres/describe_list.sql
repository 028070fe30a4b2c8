-- $1 schema or '' (all but the system's), $2 table or '', $3 a LIKE pattern for the lower-cased name or '',
-- $4 the role that writes. The relations there are, from pg_catalog only. Partitions are folded into their
-- parent, unless one is asked for by name.
WITH RECURSIVE ddl AS MATERIALIZED (
  -- What another session's DDL holds or waits for; functions that open a relation would wait behind it.
  SELECT DISTINCT l.relation AS oid FROM pg_catalog.pg_lock_status() l
  WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_catalog.pg_backend_pid()
    AND l.database = (SELECT db.oid FROM pg_catalog.pg_database db WHERE db.datname = pg_catalog.current_database())
), rel AS MATERIALIZED (
  SELECT c.oid, n.oid AS nsp, n.nspname, c.relname, c.relkind, c.reltuples, c.relnatts
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND CASE WHEN $1::pg_catalog.text <> '' THEN n.nspname = $1::pg_catalog.text
             ELSE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%' END
    AND ($2::pg_catalog.text = '' AND NOT c.relispartition OR c.relname = $2::pg_catalog.text)
    AND ($3::pg_catalog.text = '' OR pg_catalog.lower(c.relname) LIKE $3::pg_catalog.text)
), writer AS MATERIALIZED (
  SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = $4::pg_catalog.text
), below AS (
  -- What views stand on, as cat_relations.sql has it.
  SELECT rel.oid AS root, rel.oid FROM rel WHERE rel.relkind = 'v'
  UNION
  SELECT b.root, m[1]::pg_catalog.oid
  FROM below b
  JOIN pg_catalog.pg_class v ON v.oid = b.oid AND v.relkind = 'v'
  JOIN pg_catalog.pg_rewrite w ON w.ev_class = b.oid
  CROSS JOIN LATERAL pg_catalog.regexp_matches(w.ev_action::text, ':relid ([1-9][0-9]*)', 'g') m
), base AS (
  SELECT b.root,
         pg_catalog.json_agg(pg_catalog.json_build_array(bn.nspname, bc.relname, bc.relkind)) FILTER (WHERE b.oid <> b.root) AS list,
         pg_catalog.bool_or(b.oid IN (SELECT ddl.oid FROM ddl)) AS busy
  FROM below b
  JOIN pg_catalog.pg_class bc ON bc.oid = b.oid
  JOIN pg_catalog.pg_namespace bn ON bn.oid = bc.relnamespace
  GROUP BY b.root
), tree AS (
  -- The partitions; pg_partition_tree would take locks.
  SELECT rel.oid AS root, rel.oid FROM rel WHERE rel.relkind = 'p'
  UNION
  SELECT t.root, i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
), leaves AS (
  SELECT t.root, pg_catalog.count(*) AS count, pg_catalog.bool_or(pc.relkind = 'f') AS has_foreign,
         pg_catalog.sum(pc.reltuples) FILTER (WHERE pc.reltuples >= 0)::pg_catalog.int8 AS estimate
  FROM tree t JOIN pg_catalog.pg_class pc ON pc.oid = t.oid
  WHERE pc.relkind <> 'p'
  GROUP BY t.root
)
SELECT rel.oid, rel.nspname, rel.relname, rel.relkind,
  pg_catalog.has_schema_privilege(rel.nsp, 'USAGE') AND pg_catalog.has_any_column_privilege(rel.oid, 'SELECT') AS readable,
  -- What can be done through a view, as bits 1 << CmdType; NULL while its definition is being changed.
  CASE WHEN rel.relkind = 'v' AND NOT base.busy THEN pg_catalog.pg_relation_is_updatable(rel.oid, true) END AS updatable,
  COALESCE(leaves.has_foreign, false) AS has_foreign,
  base.list AS bases,
  CASE WHEN rel.relkind = 'p' THEN leaves.estimate
       WHEN rel.relkind <> 'v' AND rel.reltuples >= 0 THEN rel.reltuples::pg_catalog.int8 END AS row_estimate,
  COALESCE(leaves.count, 0) AS partitions,
  rel.oid IN (SELECT ddl.oid FROM ddl) AS locked,
  pg_catalog.obj_description(rel.oid, 'pg_class') AS comment,
  rel.relnatts,
  -- What the writer lacks of what writing needs; NULL where there is no such role.
  (SELECT pg_catalog.concat_ws(',',
            CASE WHEN NOT pg_catalog.has_schema_privilege(w.oid, rel.nsp, 'USAGE') THEN 'USAGE' END,
            CASE WHEN NOT pg_catalog.has_any_column_privilege(w.oid, rel.oid, 'SELECT') THEN 'SELECT' END,
            CASE WHEN NOT pg_catalog.has_any_column_privilege(w.oid, rel.oid, 'INSERT') THEN 'INSERT' END,
            CASE WHEN NOT pg_catalog.has_any_column_privilege(w.oid, rel.oid, 'UPDATE') THEN 'UPDATE' END,
            CASE WHEN NOT pg_catalog.has_table_privilege(w.oid, rel.oid, 'DELETE') THEN 'DELETE' END)
     FROM writer w WHERE rel.relkind IN ('r', 'p', 'v')) AS lacks
FROM rel
LEFT JOIN base ON base.root = rel.oid
LEFT JOIN leaves ON leaves.root = rel.oid
ORDER BY rel.nspname, rel.relname
