-- expect: ACCEPT
-- covers: RangeFunction.coldeflist with types, ColumnDef
select * from json_to_recordset('[]') as x(a int, b text collate "C")
