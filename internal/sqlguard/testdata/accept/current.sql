-- expect: ACCEPT
-- covers: SQLValueFunction
select current_date, current_timestamp, current_user
