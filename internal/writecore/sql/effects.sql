-- Rows changed per relation in this transaction, whoever changed them: the statement, cascades,
-- triggers, functions. The relations this backend holds write locks on, with the counters of this
-- transaction (manual, 28.2.24 and 13.3), and what decided the values that were written (behaviour.sql).
WITH held AS MATERIALIZED (
  SELECT l.relation AS oid, pg_catalog.bool_or(l.mode = 'AccessExclusiveLock') AS exclusive
  FROM pg_catalog.pg_lock_status() l
  WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
    AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  GROUP BY l.relation
), rel AS MATERIALIZED (
  SELECT h.oid, h.exclusive, c.relkind, c.relpersistence, n.nspname, c.relname, c.relrowsecurity, c.relforcerowsecurity,
    -- TRUNCATE and changes of a table write its row of pg_class in this transaction, which LOCK TABLE does not; a table
    -- made in it has its row type's age
    h.exclusive AND pg_catalog.age(c.xmin) <= 0 AND c.xmin IS DISTINCT FROM (SELECT y.xmin FROM pg_catalog.pg_type y WHERE y.oid = c.reltype) AS remade,
    COALESCE(pg_catalog.pg_partition_root(h.oid)::oid, h.oid) AS root,
    pg_catalog.pg_stat_get_xact_tuples_inserted(h.oid) AS ins,
    pg_catalog.pg_stat_get_xact_tuples_updated(h.oid) AS upd,
    pg_catalog.pg_stat_get_xact_tuples_deleted(h.oid) AS del
  FROM held h
  JOIN pg_catalog.pg_class c ON c.oid = h.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind NOT IN ('i', 'I') AND n.nspname NOT LIKE 'pg\_toast%'
)
SELECT r.oid, r.exclusive, r.relkind, r.relpersistence, r.nspname, r.relname, r.root, rn.nspname, rc.relname,
  r.ins, r.upd, r.del,
  CASE WHEN rc.reltuples >= 0 THEN rc.reltuples::bigint END,
  EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN rel o ON o.root = k.confrelid
          WHERE k.contype = 'f' AND k.conrelid = r.root AND k.conrelid <> k.confrelid) AS by_key,
  (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(o.nspname) || '.' || pg_catalog.quote_ident(o.relname), ', ')
     FROM rel o JOIN pg_catalog.pg_trigger g ON g.tgrelid = o.oid
    WHERE NOT g.tgisinternal AND g.tgenabled <> 'D' AND o.oid <> r.oid AND o.ins + o.upd + o.del > 0) AS triggers_on,
  -- of partitions only where something changed: there may be thousands of them
  CASE WHEN r.relkind IN ('r', 'p', 'v') AND r.relpersistence <> 't'
        AND (r.root = r.oid OR r.ins + r.upd + r.del > 0 OR pg_catalog.current_setting('track_counts') = 'off') THEN ({behaviour}) END AS behaviour,
  -- what this relation itself inherits from or is a partition of; of a partition its own name too. Partitions are
  -- read as they are now and not as of a snapshot: one may be renamed or attached while the statement waits
  CASE WHEN r.ins + r.upd + r.del > 0 OR r.remade OR r.relkind = 'f' OR pg_catalog.current_setting('track_counts') = 'off' THEN
    (SELECT pg_catalog.json_agg(a.name ORDER BY a.name) FROM (
       (WITH RECURSIVE up AS (
          SELECT i.inhparent AS oid FROM pg_catalog.pg_inherits i WHERE i.inhrelid = r.oid
          UNION
          SELECT i.inhparent FROM up JOIN pg_catalog.pg_inherits i ON i.inhrelid = up.oid)
        SELECT (pg_catalog.pg_identify_object(1259, up.oid, 0)).identity AS name FROM up)
       UNION
       SELECT (pg_catalog.pg_identify_object(1259, p.relid, 0)).identity FROM pg_catalog.pg_partition_ancestors(r.oid) p
     ) a WHERE a.name IS NOT NULL) END AS above,
  r.remade
FROM rel r
JOIN pg_catalog.pg_class rc ON rc.oid = r.root
JOIN pg_catalog.pg_namespace rn ON rn.oid = rc.relnamespace
UNION ALL
-- Of a relation that was dropped only its lock is left. Temporary ones that came and went are no change: as many
-- were made as are gone. An index that was made is no sign of another table; tables that were made are locked.
SELECT k.oid, true, '-', '', 'pg_catalog', 'pg_class', k.oid, 'pg_catalog', 'pg_class',
  pg_catalog.pg_stat_get_xact_tuples_inserted(k.oid), 0, pg_catalog.pg_stat_get_xact_tuples_deleted(k.oid),
  (SELECT pg_catalog.count(*) FROM held h JOIN pg_catalog.pg_class c ON c.oid = h.oid WHERE h.exclusive AND c.relkind IN ('i', 'I')),
  false, NULL, NULL, NULL, false
FROM pg_catalog.pg_class k
WHERE k.oid = 'pg_catalog.pg_class'::pg_catalog.regclass
  AND EXISTS (SELECT FROM held h WHERE h.exclusive AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = h.oid))
ORDER BY 1, 3
