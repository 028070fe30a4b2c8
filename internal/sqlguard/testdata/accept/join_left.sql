-- expect: ACCEPT
-- covers: JoinExpr JOIN_LEFT
select 1 from orders o left join customers c on c.id = o.customer_id
