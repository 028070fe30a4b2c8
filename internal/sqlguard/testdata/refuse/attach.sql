-- expect: NOT_SELECT
-- covers: PartitionCmd
alter table orders attach partition order_items default
