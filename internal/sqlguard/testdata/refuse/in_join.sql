-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a join
select 1 from orders o join pg_authid a on true
