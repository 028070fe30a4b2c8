-- expect: ACCEPT
-- covers: A_Const.isnull
select null
