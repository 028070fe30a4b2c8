-- expect: ACCEPT
-- covers: a column of the name of a volatile function
select t.touch from touched t
