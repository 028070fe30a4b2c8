-- The volatility that the guard relied upon still holds. $1: OIDs, $2: volatilities, in parallel.
-- $3: a random mark for the error raised on purpose.
SELECT CASE WHEN pg_catalog.count(*) > 0 THEN ($3::pg_catalog.text || pg_catalog.count(*))::pg_catalog.int4 END
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.text[])) w(oid, volatility)
LEFT JOIN pg_catalog.pg_proc p ON p.oid = w.oid
WHERE p.provolatile::pg_catalog.text IS DISTINCT FROM w.volatility
