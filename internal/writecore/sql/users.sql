-- Functions outside the system's schemas whose text holds one of the names $1 as a word: what breaks when a
-- name goes. Functions with a parsed body have no text and follow a rename. At most six of each name, to
-- say "and more".
SELECT f.name, w.name
FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS w (name, ord)
CROSS JOIN LATERAL (
  SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(p.proname) AS name
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  WHERE n.nspname <> 'information_schema' AND n.nspname <> 'mcp_audit' AND n.nspname NOT LIKE 'pg\_%' AND l.lanname NOT IN ('c', 'internal')
    AND pg_catalog.strpos(pg_catalog.lower(p.prosrc), pg_catalog.lower(w.name)) > 0
    AND p.prosrc ~* ('(^|[^[:alnum:]_$])' || pg_catalog.regexp_replace(w.name, '([^[:alnum:]_])', '\\\1', 'g') || '($|[^[:alnum:]_$])')
  ORDER BY 1
  LIMIT 6
) AS f
ORDER BY w.ord, 1
