-- $1: kinds, $2: keys, $3: versions, in parallel. $4: a mark for the error raised on purpose. The cast
-- must depend on a row: an expression of constants is evaluated while planning, CASE or not.
SELECT CASE WHEN pg_catalog.count(*) > 0
            THEN ($4::pg_catalog.text || (pg_catalog.array_agg(f.kind || ' ' || f.key ORDER BY f.ord))[1])::pg_catalog.int4 END
FROM (SELECT w.kind, w.key, w.version, w.ord, COALESCE(CASE w.kind{branches} END, '') AS now
      FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::pg_catalog.text[]))
           WITH ORDINALITY w(kind, key, version, ord)) f
WHERE f.now <> f.version
  AND NOT (pg_catalog.right(f.version, 1) = '.' AND pg_catalog.starts_with(f.now, f.version)) -- WithoutPartitions
