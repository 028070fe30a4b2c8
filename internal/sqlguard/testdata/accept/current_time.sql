-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_CURRENT_TIME
select current_time
