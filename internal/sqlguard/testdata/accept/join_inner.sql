-- expect: ACCEPT
-- covers: JoinExpr JOIN_INNER
select 1 from orders o join customers c on c.id = o.customer_id
