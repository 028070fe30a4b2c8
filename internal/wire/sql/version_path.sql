-- Functions and operators are never looked up in pg_temp, and a temporary relation shows as a lock.
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s.name), ', ' ORDER BY s.ord)
FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY s(name, ord)
WHERE s.name NOT LIKE 'pg\_temp\_%'
