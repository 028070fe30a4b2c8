-- expect: MULTI_STATEMENT
-- covers: a second statement that does not parse
select 1; selec 2
