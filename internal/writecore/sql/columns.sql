-- Columns of the relations $1 (OIDs); with CASCADE in the text ($2) those of all relations outside the
-- system's schemas, since a type that goes takes columns along anywhere.
SELECT a.attrelid, a.attnum, a.attname
FROM pg_catalog.pg_attribute a
WHERE a.attnum > 0 AND NOT a.attisdropped
  AND (a.attrelid = ANY ($1::oid[])
    OR $2::boolean AND a.attrelid IN (
      SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'f', 'm', 'v') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'))
ORDER BY 1, 2
