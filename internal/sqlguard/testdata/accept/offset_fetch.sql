-- expect: ACCEPT
-- covers: SelectStmt.limit_option
select id from customers order by id offset 1 fetch first 2 rows with ties
