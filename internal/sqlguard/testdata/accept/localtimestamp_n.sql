-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_LOCALTIMESTAMP_N
select localtimestamp(6)
