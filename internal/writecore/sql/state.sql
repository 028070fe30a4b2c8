-- What agent text could have changed under us. Read before and after it; a difference means rollback.
SELECT pg_catalog.concat_ws('|', current_user, session_user,
  pg_catalog.current_setting('statement_timeout'), pg_catalog.current_setting('lock_timeout'),
  pg_catalog.current_setting('row_security'), pg_catalog.current_setting('session_replication_role'),
  pg_catalog.current_setting('search_path'), pg_catalog.current_setting('track_counts'))
