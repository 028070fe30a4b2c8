-- expect: MULTI_STATEMENT
-- covers: BEGIN … COMMIT around a read
begin; select 1; commit
