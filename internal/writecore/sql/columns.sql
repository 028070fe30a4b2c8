-- Columns of the relations that a migration names. $1 = their OIDs.
SELECT a.attrelid, a.attnum, a.attname
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, 2
