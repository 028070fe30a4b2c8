-- expect: MULTI_STATEMENT
-- covers: a read in front of a DROP
select 1; drop table orders
