-- expect: ACCEPT
-- covers: JoinExpr.is_natural
select * from orders natural join order_items
