WITH d AS (DELETE FROM app.item RETURNING *) SELECT * FROM d
WITH u AS (UPDATE app.item SET qty = 1 RETURNING *) SELECT * FROM u
WITH i AS (INSERT INTO app.item (name) VALUES ('x') RETURNING *) SELECT * FROM i
SELECT * FROM (WITH d AS (DELETE FROM app.item RETURNING *) SELECT * FROM d) x
WITH a AS (WITH d AS (DELETE FROM app.item RETURNING *) SELECT * FROM d) SELECT * FROM a
SELECT setval('app.counter', 42)
SELECT nextval('app.counter')
SELECT app.boom()
SELECT app.quiet_boom()
SELECT * FROM app.boom()
SELECT 1 FROM app.item WHERE app.quiet_boom() = 1
SELECT pg_advisory_lock(7)
SELECT pg_try_advisory_lock(7)
SELECT pg_advisory_lock_shared(7)
SELECT set_config('default_transaction_read_only', 'off', false)
SELECT set_config('transaction_read_only', 'off', true)
SELECT set_config('role', 'writer', false)
SELECT set_config('search_path', 'secret', false)
SELECT lo_create(4711)
SELECT lo_from_bytea(4711, 'x')
SELECT lo_import('/etc/passwd')
SELECT lo_export(1, '/tmp/x')
SELECT pg_notify('a', 'b')
SELECT pg_switch_wal()
SELECT pg_reload_conf()
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
SELECT pg_cancel_backend(1)
SELECT pg_stat_reset()
SELECT txid_current()
SELECT * FROM app.item FOR UPDATE
SELECT * FROM app.item FOR SHARE
SELECT * INTO app.stolen FROM app.item
CREATE TEMP TABLE x AS SELECT 1
COPY app.item TO STDOUT
COPY app.item FROM STDIN
COPY app.item TO PROGRAM 'true'
DO $$ BEGIN DELETE FROM app.item; END $$
CALL app.nothing()
EXPLAIN ANALYZE DELETE FROM app.item
EXPLAIN (ANALYZE) SELECT app.boom()
analyze delete from app.item
(analyze) delete from app.item
ANALYZE
VACUUM
TRUNCATE app.item
PREPARE x AS DELETE FROM app.item
DECLARE c CURSOR WITH HOLD FOR SELECT 1
LISTEN x
NOTIFY x
LOCK TABLE app.item
SET ROLE writer
SET default_transaction_read_only = off
RESET ALL
DISCARD ALL
BEGIN READ WRITE
COMMIT
SELECT query_to_xml('DELETE FROM app.item RETURNING 1', true, true, '')
SELECT dblink_exec('', 'DELETE FROM app.item')
SELECT pg_read_file('/etc/passwd')
SELECT * FROM pg_ls_dir('/')
SELECT pg_sleep(1) FROM app.item; DELETE FROM app.item
MERGE INTO app.item i USING app.parent p ON i.id = p.id WHEN MATCHED THEN DELETE
