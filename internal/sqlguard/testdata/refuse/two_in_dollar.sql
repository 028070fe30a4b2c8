-- expect: MULTI_STATEMENT
-- covers: a semicolon behind a dollar quote
select $a$;$a$; select 2
