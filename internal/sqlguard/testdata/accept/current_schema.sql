-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_CURRENT_SCHEMA
select current_schema
