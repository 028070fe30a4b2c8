-- expect: NOT_SELECT
-- covers: CreateOpFamilyStmt
create operator family f using btree
