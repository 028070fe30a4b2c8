-- expect: ACCEPT
-- covers: JoinExpr.using_clause
select * from orders join order_items using (id)
