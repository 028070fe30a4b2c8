-- expect: ACCEPT
-- covers: a comment between operators
select 1 +/* plus */-1
