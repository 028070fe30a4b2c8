-- expect: ACCEPT
-- covers: A_Expr with a qualified operator
select 1 operator(pg_catalog.+) 2
