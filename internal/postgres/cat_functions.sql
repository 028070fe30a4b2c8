-- $1: names. Every overload in every schema.
SELECT w.ord, pg_catalog.json_build_object(
  'OID', p.oid::bigint, 'Schema', n.nspname, 'Name', p.proname,
  'Volatility', pg_catalog.ascii(p.provolatile::text), 'Kind', pg_catalog.ascii(p.prokind::text),
  'Extension', COALESCE(x.extname, ''), 'OnPath', n.nspname = ANY (pg_catalog.current_schemas(true)))
FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY w(name, ord)
JOIN pg_catalog.pg_proc p ON p.proname = w.name::pg_catalog.name
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
      AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
