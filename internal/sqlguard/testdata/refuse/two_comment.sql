-- expect: MULTI_STATEMENT
-- covers: a second statement behind a line comment
select 1 -- ;
; select 2
