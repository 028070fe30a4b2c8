-- expect: ACCEPT
-- covers: SelectStmt.larg, SelectStmt.rarg in brackets
(select 1 union select 2) except (select 2 intersect select 2) order by 1
