-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of OVERLAPS
select (created_at, created_at) overlaps (last_login, last_login) from customers
