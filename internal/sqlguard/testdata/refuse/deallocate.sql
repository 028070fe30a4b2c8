-- expect: NOT_SELECT
-- covers: DeallocateStmt
deallocate all
