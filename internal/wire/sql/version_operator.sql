SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', o.oid, o.oprnamespace, o.oprcode::pg_catalog.oid, p.provolatile), ',' ORDER BY o.oid), 0)::pg_catalog.text
FROM pg_catalog.pg_operator o LEFT JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
WHERE o.oprname = {key}::pg_catalog.name AND o.oid >= 16384
