-- expect: ACCEPT
-- covers: A_ArrayExpr without elements
select array[]::int[]
