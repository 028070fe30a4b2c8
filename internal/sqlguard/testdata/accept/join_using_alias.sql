-- expect: ACCEPT
-- covers: JoinExpr.join_using_alias
select j.id from orders o join customers c using (id) as j
