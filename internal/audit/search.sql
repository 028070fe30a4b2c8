-- One page of the log, newest first. $1 before this id; $2 only the last event of each plan; $3 tool;
-- $4 status; $5 part of a table's name; $6 and $7 from and to (epoch ms); $8 part of reason,
-- statement, plan or code; $9 how many. NULL leaves a condition out.
-- What an event does not say of itself (a decision neither what it is about nor how many rows) is taken from
-- the plan's first event: while searching only where it is needed, then for the rows of the page.
-- A term of ASCII alone is looked for with ASCII's lower case, which costs a tenth and finds the same.
WITH page AS MATERIALIZED (
  SELECT l.id
  FROM mcp_audit.log AS l
  LEFT JOIN LATERAL (
    SELECT p.reason, p.statement, p.blast_radius
    FROM mcp_audit.log AS p
    WHERE p.plan_token = l.plan_token AND p.status IN ('previewed', 'awaiting_approval')
      AND ($5::text IS NOT NULL OR $8::text IS NOT NULL) AND (l.statement = '' OR l.blast_radius IS NULL)
    ORDER BY p.id LIMIT 1
  ) AS f ON true
  WHERE ($1::bigint IS NULL OR l.id < $1)
    AND ($4::text IS NULL OR l.status = $4)
    AND ($6::bigint IS NULL OR l.ts >= to_timestamp($6 / 1000.0))
    AND ($7::bigint IS NULL OR l.ts < to_timestamp($7 / 1000.0))
    AND CASE -- in this order: whether there is a later event is asked only of what matches
      WHEN $3::text IS NOT NULL AND l.tool <> $3 AND NOT coalesce(CASE
        WHEN $5::text IS NULL AND $7::bigint IS NULL AND $8::text IS NULL
          AND (SELECT count(*) FROM (SELECT p.tool FROM mcp_audit.log AS p WHERE $1::bigint IS NULL OR p.id < $1 ORDER BY p.id DESC LIMIT 2000) AS n
               WHERE n.tool = $3) >= $9::bigint
        THEN (SELECT true FROM mcp_audit.log AS p -- it is common where we look: one by one, since a page is soon full
              WHERE p.tool = $3 AND p.plan_token = l.plan_token AND p.status IN ('previewed', 'awaiting_approval') LIMIT 1)
        ELSE l.plan_token IN (SELECT p.plan_token FROM mcp_audit.log AS p -- else all plans of the tool, once
                              WHERE p.tool = $3 AND p.status IN ('previewed', 'awaiting_approval') AND p.plan_token IS NOT NULL) END, false)
      THEN false
      WHEN $5::text IS NOT NULL AND NOT CASE WHEN octet_length($5) = length($5)
        THEN strpos(lower(concat_ws(E'\n', l.statement, f.statement, coalesce(l.blast_radius, f.blast_radius) -> 'tables') COLLATE "C"), lower($5 COLLATE "C")) > 0
        ELSE strpos(lower(concat_ws(E'\n', l.statement, f.statement, coalesce(l.blast_radius, f.blast_radius) -> 'tables')), lower($5)) > 0 END
      THEN false
      WHEN $8::text IS NOT NULL AND NOT CASE WHEN octet_length($8) = length($8)
        THEN strpos(lower(concat_ws(E'\n', l.reason, f.reason, l.statement, f.statement, l.plan_token, l.error_code, l.approved_by, l.caller_id) COLLATE "C"), lower($8 COLLATE "C")) > 0
        ELSE strpos(lower(concat_ws(E'\n', l.reason, f.reason, l.statement, f.statement, l.plan_token, l.error_code, l.approved_by, l.caller_id)), lower($8)) > 0 END
      THEN false
      ELSE NOT $2::boolean OR l.plan_token IS NULL
        OR NOT EXISTS (SELECT FROM mcp_audit.log AS n WHERE n.plan_token = l.plan_token AND n.id > l.id)
    END
  ORDER BY l.id DESC
  LIMIT $9::bigint
)
SELECT l.id, (extract(epoch FROM l.ts) * 1000)::bigint, coalesce(f.tool, l.tool), l.tool,
       left(coalesce(f.reason, l.reason), 4000), CASE WHEN l.status = 'rejected' THEN left(l.reason, 4000) END,
       left(coalesce(nullif(l.statement, ''), f.statement, ''), 4000), length(coalesce(nullif(l.statement, ''), f.statement, '')),
       coalesce(l.preview_rows, f.preview_rows), l.actual_rows, l.plan_token, l.approved_by, l.status, l.duration_ms, l.caller_id,
       CASE WHEN octet_length(coalesce(l.blast_radius, f.blast_radius)::text) <= 65536 THEN coalesce(l.blast_radius, f.blast_radius) END, l.error_code
FROM page
JOIN mcp_audit.log AS l ON l.id = page.id
LEFT JOIN LATERAL (
  SELECT p.tool, p.reason, p.statement, p.preview_rows, p.blast_radius
  FROM mcp_audit.log AS p
  WHERE p.plan_token = l.plan_token AND p.status IN ('previewed', 'awaiting_approval')
  ORDER BY p.id LIMIT 1
) AS f ON true
ORDER BY l.id DESC
