-- expect: INVALID_TABLE_NAME
-- covers: a schema that does not exist
select * from nowhere.customers
