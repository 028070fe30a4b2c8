-- One hash over the definitions of the relations a migration names: columns, constraints, indexes,
-- triggers, view text. Approved for one world, it must not run in another. $1 = OIDs, $2 = those of
-- types and domains, of which it is labels, constraints and defaults.
SELECT c.oid, n.nspname, c.relname, pg_catalog.md5(pg_catalog.concat_ws(E'\n', c.relkind, n.nspname, c.relname,
  (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, pg_catalog.pg_get_expr(d.adbin, d.adrelid)), E'\n' ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT pg_catalog.string_agg(k.conname || ' ' || pg_catalog.pg_get_constraintdef(k.oid) || ' ' || k.convalidated, E'\n' ORDER BY k.conname)
     FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid),
  (SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid) || ' ' || i.indisvalid, E'\n' ORDER BY i.indexrelid)
     FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid),
  (SELECT pg_catalog.string_agg(pg_catalog.pg_get_triggerdef(g.oid) || ' ' || g.tgenabled::text, E'\n' ORDER BY g.tgname)
     FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal),
  CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = ANY ($1::oid[])
UNION ALL
SELECT t.oid, n.nspname, t.typname, pg_catalog.md5(pg_catalog.concat_ws(E'\n', t.typtype, n.nspname, t.typname, t.typnotnull, t.typdefault, pg_catalog.format_type(t.typbasetype, t.typtypmod),
  (SELECT pg_catalog.string_agg(e.enumlabel, E'\n' ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid),
  (SELECT pg_catalog.string_agg(k.conname || ' ' || pg_catalog.pg_get_constraintdef(k.oid), E'\n' ORDER BY k.conname) FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid)))
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid = ANY ($2::oid[])
ORDER BY 1
