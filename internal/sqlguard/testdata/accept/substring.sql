-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of SUBSTRING
select substring(name from 1 for 2) from customers
