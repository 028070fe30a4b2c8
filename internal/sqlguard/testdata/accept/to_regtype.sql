-- expect: ACCEPT
-- covers: to_regtype of a literal
select to_regtype('int')
