-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_LOCALTIME_N
select localtime(0)
