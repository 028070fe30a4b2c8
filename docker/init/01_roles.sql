-- 01_roles.sql: the three roles of sw-postgres-mcp, and nothing else.
--
-- Run it as a superuser, in the database the server shall work on, before 02_audit.sql. It may be
-- run again at any time. It sets no password: a role without one cannot log in by password, so
-- each deployment gives its own (`ALTER ROLE writer PASSWORD '...'`).
--
--   readonly   the tools that read. SELECT, nothing else.
--   writer     the tools that write, each write inside a transaction that a person may have to allow.
--   migrator   what run_migration runs as: it may create in public, and owns what it creates and the
--              tables that their owner hands over. It owns no schema. Nobody can log in as it.
--
-- Roles belong to the whole cluster, grants to this database: run the file once per database.

BEGIN;

-- A role of one of these names may exist already for another purpose. An attribute that makes
-- every grant below meaningless is an error here, not something to take away silently.
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN
    SELECT rolname FROM pg_catalog.pg_roles
    WHERE rolname IN ('readonly', 'writer', 'migrator')
      AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
  LOOP
    RAISE EXCEPTION 'role "%" exists and is more than an ordinary role', r.rolname
      USING HINT = 'It is SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB or REPLICATION. '
                   'Take that away (ALTER ROLE ... NOSUPERUSER ...), or use another cluster.';
  END LOOP;

  IF pg_catalog.to_regrole('readonly') IS NULL THEN
    CREATE ROLE readonly LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
  END IF;
  IF pg_catalog.to_regrole('writer') IS NULL THEN
    CREATE ROLE writer LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
  END IF;
  IF pg_catalog.to_regrole('migrator') IS NULL THEN
    CREATE ROLE migrator NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
  END IF;
END
$$;

-- writer may *become* migrator (the server does so only in run_migration, with SET LOCAL ROLE, so
-- it ends with the transaction), but has none of its rights until then: an ordinary UPDATE must
-- not run as the owner of the tables, who is above row security and may DROP them.
--
-- From Postgres 16 that is a property of this one membership. On 14 and 15 it is a property of the
-- role: there writer gets NOINHERIT, and whatever writer shall be able to do must be granted to
-- writer itself; a right that it would have through another group role does not count before
-- SET ROLE. That is why every grant in these files names writer, never a group.
--
-- Whoever has the writer's password can become migrator too, with psql, and drop what belongs to it.
-- Where run_migration is not wanted, end that after each run of this file: REVOKE migrator FROM writer;
DO $$
BEGIN
  IF pg_catalog.current_setting('server_version_num')::int >= 160000 THEN
    EXECUTE 'GRANT migrator TO writer WITH ADMIN FALSE, INHERIT FALSE, SET TRUE';
  ELSE
    ALTER ROLE writer NOINHERIT;
    GRANT migrator TO writer;
    REVOKE ADMIN OPTION FOR migrator FROM writer;
  END IF;
END
$$;

-- The server reads inside BEGIN READ ONLY anyway. This makes the same true for every other session
-- of readonly (psql, a tool that borrows the URL), so that a function with the rights of its owner
-- (SECURITY DEFINER) does not write by accident there either.
ALTER ROLE readonly SET default_transaction_read_only = on;

-- Where an owner has revoked CONNECT from PUBLIC, the two login roles still need it.
DO $$
BEGIN
  EXECUTE pg_catalog.format('GRANT CONNECT ON DATABASE %I TO readonly, writer', pg_catalog.current_database());
END
$$;

-- Before Postgres 15 everybody may create objects in public. An object with a well-chosen name
-- there could stand in for another, so the right goes away for all.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- Who owns a schema may drop whatever others own in it (manual, DROP TABLE and its like), so migrator
-- owns none: with CREATE, run_migration makes new tables and changes those of migrator, and reaches
-- nobody else's. An earlier version of this file gave it public, which goes back here to whom a new
-- database gives it.
DO $$
DECLARE
  home name := 'pg_database_owner';
BEGIN
  IF pg_catalog.current_setting('server_version_num')::int < 150000 THEN
    SELECT rolname INTO STRICT home FROM pg_catalog.pg_roles WHERE oid = 10; -- who made the cluster
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_namespace
             WHERE nspname = 'public' AND nspowner = pg_catalog.to_regrole('migrator')) THEN
    EXECUTE pg_catalog.format('ALTER SCHEMA public OWNER TO %I', home);
  END IF;
END
$$;
-- public may be migrated. For another schema do the same:
--   GRANT USAGE, CREATE ON SCHEMA app TO migrator;  GRANT USAGE ON SCHEMA app TO readonly, writer;
-- and in each, for tables that exist already:
--   GRANT SELECT ON ALL TABLES IN SCHEMA app TO readonly;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO writer;
--   GRANT USAGE ON ALL SEQUENCES IN SCHEMA app TO writer;
--   ALTER TABLE app.t OWNER TO migrator;      -- only those that run_migration may change
-- Who owned a table before loses its rights on it, and on the sequences of its serial columns: grant
-- that role anew what the application needs (its rights on the table, USAGE on the sequences).
GRANT USAGE, CREATE ON SCHEMA public TO migrator;

-- Names in public can be looked up. It gives no right to any table.
GRANT USAGE ON SCHEMA public TO readonly, writer;

-- What migrator creates from now on is usable at once, by exactly these rights:
-- a new schema (also CREATE SCHEMA ... AUTHORIZATION migrator) can be looked into,
ALTER DEFAULT PRIVILEGES FOR ROLE migrator GRANT USAGE ON SCHEMAS TO readonly, writer;
-- readonly may read tables and views,
ALTER DEFAULT PRIVILEGES FOR ROLE migrator GRANT SELECT ON TABLES TO readonly;
-- writer may read and change rows. No TRUNCATE: it counts no rows, so no preview could show it. No
-- REFERENCES or TRIGGER: those are changes of the table, which belong into a migration;
ALTER DEFAULT PRIVILEGES FOR ROLE migrator GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO writer;
-- and a serial column's default needs nextval (identity columns do not). USAGE allows nextval and
-- currval, not setval, which would survive a ROLLBACK.
ALTER DEFAULT PRIVILEGES FOR ROLE migrator GRANT USAGE ON SEQUENCES TO writer;

COMMIT;
