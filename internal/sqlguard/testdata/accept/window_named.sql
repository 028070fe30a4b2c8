-- expect: ACCEPT
-- covers: SelectStmt.window_clause, WindowDef.refname
select sum(id) over (w rows unbounded preceding) from orders window w as (order by id)
