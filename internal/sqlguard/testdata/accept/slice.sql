-- expect: ACCEPT
-- covers: A_Indices.is_slice
select tags[:], tags[2:], tags[:1] from customers
