-- $1, $2: schemas ('' = by search_path) and names, in parallel. One row per name that exists:
-- its position and what pg_class and its neighbours say, as JSON. The version's text is wire's, and so is
-- that of the masks, which $3 holds where there are any.
WITH RECURSIVE path AS (
  SELECT n.oid AS nsp, pg_catalog.min(p.ord) AS ord
  FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(name, ord)
  JOIN pg_catalog.pg_namespace n ON n.nspname = p.name
  GROUP BY n.oid
), want AS (
  SELECT w.schema, w.name, w.ord
  FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))
       WITH ORDINALITY w(schema, name, ord)
), hit AS (
  SELECT w.ord, c.oid AS root
  FROM want w CROSS JOIN LATERAL (
    SELECT c.oid
    FROM pg_catalog.pg_class c LEFT JOIN path ON path.nsp = c.relnamespace
    WHERE c.relname = w.name
      AND CASE w.schema WHEN '' THEN path.ord IS NOT NULL
                        WHEN 'pg_temp' THEN c.relnamespace = pg_catalog.pg_my_temp_schema()
                        ELSE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = w.schema) END
    ORDER BY path.ord LIMIT 1) c
), roots AS (
  SELECT DISTINCT hit.root FROM hit
), tree AS ( -- inheritance children and partitions, the relation itself included
  SELECT r.root, r.root AS oid FROM roots r
  UNION
  SELECT t.root, i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
), below AS (
  -- What a view stands on. The stored query names every relation as ":relid n"; pg_depend leaves
  -- out those of the system.
  SELECT r.root, r.root AS oid FROM roots r JOIN pg_catalog.pg_class c ON c.oid = r.root WHERE c.relkind = 'v'
  UNION
  SELECT b.root, e.oid
  FROM below b
  JOIN pg_catalog.pg_class v ON v.oid = b.oid AND v.relkind = 'v'
  JOIN pg_catalog.pg_rewrite w ON w.ev_class = b.oid
  CROSS JOIN LATERAL (
    SELECT m[1]::pg_catalog.oid AS oid
    FROM pg_catalog.regexp_matches(w.ev_action::text, ':relid ([1-9][0-9]*)', 'g') m) e
), above AS ( -- what the relation, or one below it, inherits from or is a partition of
  SELECT s.root, s.oid AS kin, s.oid FROM (
    SELECT r.root, r.root AS oid FROM roots r
    UNION SELECT b.root, b.oid FROM below b
    UNION SELECT i.indexrelid, i.indrelid FROM pg_catalog.pg_index i JOIN roots r ON r.root = i.indexrelid
    UNION SELECT d.objid, d.refobjid FROM roots r
          JOIN pg_catalog.pg_depend d ON d.classid = 1259 AND d.objid = r.root AND d.refclassid = 1259 AND d.deptype IN ('a', 'i')
          JOIN pg_catalog.pg_class q ON q.oid = r.root AND q.relkind = 'S') s
  UNION
  SELECT a.root, a.kin, i.inhparent FROM above a JOIN pg_catalog.pg_inherits i ON i.inhrelid = a.oid
), closure AS ( -- what name resolution and planning may lock
  SELECT r.root, r.root AS oid FROM roots r
  UNION
  SELECT k.root, e.oid
  FROM closure k CROSS JOIN LATERAL (
    SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE i.inhparent = k.oid
    UNION ALL
    SELECT i.indexrelid FROM pg_catalog.pg_index i WHERE i.indrelid = k.oid
    UNION ALL
    SELECT c.reltoastrelid FROM pg_catalog.pg_class c WHERE c.oid = k.oid AND c.reltoastrelid <> 0
    UNION ALL
    SELECT m[1]::pg_catalog.oid
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_rewrite w ON w.ev_class = c.oid
    CROSS JOIN LATERAL pg_catalog.regexp_matches(w.ev_action::text, ':relid ([1-9][0-9]*)', 'g') m
    WHERE c.oid = k.oid AND c.relkind = 'v'
    UNION ALL
    SELECT m[1]::pg_catalog.oid
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_policy p ON p.polrelid = c.oid
    CROSS JOIN LATERAL pg_catalog.regexp_matches(
      pg_catalog.concat(p.polqual::text, ' ', p.polwithcheck::text), ':relid ([1-9][0-9]*)', 'g') m
    WHERE c.oid = k.oid AND c.relrowsecurity
  ) e
)
SELECT hit.ord, pg_catalog.json_build_object(
  'OID', c.oid::bigint, 'Version', COALESCE({version}, ''), 'Mask', {mask}, 'Schema', n.nspname, 'Name', c.relname,
  'Kind', pg_catalog.ascii(c.relkind::text), 'Persistence', pg_catalog.ascii(c.relpersistence::text),
  'Columns', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'Name', a.attname, 'Number', a.attnum, 'TypeOID', a.atttypid::bigint,
      'Type', pg_catalog.format_type(a.atttypid, a.atttypmod),
      'NotNull', a.attnotnull AND NOT EXISTS ( -- since Postgres 18 it may be there and not yet validated
        SELECT FROM pg_catalog.pg_constraint k
        WHERE k.conrelid = c.oid AND k.contype = 'n' AND NOT k.convalidated AND k.conkey = ARRAY[a.attnum]),
      'Generated', a.attgenerated <> '', 'Identity', pg_catalog.ascii(a.attidentity::text),
      'HasDefault', a.atthasdef AND a.attgenerated = '' OR t.typdefault IS NOT NULL,
      'FromSequence', a.attidentity <> '' OR COALESCE(d.adbin::text ~ ':funcid 1574 ', false), -- nextval; pg_get_expr would take a lock
      'ShowsNames', CASE WHEN t.typtype = 'e' THEN false
                         WHEN t.typtype = 'b' AND t.typnamespace = 11 AND t.typname !~ '^_pg_' THEN t.typname ~ '^_?reg'
                         ELSE EXISTS (
        WITH RECURSIVE part AS ( -- what the type is made of
          SELECT a.atttypid AS oid
          UNION
          SELECT e.oid
          FROM part JOIN pg_catalog.pg_type pt ON pt.oid = part.oid
          CROSS JOIN LATERAL (
            SELECT pt.typbasetype AS oid
            UNION ALL SELECT pt.typelem
            UNION ALL SELECT m.atttypid FROM pg_catalog.pg_attribute m
                      WHERE pt.typrelid <> 0 AND m.attrelid = pt.typrelid AND m.attnum > 0 AND NOT m.attisdropped
            UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE pt.oid IN (r.rngtypid, r.rngmultitypid)
          ) e
          WHERE e.oid <> 0)
        SELECT FROM part JOIN pg_catalog.pg_type pt ON pt.oid = part.oid WHERE pt.typnamespace = 11 AND pt.typname ~ '^reg') END
    ) ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated = ''
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  'PrimaryKey', (
    SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
    FROM pg_catalog.pg_index i
    CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY k(num, ord)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
    WHERE i.indrelid = c.oid AND i.indisprimary AND k.ord <= i.indnkeyatts),
  'RowsEstimate', (
    SELECT pg_catalog.sum(tc.reltuples)::pg_catalog.int8
    FROM tree JOIN pg_catalog.pg_class tc ON tc.oid = tree.oid
    WHERE tree.root = c.oid AND tc.reltuples >= 0 AND tc.relkind <> 'p'),
  'RowSecurity', c.relkind IN ('r', 'p') AND pg_catalog.row_security_active(c.oid),
  'Can', pg_catalog.json_build_object(
    'Select', CASE WHEN c.relkind IN ('i', 'I', 'c') THEN false WHEN c.relkind = 'S' THEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT')
                   ELSE pg_catalog.has_any_column_privilege(c.oid, 'SELECT') END,
    'Insert', c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_any_column_privilege(c.oid, 'INSERT'),
    'Update', c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_any_column_privilege(c.oid, 'UPDATE'),
    'Delete', c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_table_privilege(c.oid, 'DELETE')),
  'ViewDef', CASE WHEN c.relkind = 'v' THEN pg_catalog.pg_get_viewdef(c.oid) ELSE '' END,
  'Below', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'OID', bc.oid::bigint, 'Schema', bn.nspname, 'Name', bc.relname, 'Kind', pg_catalog.ascii(bc.relkind::text)) ORDER BY bc.oid)
    FROM (SELECT below.oid FROM below WHERE below.root = c.oid
          UNION SELECT i.indrelid FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid
          UNION SELECT d.refobjid FROM pg_catalog.pg_depend d -- OWNED BY, serial and identity columns
                WHERE c.relkind = 'S' AND d.classid = 1259 AND d.objid = c.oid AND d.refclassid = 1259 AND d.deptype IN ('a', 'i')) b
    JOIN pg_catalog.pg_class bc ON bc.oid = b.oid
    JOIN pg_catalog.pg_namespace bn ON bn.oid = bc.relnamespace
    WHERE b.oid <> c.oid),
  'Above', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'Of', above.kin::bigint, 'OID', ac.oid::bigint, 'Schema', an.nspname, 'Name', ac.relname, 'Kind', pg_catalog.ascii(ac.relkind::text)) ORDER BY above.kin, ac.oid)
    FROM above JOIN pg_catalog.pg_class ac ON ac.oid = above.oid JOIN pg_catalog.pg_namespace an ON an.oid = ac.relnamespace
    WHERE above.root = c.oid AND above.oid <> above.kin),
  'HasForeignPartition', EXISTS (
    SELECT FROM tree JOIN pg_catalog.pg_class tc ON tc.oid = tree.oid
    WHERE tree.root = c.oid AND tree.oid <> c.oid AND tc.relkind = 'f'),
  'Inherited', c.relhassubclass,
  'Children', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'OID', kc.oid::bigint, 'Schema', kn.nspname, 'Name', kc.relname, 'Kind', pg_catalog.ascii(kc.relkind::text)) ORDER BY kc.oid)
    FROM tree JOIN pg_catalog.pg_class kc ON kc.oid = tree.oid JOIN pg_catalog.pg_namespace kn ON kn.oid = kc.relnamespace
    WHERE c.relkind <> 'p' AND tree.root = c.oid AND tree.oid <> c.oid),
  'HasInsteadOf', EXISTS (
    SELECT FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 64 <> 0),
  'Rules', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object('Name', w.rulename, 'Event', pg_catalog.ascii(w.ev_type::text)) ORDER BY w.rulename)
    FROM pg_catalog.pg_rewrite w WHERE c.relhasrules AND w.ev_class = c.oid AND w.ev_type <> '1' AND w.ev_enabled IN ('O', 'A')),
  'Updatable', CASE WHEN c.relkind IN ('r', 'p') THEN 28 -- INSERT 8, UPDATE 4, DELETE 16; the function would take a lock
                    WHEN c.relkind IN ('v', 'f') THEN pg_catalog.pg_relation_is_updatable(c.oid, true) ELSE 0 END,
  'Closure', (SELECT pg_catalog.json_agg(k.oid::bigint ORDER BY k.oid) FROM closure k WHERE k.root = c.oid)
)
FROM hit
JOIN pg_catalog.pg_class c ON c.oid = hit.root
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
