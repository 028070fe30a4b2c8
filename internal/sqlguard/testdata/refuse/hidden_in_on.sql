-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in ON
select 1 from orders o join customers c on exists (table pg_authid)
