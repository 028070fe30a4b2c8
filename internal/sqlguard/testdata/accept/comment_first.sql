-- expect: ACCEPT
-- covers: a comment before the statement
-- c
select id from customers
