-- expect: ACCEPT
-- covers: a line comment that ends with a carriage return
select 1 -- afrom orders
