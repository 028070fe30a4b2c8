-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a frame bound
select sum(id) over (order by id rows (select count(*) from pg_authid) preceding) from orders
