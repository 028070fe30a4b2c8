-- expect: NOT_SELECT
-- covers: CreateOpClassStmt, CreateOpClassItem
create operator class c for type int using btree as operator 1 <
