-- expect: ACCEPT
-- covers: JoinExpr.alias
select j.id from (orders o join customers c using (id)) as j
