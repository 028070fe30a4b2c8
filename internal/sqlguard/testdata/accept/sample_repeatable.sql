-- expect: ACCEPT
-- covers: RangeTableSample.repeatable
select * from customers tablesample system (10) repeatable (1)
