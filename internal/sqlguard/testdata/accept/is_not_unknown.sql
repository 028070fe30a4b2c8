-- expect: ACCEPT
-- covers: BooleanTest IS_NOT_UNKNOWN
select active is not unknown from customers
