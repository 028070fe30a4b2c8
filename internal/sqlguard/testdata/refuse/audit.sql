-- expect: TABLE_NOT_ALLOWLISTED
-- covers: mcp_audit without an entry of its own
select * from mcp_audit.log
