-- expect: INVALID_TABLE_NAME
-- covers: a table that does not exist, below ANY
select 1 = any (select a from nowhere)
