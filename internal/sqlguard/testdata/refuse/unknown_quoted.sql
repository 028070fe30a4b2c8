-- expect: INVALID_TABLE_NAME
-- covers: a name in the wrong case
select * from "Customers"
