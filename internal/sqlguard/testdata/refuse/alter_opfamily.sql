-- expect: NOT_SELECT
-- covers: AlterOpFamilyStmt, ObjectWithArgs
alter operator family f using btree add operator 1 < (int, int)
