-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_CURRENT_ROLE
select current_role
