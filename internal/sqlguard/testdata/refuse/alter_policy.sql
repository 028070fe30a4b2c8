-- expect: NOT_SELECT
-- covers: AlterPolicyStmt
alter policy p on orders using (true)
