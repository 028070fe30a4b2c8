-- expect: NOT_SELECT
-- covers: GrantStmt.behavior, AccessPriv.cols
revoke select (id) on orders from joe cascade
