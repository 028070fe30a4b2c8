-- $1: names. Every overload in every schema. An aggregate is as volatile as the functions it is made of
-- (itself it is always marked immutable); the volatilities i, s, v are in the order of their letters.
SELECT w.ord, pg_catalog.json_build_object(
  'OID', p.oid::bigint, 'Schema', n.nspname, 'Name', p.proname,
  'Volatility', GREATEST(pg_catalog.ascii(p.provolatile::text), CASE WHEN p.prokind = 'a' AND p.oid >= 16384 THEN
    (SELECT pg_catalog.max(pg_catalog.ascii(q.provolatile::text)) FROM pg_catalog.pg_aggregate a JOIN pg_catalog.pg_proc q
       ON q.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn)
      WHERE a.aggfnoid = p.oid) END), 'Kind', pg_catalog.ascii(p.prokind::text),
  'Types', (SELECT pg_catalog.json_agg(a.oid::bigint) FROM (SELECT p.prorettype AS oid UNION SELECT pg_catalog.unnest(COALESCE(p.proallargtypes, p.proargtypes::pg_catalog.oid[]))) a
            WHERE a.oid >= 16384 AND p.oid >= 16384),
  'ShowsNames', EXISTS (
    SELECT FROM (SELECT p.prorettype AS oid
                 UNION SELECT a.oid FROM ROWS FROM (pg_catalog.unnest(p.proallargtypes), pg_catalog.unnest(p.proargmodes)) a(oid, mode) WHERE a.mode IN ('o', 'b', 't')) o
    JOIN pg_catalog.pg_type t ON t.oid = o.oid WHERE t.typnamespace = 11 AND t.typname ~ '^_?reg'),
  'Extension', COALESCE(x.extname, ''), 'OnPath', n.nspname = ANY (pg_catalog.current_schemas(true)))
FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY w(name, ord)
JOIN pg_catalog.pg_proc p ON p.proname = w.name::pg_catalog.name
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
      AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
LEFT JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid
