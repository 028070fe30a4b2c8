-- expect: ACCEPT
-- covers: BooleanTest IS_TRUE
select active is true from customers
