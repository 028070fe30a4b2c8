-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in LATERAL
select 1 from orders, lateral (table pg_authid) x
