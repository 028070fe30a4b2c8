-- expect: MULTI_STATEMENT
-- covers: SET in front of a read
set role x; select 1
