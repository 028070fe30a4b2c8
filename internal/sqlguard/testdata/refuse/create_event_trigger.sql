-- expect: NOT_SELECT
-- covers: CreateEventTrigStmt
create event trigger e on ddl_command_start execute function f()
