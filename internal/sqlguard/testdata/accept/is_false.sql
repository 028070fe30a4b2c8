-- expect: ACCEPT
-- covers: BooleanTest IS_FALSE
select active is false from customers
