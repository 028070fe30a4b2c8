-- expect: ACCEPT
-- covers: a name with a dollar sign
select a$1 from (select 1 as a$1) x
