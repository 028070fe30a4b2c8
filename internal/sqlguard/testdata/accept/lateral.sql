-- expect: ACCEPT
-- covers: RangeSubselect.lateral
select c.id, o.id from customers c, lateral (select id from orders where customer_id = c.id limit 1) o
