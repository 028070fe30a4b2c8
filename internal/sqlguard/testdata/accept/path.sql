-- expect: ACCEPT
-- covers: a table that only the search path finds
select id from products
