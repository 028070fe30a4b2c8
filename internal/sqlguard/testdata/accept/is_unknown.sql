-- expect: ACCEPT
-- covers: BooleanTest IS_UNKNOWN
select active is unknown from customers
