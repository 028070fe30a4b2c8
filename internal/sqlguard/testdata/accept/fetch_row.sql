-- expect: ACCEPT
-- covers: SelectStmt.limit_count of FETCH FIRST ROW ONLY
select id from customers fetch first row only
