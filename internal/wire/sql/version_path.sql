-- Functions and operators are never looked up in pg_temp, and a temporary relation shows as a lock. The casts
-- of the database's own belong to it: like the path they say what a text means, wherever it is written.
SELECT pg_catalog.concat_ws('; ',
  (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s.name), ', ' ORDER BY s.ord)
   FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY s(name, ord)
   WHERE s.name NOT LIKE 'pg\_temp\_%'),
  (SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', k.oid, k.castsource, k.casttarget, k.castcontext,
            p.oid, p.pronamespace, p.proname, p.provolatile), ',' ORDER BY k.oid), 0)
   FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_proc p ON p.oid = k.castfunc
   WHERE k.oid::pg_catalog.int8 >= 16384))
