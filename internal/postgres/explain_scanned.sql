-- The tables that planning has locked, which are those a plan may name: their size, what is known of their
-- rows, and of a partition the table it belongs to. No lock is taken that is not held already.
WITH RECURSIVE held AS MATERIALIZED (
  SELECT DISTINCT l.relation AS oid FROM pg_catalog.pg_lock_status() l
  WHERE l.locktype = 'relation' AND l.granted AND l.pid = pg_catalog.pg_backend_pid()
    AND l.database = (SELECT db.oid FROM pg_catalog.pg_database db WHERE db.datname = pg_catalog.current_database())
), leaf AS MATERIALIZED (
  SELECT c.oid, n.nspname, c.relname, c.reltuples, c.relispartition
  FROM held JOIN pg_catalog.pg_class c ON c.oid = held.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%'
), up AS (
  SELECT leaf.oid AS leaf, leaf.oid FROM leaf WHERE leaf.relispartition
  UNION
  SELECT up.leaf, i.inhparent
  FROM up JOIN pg_catalog.pg_class c ON c.oid = up.oid JOIN pg_catalog.pg_inherits i ON i.inhrelid = up.oid
  WHERE c.relispartition
)
SELECT leaf.nspname, leaf.relname, pg_catalog.pg_relation_size(leaf.oid) AS bytes,
  CASE WHEN leaf.reltuples >= 0 THEN leaf.reltuples::pg_catalog.int8 END AS rows,
  root.nspname AS root_schema, root.relname AS root_table
FROM leaf LEFT JOIN LATERAL (
  SELECT n.nspname, c.relname
  FROM up JOIN pg_catalog.pg_class c ON c.oid = up.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE up.leaf = leaf.oid AND NOT c.relispartition) root ON true
