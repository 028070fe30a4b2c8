-- expect: ACCEPT
-- covers: SelectStmt.limit_count of LIMIT ALL
select id from customers limit all
