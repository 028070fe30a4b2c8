-- expect: ACCEPT
-- covers: BooleanTest IS_NOT_FALSE
select active is not false from customers
