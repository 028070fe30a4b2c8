-- expect: ACCEPT
-- covers: SelectStmt without FROM
select 1
