-- expect: MULTI_STATEMENT
-- covers: two RawStmts
select 1; select 2
