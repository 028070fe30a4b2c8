-- expect: ACCEPT
-- covers: A_Indices
select tags[1], tags[1:2] from customers
