-- $1: OIDs. $2: whether to list the partitions too. The full entries, from pg_catalog only:
-- information_schema hides keys from a role that may only SELECT. The functions that print definitions
-- wait for the relation's lock, so they are left out where another session's DDL holds it or waits for it.
WITH ddl AS MATERIALIZED (
  SELECT DISTINCT l.relation AS oid FROM pg_catalog.pg_lock_status() l
  WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_catalog.pg_backend_pid()
    AND l.database = (SELECT db.oid FROM pg_catalog.pg_database db WHERE db.datname = pg_catalog.current_database())
), w AS MATERIALIZED (
  SELECT u.oid, u.oid IN (SELECT ddl.oid FROM ddl) AS locked FROM pg_catalog.unnest($1::pg_catalog.oid[]) u(oid)
)
SELECT c.oid, pg_catalog.json_build_object(
    'columns', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
        'name', a.attname,
        'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
        'nullable', NOT a.attnotnull,
        'defaultValue', CASE WHEN NOT w.locked THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END,
        'identity', CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' END,
        'generated', CASE a.attgenerated WHEN 's' THEN 'stored' WHEN 'v' THEN 'virtual' END,
        'comment', pg_catalog.col_description(c.oid, a.attnum),
        'enumValues', (
          -- of the enum itself, of an array of it, of a domain over it
          SELECT pg_catalog.json_agg(e.enumlabel ORDER BY e.enumsortorder)
          FROM pg_catalog.pg_type t
          LEFT JOIN pg_catalog.pg_type t2 ON t2.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype WHEN t.typcategory = 'A' THEN t.typelem END
          LEFT JOIN pg_catalog.pg_type t3 ON t3.oid = CASE WHEN t2.typtype = 'd' THEN t2.typbasetype WHEN t2.typcategory = 'A' THEN t2.typelem END
          JOIN pg_catalog.pg_enum e ON e.enumtypid IN (t.oid, t2.oid, t3.oid)
          WHERE t.oid = a.atttypid)
      ) ORDER BY a.attnum)
      FROM pg_catalog.pg_attribute a
      LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]'::pg_catalog.json),
    'primaryKey', COALESCE((
      SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
      FROM pg_catalog.pg_constraint p
      CROSS JOIN LATERAL pg_catalog.unnest(p.conkey) WITH ORDINALITY k(num, ord)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = p.conrelid AND a.attnum = k.num
      WHERE p.conrelid = c.oid AND p.contype = 'p'), '[]'::pg_catalog.json),
    'foreignKeys', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
        'constraintName', f.conname, 'column', a.attname,
        'referencesSchema', fn.nspname, 'referencesTable', fc.relname, 'referencesColumn', fa.attname,
        'onDelete', CASE f.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END,
        'onUpdate', CASE f.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END
      ) ORDER BY f.conname, k.ord)
      FROM pg_catalog.pg_constraint f
      JOIN pg_catalog.pg_class fc ON fc.oid = f.confrelid
      JOIN pg_catalog.pg_namespace fn ON fn.oid = fc.relnamespace
      CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(f.conkey), pg_catalog.unnest(f.confkey)) WITH ORDINALITY k(num, fnum, ord)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.num
      JOIN pg_catalog.pg_attribute fa ON fa.attrelid = f.confrelid AND fa.attnum = k.fnum
      WHERE f.conrelid = c.oid AND f.contype = 'f'
        -- a key to a partitioned table has hidden twins, one per partition
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint pf WHERE pf.oid = f.conparentid AND pf.conrelid = f.conrelid)), '[]'::pg_catalog.json),
    'unique', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object('constraintName', u.conname, 'columns', (
        SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
        FROM pg_catalog.unnest(u.conkey) WITH ORDINALITY k(num, ord)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = u.conrelid AND a.attnum = k.num)) ORDER BY u.conname)
      FROM pg_catalog.pg_constraint u WHERE u.conrelid = c.oid AND u.contype = 'u'), '[]'::pg_catalog.json),
    'checks', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object('constraintName', k.conname,
        'definition', CASE WHEN NOT w.locked THEN pg_catalog.pg_get_constraintdef(k.oid) END) ORDER BY k.conname)
      FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('c', 'x')), '[]'::pg_catalog.json),
    'indexes', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', ic.relname, 'unique', i.indisunique,
        'definition', CASE WHEN NOT w.locked THEN pg_catalog.pg_get_indexdef(i.indexrelid) END) ORDER BY ic.relname)
      FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid
      WHERE i.indrelid = c.oid AND i.indislive), '[]'::pg_catalog.json),
    'triggers', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', g.tgname, 'enabled', g.tgenabled <> 'D',
        'definition', CASE WHEN NOT w.locked THEN pg_catalog.pg_get_triggerdef(g.oid) END) ORDER BY g.tgname)
      FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal), '[]'::pg_catalog.json),
    'partitions', (
      SELECT pg_catalog.json_build_object(
        'strategy', CASE pt.partstrat WHEN 'r' THEN 'range' WHEN 'l' THEN 'list' ELSE 'hash' END,
        'key', CASE WHEN NOT w.locked THEN pg_catalog.pg_get_partkeydef(c.oid) END,
        'count', 0,
        'children', CASE WHEN $2::pg_catalog.bool THEN (
          SELECT pg_catalog.json_agg(pg_catalog.json_build_object('schema', k.nspname, 'table', k.relname, 'bound', k.bound, 'partitioned', k.partitioned)
                                     ORDER BY k.nspname, k.relname)
          FROM (SELECT kn.nspname, kc.relname, kc.relkind = 'p' AS partitioned,
                       CASE WHEN kc.oid NOT IN (SELECT ddl.oid FROM ddl) THEN pg_catalog.pg_get_expr(kc.relpartbound, kc.oid) END AS bound
                FROM pg_catalog.pg_inherits i
                JOIN pg_catalog.pg_class kc ON kc.oid = i.inhrelid
                JOIN pg_catalog.pg_namespace kn ON kn.oid = kc.relnamespace
                WHERE i.inhparent = c.oid) k) END)
      FROM pg_catalog.pg_partitioned_table pt WHERE pt.partrelid = c.oid),
    'partitionOf', (
      SELECT pg_catalog.json_build_object('schema', pn.nspname, 'table', pc.relname,
        'bound', CASE WHEN NOT w.locked THEN pg_catalog.pg_get_expr(c.relpartbound, c.oid) END)
      FROM pg_catalog.pg_inherits i
      JOIN pg_catalog.pg_class pc ON pc.oid = i.inhparent
      JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
      WHERE c.relispartition AND i.inhrelid = c.oid),
    'locked', w.locked
  ), {mask}, (
    SELECT pg_catalog.json_agg(a.attnum ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
FROM w
JOIN pg_catalog.pg_class c ON c.oid = w.oid
