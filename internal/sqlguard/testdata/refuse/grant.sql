-- expect: NOT_SELECT
-- covers: GrantStmt
grant select on orders to public
