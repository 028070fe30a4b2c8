-- expect: ACCEPT
-- covers: A_Const of a Boolean
select true, false
