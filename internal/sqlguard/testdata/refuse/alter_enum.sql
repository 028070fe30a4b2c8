-- expect: NOT_SELECT
-- covers: AlterEnumStmt
alter type t add value 'b'
