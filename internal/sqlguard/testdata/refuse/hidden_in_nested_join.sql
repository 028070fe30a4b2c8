-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a bracketed join
select 1 from (orders o join (customers c cross join pg_authid a) on true)
