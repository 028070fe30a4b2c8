-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_CURRENT_TIMESTAMP_N
select current_timestamp(0)
