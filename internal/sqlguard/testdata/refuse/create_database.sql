-- expect: NOT_SELECT
-- covers: CreatedbStmt
create database d
