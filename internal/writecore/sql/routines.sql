-- The guard's picture of the functions must still be true. $1 = OIDs, $2 = volatilities, $3 = a random mark.
SELECT CASE WHEN pg_catalog.count(*) > 0 THEN ($3::text || 'functions changed')::int END
FROM pg_catalog.unnest($1::oid[], $2::text[]) AS f(o, v)
LEFT JOIN pg_catalog.pg_proc p ON p.oid = f.o
WHERE p.provolatile::text IS DISTINCT FROM f.v
