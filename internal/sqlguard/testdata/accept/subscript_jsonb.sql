-- expect: ACCEPT
-- covers: A_Indices with a text
select data['a']['b'] from customers
