-- expect: ACCEPT
-- covers: JoinExpr JOIN_RIGHT
select 1 from orders o right join customers c on c.id = o.customer_id
