-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of POSITION
select position('a' in name) from customers
