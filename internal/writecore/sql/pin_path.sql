-- Names mean what they mean to the writer, whatever role runs the migration: "$user" in the search path
-- would be another schema for another role.
SELECT pg_catalog.set_config('search_path', COALESCE((
  SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s.name), ', ' ORDER BY s.ord)
  FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY s(name, ord)), ''), true)
