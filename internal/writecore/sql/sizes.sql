-- Size on disk of the tables that a migration may rewrite or scan, with everything below them (partitions,
-- inheritance children). Fails with the mark $3, the OID and the size where one is larger than $2 bytes;
-- a negative $2 is no limit. $1 = OIDs. $4 = partitioned tables that get a partition, of which the default
-- partition is scanned. $5, $6 = tables that get a column, and its type: they are rewritten where that is a
-- domain with a constraint or a default.
WITH RECURSIVE tree (root, oid) AS (
  (SELECT o, o FROM pg_catalog.unnest($1::oid[]) AS o
   UNION
   SELECT p.partrelid, p.partdefid FROM pg_catalog.pg_partitioned_table p WHERE p.partrelid = ANY ($4::oid[]) AND p.partdefid <> 0
   UNION
   SELECT d.o, d.o
   FROM ROWS FROM (pg_catalog.unnest($5::oid[]), pg_catalog.unnest($6::text[])) AS d (o, type)
   JOIN pg_catalog.pg_type t ON t.oid = pg_catalog.to_regtype(d.type) AND t.typtype = 'd'
   WHERE t.typnotnull OR t.typdefault IS NOT NULL OR EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid))
  UNION
  SELECT t.root, i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
), sizes (root, bytes) AS (
  SELECT root, pg_catalog.sum(COALESCE(pg_catalog.pg_table_size(oid), 0))::bigint FROM tree GROUP BY root
)
SELECT root, bytes,
  CASE WHEN $2::bigint >= 0 AND bytes > $2::bigint THEN ($3::text || root || ' ' || bytes)::int END
FROM sizes ORDER BY root
