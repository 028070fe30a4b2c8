-- expect: ACCEPT
-- covers: RowExpr COERCE_IMPLICIT_CAST in an IN list
select id from customers where (id, status) in ((1, 'a'), (2, 'b'))
