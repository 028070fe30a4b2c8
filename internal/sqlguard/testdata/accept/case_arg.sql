-- expect: ACCEPT
-- covers: CaseExpr.arg, CaseWhen
select case status when 'a' then 1 when 'b' then 2 end from orders
