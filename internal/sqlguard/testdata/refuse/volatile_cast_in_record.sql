-- expect: FUNCTION_NOT_ALLOWED
-- covers: a column type of a record over a volatile function
select * from json_to_recordset('[]') as x(a weird)
