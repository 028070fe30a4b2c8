-- Constraints, triggers and types outside the system's schemas, for the difference of a migration.
SELECT 'constraint' AS kind, k.oid, pg_catalog.concat_ws('.', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(c.relname), pg_catalog.quote_ident(k.conname)) AS name, k.conrelid AS rel
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%' AND k.contype IN ('c', 'f', 'p', 'u', 'x')
UNION ALL
SELECT 'trigger', g.oid, pg_catalog.concat_ws('.', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(c.relname), pg_catalog.quote_ident(g.tgname)), g.tgrelid
FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT g.tgisinternal AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
UNION ALL
SELECT 'type', t.oid, pg_catalog.concat_ws('.', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(t.typname)), 0
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%' AND t.typtype IN ('e', 'd', 'r') 
ORDER BY 1, 3
