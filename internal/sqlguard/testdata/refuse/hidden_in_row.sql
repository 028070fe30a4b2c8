-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a row comparison
select 1 from orders where (id, status) = (select 1, rolname from pg_authid)
