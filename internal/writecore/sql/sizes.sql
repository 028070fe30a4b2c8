-- Size on disk of the tables that a migration may rewrite or scan, with everything below them (partitions,
-- inheritance children). Fails with the mark $3, the OID and the size where one is larger than $2 bytes;
-- a negative $2 is no limit. $1 = OIDs.
WITH RECURSIVE tree (root, oid) AS (
  SELECT o, o FROM pg_catalog.unnest($1::oid[]) AS o
  UNION
  SELECT t.root, i.inhrelid FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
), sizes (root, bytes) AS (
  SELECT root, pg_catalog.sum(COALESCE(pg_catalog.pg_table_size(oid), 0))::bigint FROM tree GROUP BY root
)
SELECT root, bytes,
  CASE WHEN $2::bigint >= 0 AND bytes > $2::bigint THEN ($3::text || root || ' ' || bytes)::int END
FROM sizes ORDER BY root
