-- $1, $2: schemas ('' = by search_path) and names, in parallel. One row per type that exists: its
-- position, as Self what it is itself (Kind is typtype), as Routines the functions that a cast to it may run unless it is built in (those of its casts,
-- its input function, and those of its domain checks; the same of its base, element, member and range
-- types), as OIDs all these types, and as Parts those of these types that are rows of relations or show numbers as names.
WITH RECURSIVE path AS (
  SELECT n.oid AS nsp, pg_catalog.min(p.ord) AS ord
  FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(name, ord)
  JOIN pg_catalog.pg_namespace n ON n.nspname = p.name
  GROUP BY n.oid
), hit AS (
  SELECT w.ord, t.oid AS root
  FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))
       WITH ORDINALITY w(schema, name, ord)
  CROSS JOIN LATERAL (
    SELECT t.oid
    FROM pg_catalog.pg_type t LEFT JOIN path ON path.nsp = t.typnamespace
    WHERE t.typname = w.name
      AND CASE w.schema WHEN '' THEN path.ord IS NOT NULL
                        ELSE t.typnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = w.schema) END
    ORDER BY path.ord LIMIT 1) t
), part AS (
  SELECT hit.ord, hit.root AS oid FROM hit
  UNION
  SELECT p.ord, e.oid
  FROM part p JOIN pg_catalog.pg_type t ON t.oid = p.oid
  CROSS JOIN LATERAL (
    SELECT t.typbasetype AS oid
    UNION ALL SELECT t.typelem
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
              WHERE t.typrelid <> 0 AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
  ) e
  WHERE e.oid <> 0
), used AS (
  SELECT p.ord, f.oid
  FROM part p
  JOIN pg_catalog.pg_type t ON t.oid = p.oid
  JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace AND tn.nspname <> 'pg_catalog'
  CROSS JOIN LATERAL (
    SELECT t.typinput::pg_catalog.oid AS oid
    UNION ALL SELECT c.castfunc FROM pg_catalog.pg_cast c WHERE c.casttarget = t.oid AND c.castfunc <> 0
    UNION ALL SELECT r.rngcanonical::pg_catalog.oid FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
    UNION ALL SELECT m[1]::pg_catalog.oid
              FROM pg_catalog.pg_constraint k
              CROSS JOIN LATERAL pg_catalog.regexp_matches(k.conbin::text, ':(?:op)?funcid ([1-9][0-9]*)', 'g') m
              WHERE k.contypid = t.oid
  ) f
  WHERE f.oid <> 0
)
SELECT hit.ord, pg_catalog.json_build_object('Self', (
  SELECT pg_catalog.json_build_object('OID', t.oid::pg_catalog.int8, 'Schema', n.nspname, 'Name', t.typname, 'Kind', pg_catalog.ascii(t.typtype::text))
  FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = hit.root), 'OIDs', (
  SELECT pg_catalog.json_agg(p.oid::pg_catalog.int8) FROM part p WHERE p.ord = hit.ord), 'Parts', (
  SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
    'OID', COALESCE(c.oid, 0)::pg_catalog.int8, 'Schema', n.nspname, 'Name', t.typname, 'Kind', COALESCE(pg_catalog.ascii(c.relkind::text), 0)))
  FROM part p
  JOIN pg_catalog.pg_type t ON t.oid = p.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid AND c.relkind <> 'c'
  WHERE p.ord = hit.ord AND (c.oid IS NOT NULL OR n.nspname = 'pg_catalog' AND t.typname LIKE 'reg%')), 'Routines', (
  SELECT pg_catalog.json_agg(DISTINCT pg_catalog.jsonb_build_object(
    'OID', p.oid::pg_catalog.int8, 'Schema', n.nspname, 'Name', p.proname,
    'Volatility', pg_catalog.ascii(p.provolatile::text), 'Kind', pg_catalog.ascii(p.prokind::text),
    'Extension', COALESCE(x.extname, ''), 'OnPath', n.nspname = ANY (pg_catalog.current_schemas(true))))
  FROM used u
  JOIN pg_catalog.pg_proc p ON p.oid = u.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
        AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
  LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
  WHERE u.ord = hit.ord))
FROM hit
