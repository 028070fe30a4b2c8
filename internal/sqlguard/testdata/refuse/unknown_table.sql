-- expect: INVALID_TABLE_NAME
-- covers: a relation that does not exist
select * from custmers
