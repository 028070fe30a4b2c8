-- expect: ACCEPT
-- covers: WithClause above a set operation
with x as (select 1 as a) select a from x union all select a from x
