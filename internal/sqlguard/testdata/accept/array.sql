-- expect: ACCEPT
-- covers: A_ArrayExpr
select array[1, 2], array[[1], [2]]
