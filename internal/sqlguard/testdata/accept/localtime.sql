-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_LOCALTIME
select localtime
