-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of COLLATION FOR
select collation for (name) from customers
