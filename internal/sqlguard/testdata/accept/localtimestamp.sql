-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_LOCALTIMESTAMP
select localtimestamp
