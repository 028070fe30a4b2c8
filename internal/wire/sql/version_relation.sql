SELECT pg_catalog.hashtextextended(pg_catalog.concat_ws('/', c.relkind, c.relrowsecurity, c.relforcerowsecurity, n.nspname, c.relname,
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum, a.attname, a.atttypid, a.attnotnull, a.attgenerated, a.attidentity, a.attisdropped), ','
                                ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
  (SELECT pg_catalog.string_agg(i.indkey::pg_catalog.text, ',') FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
  CASE WHEN c.relhassubclass THEN -- children, and partitions that are foreign tables, as deep as they go
    (WITH RECURSIVE kin AS (
       SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid
       UNION
       SELECT i.inhrelid FROM kin JOIN pg_catalog.pg_inherits i ON i.inhparent = kin.inhrelid)
     SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', kin.inhrelid, k.relnamespace, k.relname), ',' ORDER BY kin.inhrelid)
     FROM kin JOIN pg_catalog.pg_class k ON k.oid = kin.inhrelid WHERE c.relkind <> 'p' OR k.relkind = 'f') END,
  (WITH RECURSIVE kin AS ( -- what it inherits from or is a partition of, as high as it goes: rules for those hold for it
     SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid
     UNION
     SELECT i.inhparent FROM kin JOIN pg_catalog.pg_inherits i ON i.inhrelid = kin.inhparent)
   SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', kin.inhparent, kn.nspname, k.relname), ',' ORDER BY kin.inhparent)
   FROM kin JOIN pg_catalog.pg_class k ON k.oid = kin.inhparent JOIN pg_catalog.pg_namespace kn ON kn.oid = k.relnamespace),
  -- A stored rule names functions by OID: one that is renamed or made volatile changes the rule's
  -- meaning and not its text.
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', w.oid, w.ev_type, w.is_instead, w.ev_enabled, w.ev_qual, w.ev_action,
     (SELECT pg_catalog.string_agg((SELECT pg_catalog.concat_ws(' ', p.oid, p.pronamespace, p.proname, p.provolatile)
                                    FROM pg_catalog.pg_proc p WHERE p.oid = u.oid), ',' ORDER BY u.oid)
      FROM (SELECT DISTINCT m[1]::pg_catalog.oid AS oid
            FROM pg_catalog.regexp_matches(w.ev_action::pg_catalog.text, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([1-9][0-9]{4,})', 'g') m) u)),
     ',' ORDER BY w.oid)
   FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid)
  ), 0)::pg_catalog.text
  -- other partitions stand behind a dot: see WithoutPartitions
  || CASE WHEN c.relkind = 'p' THEN '.' || COALESCE(
    (WITH RECURSIVE kin AS (
       SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid
       UNION
       SELECT i.inhrelid FROM kin JOIN pg_catalog.pg_inherits i ON i.inhparent = kin.inhrelid)
     SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(pg_catalog.concat_ws(' ', kin.inhrelid, k.relnamespace, k.relname), ',' ORDER BY kin.inhrelid), 0)
     FROM kin JOIN pg_catalog.pg_class k ON k.oid = kin.inhrelid)::pg_catalog.text, '') ELSE '' END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = {key} AND c.oid >= 16384
