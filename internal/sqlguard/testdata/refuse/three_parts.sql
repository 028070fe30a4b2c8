-- expect: INVALID_TABLE_NAME
-- covers: RangeVar.catalogname
select * from db.public.orders
