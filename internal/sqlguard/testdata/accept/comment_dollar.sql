-- expect: ACCEPT
-- covers: a dollar quote inside a comment
select 1 -- $$ ; $x$
