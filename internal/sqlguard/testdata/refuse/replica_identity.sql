-- expect: NOT_SELECT
-- covers: ReplicaIdentityStmt
alter table orders replica identity full
