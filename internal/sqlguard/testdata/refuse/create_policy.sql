-- expect: NOT_SELECT
-- covers: CreatePolicyStmt
create policy p on orders using (id = 1)
