-- expect: NOT_SELECT
-- covers: AlterCollationStmt
alter collation "de_DE" refresh version
