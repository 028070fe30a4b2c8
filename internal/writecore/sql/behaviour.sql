-- What decides which values the relation r gets when it is written, as one hash per aspect: columns (types,
-- defaults, generated expressions, defaults of domains), triggers, rules and policies, and what its foreign
-- keys do. Functions named in any of them count with their text; what those call is not followed.
-- pg_get_functiondef reads what is there now, whatever the transaction's snapshot: TestS04DefinitionsUnderASnapshot
-- holds it. Bodies in standard SQL are left to prosqlbody, since it would print them by the search path. CHECK
-- constraints only refuse and are left out, so that adding one changes nothing here, and so does where in its
-- text an expression once stood.
SELECT pg_catalog.string_agg(pg_catalog.hashtextextended(pg_catalog.concat_ws('/', pg_catalog.regexp_replace(d.def, ' :(?:location|stmt_location|stmt_len) -?[0-9]+', '', 'g'),
    CASE WHEN d.def ~ ':(?:funcid|opfuncid|aggfnoid|winfnoid) [1-9][0-9]{4,9}' THEN
    (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.pronamespace, p.proname, p.provolatile, p.proconfig, p.proargdefaults, p.prosqlbody,
            CASE WHEN p.prokind <> 'a' AND p.prosqlbody IS NULL THEN pg_catalog.pg_get_functiondef(p.oid) END), ',' ORDER BY p.oid)
       FROM pg_catalog.pg_proc p
      WHERE p.oid = ANY (ARRAY(SELECT m[1]::pg_catalog.oid
                               FROM pg_catalog.regexp_matches(d.def, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([1-9][0-9]{4,9})', 'g') m))) END), 0)::pg_catalog.text, '.' ORDER BY d.ord)
FROM pg_catalog.unnest(ARRAY[
  pg_catalog.concat_ws(' ', r.relkind, r.nspname, r.relname,
    (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attcollation, a.attgenerated, a.attidentity,
               (SELECT f.adbin FROM pg_catalog.pg_attrdef f WHERE a.atthasdef AND f.adrelid = a.attrelid AND f.adnum = a.attnum),
               (SELECT t.typdefaultbin FROM pg_catalog.pg_type t WHERE a.atttypid >= 16384 AND t.oid = a.atttypid AND t.typtype = 'd')), ',' ORDER BY a.attnum)
       FROM pg_catalog.pg_attribute a WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped)),
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', g.tgname, ':funcid', g.tgfoid, g.tgtype, g.tgenabled, g.tgdeferrable, g.tginitdeferred,
                                                     g.tgattr, g.tgargs, g.tgqual, g.tgoldtable, g.tgnewtable), ',' ORDER BY g.tgname)
     FROM pg_catalog.pg_trigger g WHERE g.tgrelid = r.oid AND NOT g.tgisinternal),
  pg_catalog.concat_ws(' ', r.relrowsecurity, r.relforcerowsecurity,
    (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', w.rulename, w.ev_type, w.ev_enabled, w.is_instead, w.ev_qual, w.ev_action), ',' ORDER BY w.rulename)
       FROM pg_catalog.pg_rewrite w WHERE w.ev_class = r.oid),
    (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', y.polname, y.polcmd, y.polpermissive, y.polroles, y.polqual, y.polwithcheck), ',' ORDER BY y.polname)
       FROM pg_catalog.pg_policy y WHERE y.polrelid = r.oid)),
  -- the columns of ON DELETE SET NULL (column list) are there from 15 on
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', k.conname, k.conkey, k.confrelid, k.confkey, k.confupdtype, k.confdeltype, k.confmatchtype,
                                                     pg_catalog.to_jsonb(k) ->> 'confdelsetcols'), ',' ORDER BY k.conname)
     FROM pg_catalog.pg_constraint k WHERE k.conrelid = r.oid AND k.contype = 'f')
  ]) WITH ORDINALITY AS d (def, ord)
