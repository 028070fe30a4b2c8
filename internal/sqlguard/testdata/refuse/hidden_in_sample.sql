-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in the argument of TABLESAMPLE
select * from orders tablesample bernoulli ((select count(*) from pg_authid))
