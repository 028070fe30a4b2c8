-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of TRIM
select trim(both 'x' from name), trim(leading from name), trim(trailing from name) from customers
