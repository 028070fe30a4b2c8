-- $1: operator symbols. The functions behind every operator of that symbol; OnPath is that of the
-- operator, since the operator is what a text names.
SELECT w.ord, pg_catalog.json_build_object(
  'OID', p.oid::bigint, 'Schema', n.nspname, 'Name', p.proname,
  'Volatility', pg_catalog.ascii(p.provolatile::text), 'Kind', pg_catalog.ascii(p.prokind::text),
  'Types', (SELECT pg_catalog.json_agg(a.oid::bigint) FROM (SELECT p.prorettype AS oid UNION SELECT pg_catalog.unnest(COALESCE(p.proallargtypes, p.proargtypes::pg_catalog.oid[]))) a
            WHERE a.oid >= 16384 AND p.oid >= 16384),
  'Extension', COALESCE(pg_catalog.max(x.extname), ''),
  'OnPath', pg_catalog.bool_or(opn.nspname = ANY (pg_catalog.current_schemas(true))))
FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY w(name, ord)
JOIN pg_catalog.pg_operator o ON o.oprname = w.name AND o.oprcode <> 0
JOIN pg_catalog.pg_namespace opn ON opn.oid = o.oprnamespace
JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
      AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
GROUP BY w.ord, p.oid, n.nspname
