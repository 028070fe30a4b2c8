-- expect: ACCEPT
-- covers: A_Const of a BitString
select b'101', x'1f'
