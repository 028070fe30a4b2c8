-- What a migration reads must be readable for the readonly role $2 itself: it runs as another role, whose
-- rights and whose exemption from row security ($4: where rows are read) are not the agent's. Fails with the
-- mark $3 and the names. $1 = OIDs. A role of that name that is not there decides nothing.
SELECT CASE WHEN pg_catalog.count(*) > 0 THEN ($3::text || pg_catalog.string_agg(
  pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), ', ' ORDER BY n.nspname, c.relname))::int END
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles r ON r.rolname = $2::text
WHERE c.oid = ANY ($1::oid[])
  AND (NOT pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
    OR NOT pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT')
    OR $4::boolean AND c.relrowsecurity AND NOT r.rolbypassrls)
