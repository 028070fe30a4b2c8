-- expect: NOT_SELECT
-- covers: PartitionSpec, PartitionElem
create table x (id int) partition by range (id)
