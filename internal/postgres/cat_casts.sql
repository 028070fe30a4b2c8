-- The casts of the database's own that run a function, which may happen where no cast is written. Those of
-- extensions whose functions are IMMUTABLE are left out. Sources and Targets are every user type that holds
-- the cast's own at any depth: arrays, domains, ranges, rows and, for a type of the system, the domains and
-- arrays only (its rows are all tables).
WITH RECURSIVE own AS (
  SELECT c.oid, c.castsource, c.casttarget, c.castcontext, p.oid AS fn, p.proname, p.provolatile, p.prokind, n.nspname, x.extname
  FROM pg_catalog.pg_cast c
  JOIN pg_catalog.pg_proc p ON p.oid = c.castfunc
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
        AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
  LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
  WHERE c.oid::pg_catalog.int8 >= 16384 AND c.castmethod = 'f' AND NOT (x.oid IS NOT NULL AND p.provolatile = 'i')
), box AS (
  SELECT own.castsource AS root, own.castsource AS oid FROM own
  UNION SELECT own.casttarget, own.casttarget FROM own
  UNION
  SELECT b.root, e.oid
  FROM box b CROSS JOIN LATERAL (
    SELECT t.oid FROM pg_catalog.pg_type t WHERE t.typbasetype = b.oid OR t.typelem = b.oid
    UNION ALL SELECT a.oid FROM pg_catalog.pg_range r CROSS JOIN LATERAL (VALUES (r.rngtypid), (r.rngmultitypid)) a(oid) WHERE r.rngsubtype = b.oid
    UNION ALL SELECT c.reltype FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
              WHERE b.root >= 16384 AND a.atttypid = b.oid AND a.attnum > 0 AND NOT a.attisdropped AND c.reltype <> 0
  ) e
)
SELECT pg_catalog.json_build_object(
  'Source', pg_catalog.format_type(own.castsource, NULL), 'Target', pg_catalog.format_type(own.casttarget, NULL),
  'SourceOID', own.castsource::pg_catalog.int8, 'TargetOID', own.casttarget::pg_catalog.int8, 'Context', pg_catalog.ascii(own.castcontext::pg_catalog.text),
  'TargetName', (SELECT t.typname FROM pg_catalog.pg_type t WHERE t.oid = own.casttarget),
  'Sources', (SELECT pg_catalog.json_agg(b.oid::pg_catalog.int8) FROM box b WHERE b.root = own.castsource),
  'Targets', (SELECT pg_catalog.json_agg(b.oid::pg_catalog.int8) FROM box b WHERE b.root = own.casttarget),
  'Routine', pg_catalog.json_build_object(
    'OID', own.fn::pg_catalog.int8, 'Schema', own.nspname, 'Name', own.proname, 'Volatility', pg_catalog.ascii(own.provolatile::pg_catalog.text),
    'Kind', pg_catalog.ascii(own.prokind::pg_catalog.text), 'Extension', COALESCE(own.extname, ''),
    'OnPath', own.nspname = ANY (pg_catalog.current_schemas(true))))
FROM own
ORDER BY own.oid
