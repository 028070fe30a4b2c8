-- expect: ACCEPT
-- covers: what looks like a comment inside a quoted name
select id as "a -- b /* c" from orders
