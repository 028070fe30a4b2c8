-- expect: NOT_SELECT
-- covers: CreateConversionStmt
create conversion c for 'UTF8' to 'LATIN1' from f
