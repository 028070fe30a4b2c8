-- $1: kinds, $2: keys, in parallel.
SELECT w.kind, w.key, COALESCE(CASE w.kind{branches} END, '')
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))
     WITH ORDINALITY w(kind, key, ord)
ORDER BY w.ord
