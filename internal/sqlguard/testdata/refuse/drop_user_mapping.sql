-- expect: NOT_SELECT
-- covers: DropUserMappingStmt
drop user mapping for joe server s
