-- expect: ACCEPT
-- covers: stable functions of the system
select now(), date_trunc('day', now()), current_setting('work_mem')
