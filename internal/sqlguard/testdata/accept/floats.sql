-- expect: ACCEPT
-- covers: A_Const of a Float
select 1.5, .5, 5., 1e10, 2.5e-3, 9223372036854775808
