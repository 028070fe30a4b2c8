-- expect: NOT_SELECT
-- covers: AlterPublicationStmt
alter publication p add tables in schema public
