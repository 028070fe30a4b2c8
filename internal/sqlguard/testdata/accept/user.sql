-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_USER
select user
