-- OIDs are compared as int8 so that the index on the name is used.
SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', o.oid, o.oprnamespace, o.oprcode::pg_catalog.oid, p.provolatile, p.prosqlbody,
    CASE WHEN p.oid >= 16384 AND p.prosqlbody IS NULL THEN pg_catalog.pg_get_functiondef(p.oid) END), ',' ORDER BY o.oid), 0)::pg_catalog.text
FROM pg_catalog.pg_operator o LEFT JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
WHERE o.oprname = {key}::pg_catalog.name AND o.oid::pg_catalog.int8 >= 16384
