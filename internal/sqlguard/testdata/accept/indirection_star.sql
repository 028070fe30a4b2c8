-- expect: ACCEPT
-- covers: A_Indirection star
select (c).* from customers c
