-- With their text and the defaults of their arguments: what a function yields is part of what a preview showed.
-- pg_get_functiondef reads what is there now, also in a transaction whose snapshot is older (but for bodies in
-- standard SQL, which are read as they are stored). See TestS04AFunctionIsReplacedMeanwhile.
-- Types of the name too: f(x) may be a cast (manual, 10.3). OIDs are compared as int8 so that the name's index
-- is used, whatever the planner believes of OIDs.
SELECT NULLIF(pg_catalog.hashtextextended(pg_catalog.concat_ws('/',
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.pronamespace, p.provolatile, p.prokind,
            p.proargdefaults, p.proconfig, p.prosqlbody,
            CASE WHEN p.prokind <> 'a' AND p.prosqlbody IS NULL THEN pg_catalog.pg_get_functiondef(p.oid) END), ',' ORDER BY p.oid)
   FROM pg_catalog.pg_proc p WHERE p.proname = {key}::pg_catalog.name AND p.oid::pg_catalog.int8 >= 16384),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.oid, t.typnamespace), ',' ORDER BY t.oid)
   FROM pg_catalog.pg_type t WHERE t.typname = {key}::pg_catalog.name AND t.oid::pg_catalog.int8 >= 16384)), 0),
  pg_catalog.hashtextextended('', 0))::pg_catalog.text
