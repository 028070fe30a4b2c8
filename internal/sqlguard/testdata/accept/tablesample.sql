-- expect: ACCEPT
-- covers: RangeTableSample
select * from customers tablesample bernoulli (10)
