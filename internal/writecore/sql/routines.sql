-- The guard's picture of the functions must still be true. $1 = OIDs, $2 = volatilities, $3 = a random mark.
-- The cast must depend on a row: an expression of constants is evaluated while planning, CASE or not.
SELECT CASE WHEN pg_catalog.count(*) > 0 THEN ($3::text || pg_catalog.count(*))::int END
FROM ROWS FROM (pg_catalog.unnest($1::oid[]), pg_catalog.unnest($2::text[])) AS f(o, v)
LEFT JOIN pg_catalog.pg_proc p ON p.oid = f.o
WHERE p.provolatile::text IS DISTINCT FROM f.v
