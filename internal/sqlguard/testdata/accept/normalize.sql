-- expect: ACCEPT
-- covers: FuncCall COERCE_SQL_SYNTAX of NORMALIZE
select normalize(name, NFC), name is nfkd normalized from customers
