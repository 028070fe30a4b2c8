-- expect: NOT_SELECT
-- covers: AlterTSConfigurationStmt
alter text search configuration c add mapping for word with d
