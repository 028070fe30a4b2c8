INSERT INTO mcp_audit.log
  (tool, reason, statement, params_redacted, preview_rows, actual_rows, plan_token,
   approved_by, status, duration_ms, caller_id, blast_radius, error_code)
VALUES
  ($1::text, $2::text, $3::text, $4::jsonb, $5::bigint, $6::bigint, $7::text,
   $8::text, $9::text, $10::bigint, $11::text, $12::jsonb, $13::text)
