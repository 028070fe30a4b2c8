-- expect: ACCEPT
-- covers: a quote inside a quoted name
select id as "a""b;c" from orders
