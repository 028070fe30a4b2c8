-- expect: NOT_SELECT
-- covers: PartitionBoundSpec, PartitionRangeDatum
create table x partition of orders for values from (minvalue) to (10)
