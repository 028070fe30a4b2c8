-- expect: NOT_SELECT
-- covers: AlterTableSpaceOptionsStmt
alter tablespace x set (seq_page_cost = 1)
