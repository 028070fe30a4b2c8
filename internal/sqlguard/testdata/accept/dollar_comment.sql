-- expect: ACCEPT
-- covers: a comment inside a dollar quote
select $$ -- ; /* $$
