-- $1: type OIDs. Resolves domains to their base type and true arrays to their element type, as
-- deep as needed, and returns every type met on the way.
WITH RECURSIVE t AS (
  SELECT ty.oid, ty.typtype, ty.typbasetype, ty.typelem, ty.typdelim, ty.typarray
  FROM pg_catalog.pg_type ty WHERE ty.oid = ANY ($1::pg_catalog.oid[])
  UNION
  SELECT ty.oid, ty.typtype, ty.typbasetype, ty.typelem, ty.typdelim, ty.typarray
  FROM t JOIN pg_catalog.pg_type ty
    ON ty.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END
)
SELECT t.oid,
       CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE 0 END AS base,
       -- int2vector and oidvector have an element type but are printed without braces.
       CASE WHEN t.typtype <> 'd' AND EXISTS (
              SELECT FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid)
            THEN t.typelem ELSE 0 END AS elem,
       t.typdelim AS delim,
       pg_catalog.format_type(t.oid, NULL) AS name
FROM t
