-- expect: ACCEPT
-- covers: A_Indirection with a String
select (array[row(1, 2)])[1]
