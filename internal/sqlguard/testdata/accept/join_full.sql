-- expect: ACCEPT
-- covers: JoinExpr JOIN_FULL
select * from orders o full join order_items i on i.order_id = o.id
