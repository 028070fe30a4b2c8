-- Everything that happened to the plan $1, in order, at most $2 events.
SELECT l.id, (extract(epoch FROM l.ts) * 1000)::bigint, l.tool, l.tool,
       left(l.reason, 4000), CASE WHEN l.status = 'rejected' THEN left(l.reason, 4000) END,
       left(l.statement, 4000), length(l.statement),
       l.preview_rows, l.actual_rows, l.plan_token, l.approved_by, l.status, l.duration_ms, l.caller_id,
       CASE WHEN octet_length(l.blast_radius::text) <= 65536 THEN l.blast_radius END, l.error_code
FROM mcp_audit.log AS l
WHERE l.plan_token = $1::text
ORDER BY l.id
LIMIT $2::bigint
