-- expect: ACCEPT
-- covers: ResTarget with a bare label
select id identifier, name label from customers
