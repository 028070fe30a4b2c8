-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of OVERLAY
select overlay(name placing 'x' from 1 for 2) from customers
