-- expect: ACCEPT
-- covers: CaseExpr
select case when id > 1 then 'a' else 'b' end from customers
