-- With their text: what a function yields is part of what a preview showed. Types of the name too: f(x) may be a cast (manual, 10.3). OIDs are compared as int8 so that the name's
-- index is used, whatever the planner believes of OIDs.
SELECT NULLIF(pg_catalog.hashtextextended(pg_catalog.concat_ws('/',
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.pronamespace, p.provolatile, p.prokind,
            p.prosecdef, p.proisstrict, p.prolang, p.proconfig, pg_catalog.hashtextextended(p.prosrc, 0), pg_catalog.hashtextextended(p.prosqlbody::pg_catalog.text, 0)), ',' ORDER BY p.oid)
   FROM pg_catalog.pg_proc p WHERE p.proname = {key}::pg_catalog.name AND p.oid::pg_catalog.int8 >= 16384),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.oid, t.typnamespace), ',' ORDER BY t.oid)
   FROM pg_catalog.pg_type t WHERE t.typname = {key}::pg_catalog.name AND t.oid::pg_catalog.int8 >= 16384)), 0),
  pg_catalog.hashtextextended('', 0))::pg_catalog.text
