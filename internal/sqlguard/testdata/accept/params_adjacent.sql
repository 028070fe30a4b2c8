-- expect: ACCEPT
-- params: 2
-- covers: parameters without white space around
select $1||$2
