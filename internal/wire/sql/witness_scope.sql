-- As witness.sql, for what the functions of a read have touched. $1: OIDs that pass, $2: the mark, $3: all
-- schemas pass, $4: schemas that pass, $5 and $6: schemas and names of tables that pass, in parallel. The
-- name of a TOAST table holds the OID of its owner. What has or reads a masked column does not pass,
-- where $7 says that there are masks.
SELECT CASE WHEN pg_catalog.count(*) > 0
            THEN ($2::pg_catalog.text || pg_catalog.string_agg(DISTINCT l.relation::pg_catalog.regclass::pg_catalog.text, ', '))::pg_catalog.int4 END
FROM pg_catalog.pg_lock_status() l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND l.relation >= 16384 AND l.relation <> ALL ($1::pg_catalog.oid[])
  AND NOT EXISTS (
    SELECT
    FROM (SELECT COALESCE((SELECT i.indrelid FROM pg_catalog.pg_index i WHERE i.indexrelid = l.relation), l.relation) AS oid) a
    JOIN pg_catalog.pg_class t ON t.oid = a.oid
    CROSS JOIN LATERAL (SELECT CASE WHEN t.relkind = 't' THEN pg_catalog.substr(t.relname::pg_catalog.text, 10)::pg_catalog.oid ELSE t.oid END AS oid) o
    CROSS JOIN LATERAL (SELECT o.oid UNION SELECT p.relid FROM pg_catalog.pg_partition_ancestors(o.oid) p(relid)) s
    JOIN pg_catalog.pg_class c ON c.oid = s.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT ({masked})
      AND (n.nspname = ANY ($4::pg_catalog.text[])
       OR (n.nspname::pg_catalog.text, c.relname::pg_catalog.text) IN (
            SELECT w.nsp, w.rel FROM ROWS FROM (pg_catalog.unnest($5::pg_catalog.text[]), pg_catalog.unnest($6::pg_catalog.text[])) w(nsp, rel))
       OR $3::pg_catalog.bool AND n.nspname <> 'mcp_audit' AND n.nspname !~ '^pg_(toast|temp)' AND c.relname !~ '^pg_stat_statements'))
