-- expect: ACCEPT
-- covers: JoinExpr without a condition
select 1 from orders cross join order_items
