-- $1 schema or '' (all but the system's), $2 table or '', $3 whether columns and the rest are
-- wanted. From pg_catalog only: information_schema hides keys from a role that may only SELECT.
-- Partitions are folded into their parent, unless one is asked for by name.
SELECT n.nspname, c.relname,
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned_table' WHEN 'v' THEN 'view'
                 WHEN 'm' THEN 'materialized_view' ELSE 'foreign_table' END AS kind,
  pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT') AS readable,
  -- Whether the kind can be written to; the allowlist is the caller's.
  CASE c.relkind
    WHEN 'r' THEN true
    WHEN 'p' THEN NOT parts.has_foreign
    WHEN 'v' THEN pg_catalog.pg_relation_is_updatable(c.oid, true) & 28 <> 0
    ELSE false END AS can_be_written,
  CASE WHEN c.relkind = 'v' THEN (
    WITH RECURSIVE below AS (
      SELECT c.oid AS oid
      UNION
      SELECT m[1]::pg_catalog.oid
      FROM below b
      JOIN pg_catalog.pg_class v ON v.oid = b.oid AND v.relkind = 'v'
      JOIN pg_catalog.pg_rewrite w ON w.ev_class = b.oid
      CROSS JOIN LATERAL pg_catalog.regexp_matches(w.ev_action::text, ':relid ([1-9][0-9]*)', 'g') m
    )
    SELECT pg_catalog.json_agg(pg_catalog.json_build_array(bn.nspname, bc.relname, bc.relkind))
    FROM below b
    JOIN pg_catalog.pg_class bc ON bc.oid = b.oid
    JOIN pg_catalog.pg_namespace bn ON bn.oid = bc.relnamespace
    WHERE b.oid <> c.oid)
  END AS bases,
  CASE WHEN c.relkind = 'p' THEN parts.estimate
    WHEN c.relkind <> 'v' AND c.reltuples >= 0 THEN c.reltuples::pg_catalog.int8 END AS row_estimate,
  CASE WHEN $3::pg_catalog.bool THEN pg_catalog.json_build_object(
    'comment', pg_catalog.obj_description(c.oid, 'pg_class'),
    'columns', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
        'name', a.attname,
        'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
        'nullable', NOT a.attnotnull,
        'defaultValue', pg_catalog.pg_get_expr(d.adbin, d.adrelid),
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
        'definition', pg_catalog.pg_get_constraintdef(k.oid)) ORDER BY k.conname)
      FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('c', 'x')), '[]'::pg_catalog.json),
    'indexes', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', ic.relname, 'unique', i.indisunique,
        'definition', pg_catalog.pg_get_indexdef(i.indexrelid)) ORDER BY ic.relname)
      FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid
      WHERE i.indrelid = c.oid AND i.indislive), '[]'::pg_catalog.json),
    'triggers', COALESCE((
      SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', g.tgname, 'enabled', g.tgenabled <> 'D',
        'definition', pg_catalog.pg_get_triggerdef(g.oid)) ORDER BY g.tgname)
      FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal), '[]'::pg_catalog.json),
    'partitions', (
      SELECT pg_catalog.json_build_object(
        'strategy', CASE pt.partstrat WHEN 'r' THEN 'range' WHEN 'l' THEN 'list' ELSE 'hash' END,
        'key', pg_catalog.pg_get_partkeydef(c.oid),
        'count', parts.count)
      FROM pg_catalog.pg_partitioned_table pt WHERE pt.partrelid = c.oid)
  ) END AS detail
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN LATERAL (
  -- the leaves; pg_partition_tree would take locks
  WITH RECURSIVE tree AS (
    SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid
    UNION
    SELECT i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.inhrelid
  )
  SELECT pg_catalog.count(*) AS count, COALESCE(pg_catalog.bool_or(pc.relkind = 'f'), false) AS has_foreign,
         pg_catalog.sum(pc.reltuples) FILTER (WHERE pc.reltuples >= 0)::pg_catalog.int8 AS estimate
  FROM tree JOIN pg_catalog.pg_class pc ON pc.oid = tree.inhrelid
  WHERE pc.relkind <> 'p'
) parts ON c.relkind = 'p'
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND CASE WHEN $1::pg_catalog.text <> '' THEN n.nspname = $1::pg_catalog.text
           ELSE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%' END
  AND ($2::pg_catalog.text = '' AND NOT c.relispartition OR c.relname = $2::pg_catalog.text)
ORDER BY n.nspname, c.relname
