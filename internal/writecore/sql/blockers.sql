-- Who blocks the backend $1, while it waits for a lock; nothing when it does not wait (any more). pid 0
-- is a prepared transaction (manual, 9.27, pg_blocking_pids). Times are NULL where this role may not see
-- them: without pg_read_all_stats only those of its own sessions. The text of a statement is not asked for.
SELECT b.pid::text,
  pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - a.xact_start))::bigint::text,
  pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - a.query_start))::bigint::text
FROM pg_catalog.pg_stat_activity AS w
CROSS JOIN LATERAL (SELECT DISTINCT pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) AS pid) AS b
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = b.pid AND b.pid <> 0
WHERE w.pid = $1::integer AND w.wait_event_type = 'Lock'
ORDER BY a.xact_start NULLS LAST, b.pid
LIMIT 5
