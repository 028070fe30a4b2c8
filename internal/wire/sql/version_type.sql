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
  (SELECT pg_catalog.string_agg((SELECT pg_catalog.concat_ws(' ', x.oid, x.pronamespace, x.proname, x.provolatile)
                                 FROM pg_catalog.pg_proc x WHERE x.oid = u.oid), ',' ORDER BY u.oid)
   FROM (SELECT t.typinput::pg_catalog.oid AS oid
         UNION SELECT k.castfunc FROM pg_catalog.pg_cast k WHERE k.casttarget = t.oid
         UNION SELECT r.rngcanonical::pg_catalog.oid FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
         UNION SELECT m[1]::pg_catalog.oid
               FROM pg_catalog.pg_constraint d
               CROSS JOIN LATERAL pg_catalog.regexp_matches(d.conbin::pg_catalog.text, ':(?:funcid|opfuncid) ([1-9][0-9]*)', 'g') m
               WHERE d.contypid = t.oid) u)), ',' ORDER BY t.oid), 0)::pg_catalog.text
FROM part JOIN pg_catalog.pg_type t ON t.oid = part.oid
WHERE t.oid >= 16384
