-- expect: ACCEPT
-- covers: operators without white space
select 1<2, 2>=-1, 3!=4, -(-1), 1-(-1)
