-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_CURRENT_TIME_N
select current_time(3)
