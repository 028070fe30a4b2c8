SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.pronamespace, p.provolatile, p.prokind), ',' ORDER BY p.oid), 0)::pg_catalog.text
FROM pg_catalog.pg_proc p WHERE p.proname = {key}::pg_catalog.name AND p.oid >= 16384
