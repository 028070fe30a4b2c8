-- What a migration may drop beside relations and columns, outside the system's schemas, for the difference
-- before and after it: kind, OID, name, the relation it goes with (0 = none), and a key by which one that
-- was made anew (ALTER COLUMN TYPE remakes constraints, SET DEFAULT the default) is the same one.
WITH rel AS (
  SELECT c.oid, pg_catalog.concat_ws('.', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(c.relname)) AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
)
SELECT 'constraint' AS kind, k.oid::text AS oid, rel.name || '.' || pg_catalog.quote_ident(k.conname) AS name, k.conrelid::text AS rel, k.conrelid || '.' || k.conname AS key
FROM pg_catalog.pg_constraint k JOIN rel ON rel.oid = k.conrelid
WHERE k.contype IN ('c', 'f', 'p', 'u', 'x')
  -- a foreign key to a partitioned table has a part of its own for each partition, which goes with that
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint u WHERE u.oid = k.conparentid AND u.conrelid = k.conrelid)
UNION ALL
SELECT 'trigger', g.oid::text, rel.name || '.' || pg_catalog.quote_ident(g.tgname), g.tgrelid::text, g.tgrelid || '.' || g.tgname
FROM pg_catalog.pg_trigger g JOIN rel ON rel.oid = g.tgrelid
WHERE NOT g.tgisinternal
UNION ALL
SELECT 'policy', p.oid::text, rel.name || '.' || pg_catalog.quote_ident(p.polname), p.polrelid::text, p.polrelid || '.' || p.polname
FROM pg_catalog.pg_policy p JOIN rel ON rel.oid = p.polrelid
UNION ALL
SELECT 'rule', w.oid::text, rel.name || '.' || pg_catalog.quote_ident(w.rulename), w.ev_class::text, w.ev_class || '.' || w.rulename
FROM pg_catalog.pg_rewrite w JOIN rel ON rel.oid = w.ev_class
WHERE w.rulename <> '_RETURN'
UNION ALL
SELECT 'default', d.oid::text, rel.name || '.' || pg_catalog.quote_ident(a.attname), d.adrelid::text, d.adrelid || '.' || d.adnum
FROM pg_catalog.pg_attrdef d JOIN rel ON rel.oid = d.adrelid JOIN pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
UNION ALL
SELECT 'statistics', s.oid::text, pg_catalog.concat_ws('.', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(s.stxname)), s.stxrelid::text, n.nspname || '.' || s.stxname
FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace JOIN rel ON rel.oid = s.stxrelid
UNION ALL
SELECT 'function', p.oid::text, p.oid::pg_catalog.regprocedure::text, '0', p.oid::text
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
UNION ALL
SELECT 'type', t.oid::text, pg_catalog.concat_ws('.', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(t.typname)), '0', t.oid::text
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%' AND t.typtype IN ('e', 'd', 'r')
ORDER BY 1, 3
