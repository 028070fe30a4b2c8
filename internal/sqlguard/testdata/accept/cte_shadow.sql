-- expect: ACCEPT
-- covers: a CTE that shadows a hidden name
with pg_authid as (select 1 as id) select * from pg_authid
