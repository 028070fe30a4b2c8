-- Arrays of OIDs and one text of all checks, where joins would do: the planner's guess of the rows of a
-- recursion times those of pg_constraint would call for JIT compilation.
WITH RECURSIVE part AS ( -- the types of that name, and what they are made of
  SELECT t.oid FROM pg_catalog.pg_type t WHERE t.typname = {key}::pg_catalog.name
  UNION
  SELECT e.oid
  FROM part p JOIN pg_catalog.pg_type t ON t.oid = p.oid
  CROSS JOIN LATERAL (
    SELECT t.typbasetype AS oid
    UNION ALL SELECT t.typelem
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
              WHERE t.typrelid <> 0 AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
  ) e
  WHERE e.oid >= 16384
)
SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.oid, t.typnamespace, t.typtype, t.typbasetype, t.typelem, t.typinput::pg_catalog.oid,
  (SELECT pg_catalog.string_agg((SELECT pg_catalog.concat_ws(' ', x.oid, x.pronamespace, x.proname, x.provolatile, x.prosqlbody,
                                    CASE WHEN x.oid >= 16384 AND x.prosqlbody IS NULL THEN pg_catalog.pg_get_functiondef(x.oid) END)
                                 FROM pg_catalog.pg_proc x WHERE x.oid = f.oid), ',' ORDER BY f.oid)
   FROM (SELECT t.typinput::pg_catalog.oid
         UNION ALL SELECT k.castfunc FROM pg_catalog.pg_cast k WHERE k.casttarget = t.oid
         UNION ALL SELECT r.rngcanonical::pg_catalog.oid FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
         UNION ALL SELECT m[1]::pg_catalog.oid
                   FROM pg_catalog.regexp_matches(
                     (SELECT pg_catalog.string_agg(d.conbin::pg_catalog.text, ' ') FROM pg_catalog.pg_constraint d WHERE d.contypid = t.oid),
                     ':(?:funcid|opfuncid) ([1-9][0-9]*)', 'g') m) f(oid))), ',' ORDER BY t.oid), 0)::pg_catalog.text
FROM pg_catalog.unnest((SELECT pg_catalog.array_agg(part.oid) FROM part WHERE part.oid >= 16384)) u(oid)
JOIN pg_catalog.pg_type t ON t.oid = u.oid
