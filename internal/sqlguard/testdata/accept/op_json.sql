-- expect: ACCEPT
-- covers: A_Expr with operators of jsonb
select data->'a'->>'b', data #>> '{a,b}', data @> '{}', data ? 'a' from customers
