-- 02_audit.sql: what happened, in a table that only grows.
--
-- Run it as a superuser after 01_roles.sql. It may be run again at any time. Schema, table and
-- function belong to whoever runs it; that must not be readonly, writer or migrator, because an
-- owner can always grant itself what was taken away.

BEGIN;

DO $$
DECLARE
  owner name;
BEGIN
  SELECT r.rolname INTO owner
  FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
  WHERE n.nspname = 'mcp_audit';
  IF coalesce(owner, current_user) IN ('readonly', 'writer', 'migrator') THEN
    RAISE EXCEPTION 'mcp_audit must not belong to "%"', coalesce(owner, current_user)
      USING HINT = 'Run this file as a superuser; an existing schema: ALTER SCHEMA mcp_audit OWNER TO postgres.';
  END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS mcp_audit;

-- One row per event: every preview, decision, execution and refusal. The row of an execution is
-- written in the transaction of the change itself, so it is there if and only if the change is.
CREATE TABLE IF NOT EXISTS mcp_audit.log (
  id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- not now(): that is the start of the transaction, which may have waited for locks since
  ts              timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
  tool            text        NOT NULL,
  reason          text,
  statement       text        NOT NULL DEFAULT '',
  params_redacted jsonb,      -- per value its type and length, never the value
  preview_rows    bigint,
  actual_rows     bigint,
  plan_token      text,
  approved_by     text,       -- who decided, on approve and reject rows and on the execution
  status          text        NOT NULL,
  duration_ms     bigint,
  caller_id       text        NOT NULL DEFAULT 'unknown',
  blast_radius    jsonb,      -- rows changed per table, cascades and triggers included
  error_code      text,

  CONSTRAINT log_status_known CHECK (status IN
    ('previewed', 'awaiting_approval', 'approved', 'executed', 'rejected', 'hard_cap_refused', 'failed')),
  -- these are events in the life of a plan, and a plan has a token; a read (audit.reads) has none
  CONSTRAINT log_plan_has_token CHECK (plan_token IS NOT NULL OR status IN ('hard_cap_refused', 'failed')
    OR status = 'executed' AND tool IN ('query', 'explain_plan', 'describe_schema')),
  CONSTRAINT log_executed_says_rows CHECK (status <> 'executed' OR actual_rows IS NOT NULL),
  -- a decision without a name is written as 'unknown', never left out
  CONSTRAINT log_decision_has_actor CHECK (status NOT IN ('approved', 'rejected') OR approved_by IS NOT NULL),
  CONSTRAINT log_failure_has_code CHECK (status <> 'failed' OR error_code IS NOT NULL)
);

-- The database itself refuses a second commit of one plan (23505 on this name is USED_TOKEN).
CREATE UNIQUE INDEX IF NOT EXISTS log_executed_once ON mcp_audit.log (plan_token) WHERE status = 'executed';
-- Everything that happened to one plan.
CREATE INDEX IF NOT EXISTS log_by_plan ON mcp_audit.log (plan_token, id) WHERE plan_token IS NOT NULL;
-- For whoever reads the log: a time, a status, and the plans of a tool are found without reading all of it.
CREATE INDEX IF NOT EXISTS log_by_time ON mcp_audit.log (ts);
CREATE INDEX IF NOT EXISTS log_by_status ON mcp_audit.log (status, id);
CREATE INDEX IF NOT EXISTS log_by_tool ON mcp_audit.log (tool, plan_token) WHERE status IN ('previewed', 'awaiting_approval');

-- Append-only for the owner too. Grants do not bind an owner or a superuser, and the likely accident
-- is theirs: a clean-up script, an ORM, TRUNCATE ... CASCADE. Who must purge (retention, erasure) says so:
--   ALTER TABLE mcp_audit.log DISABLE TRIGGER log_append_only;  ... ENABLE TRIGGER log_append_only;
CREATE OR REPLACE FUNCTION mcp_audit.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'mcp_audit.log only grows: % refused', TG_OP
    USING ERRCODE = 'insufficient_privilege',
          HINT = 'To purge on purpose, the owner disables the trigger log_append_only first.';
END
$$;
CREATE OR REPLACE FUNCTION mcp_audit.outcome(token text)
RETURNS TABLE (ts timestamptz, actual_rows bigint, blast_radius jsonb)
-- SECURITY DEFINER: writer must learn what became of a plan after a lost connection, but not read
-- the log. search_path is pinned, so that nobody's objects can stand in for these.
-- VOLATILE: it looks with a snapshot of its own, so it also sees what committed while the calling
-- statement was waiting for the plan's lock.
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.ts, l.actual_rows, l.blast_radius
  FROM mcp_audit.log AS l
  WHERE l.plan_token = token AND l.status = 'executed'
$$;
COMMENT ON FUNCTION mcp_audit.outcome(text) IS
  'One row if the plan of this token was committed, none if it was not.';

DO $$
BEGIN
  -- not CREATE OR REPLACE TRIGGER: it would quietly enable a trigger that an owner has disabled
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger
                 WHERE tgrelid = 'mcp_audit.log'::pg_catalog.regclass AND tgname = 'log_append_only') THEN
    CREATE TRIGGER log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON mcp_audit.log
      FOR EACH STATEMENT EXECUTE FUNCTION mcp_audit.refuse_change();
  END IF;
END
$$;

-- Start from nothing, so that running the file again also takes back what was granted in between.
-- migrator is named because it must have nothing here: it is what migrations run as.
REVOKE ALL ON SCHEMA mcp_audit FROM PUBLIC, readonly, writer, migrator;
REVOKE ALL ON TABLE mcp_audit.log FROM PUBLIC, readonly, writer, migrator;
REVOKE ALL ON FUNCTION mcp_audit.outcome(text), mcp_audit.refuse_change() FROM PUBLIC, readonly, writer, migrator;

-- Names in mcp_audit can be looked up.
GRANT USAGE ON SCHEMA mcp_audit TO readonly, writer;
-- The trail can be read (the tools show it only where the read allowlist names it).
GRANT SELECT ON TABLE mcp_audit.log TO readonly;
-- writer adds rows, and that is all: no SELECT, no UPDATE, no DELETE, no TRUNCATE. The identity
-- column needs no grant on its sequence.
GRANT INSERT ON TABLE mcp_audit.log TO writer;
-- The one question writer may ask.
GRANT EXECUTE ON FUNCTION mcp_audit.outcome(text) TO writer;

COMMIT;
