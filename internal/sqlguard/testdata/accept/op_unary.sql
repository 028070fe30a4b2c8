-- expect: ACCEPT
-- covers: A_Expr with one operand
select -id, @ id, ~ tenant_id from customers
