-- expect: ACCEPT
-- covers: BooleanTest IS_NOT_TRUE
select active is not true from customers
