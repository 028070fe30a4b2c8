-- expect: NOT_SELECT
-- covers: CreatePublicationStmt, PublicationObjSpec, PublicationTable
create publication p for table orders where (id > 1)
