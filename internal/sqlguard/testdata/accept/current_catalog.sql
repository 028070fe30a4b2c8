-- expect: ACCEPT
-- covers: SQLValueFunction SVFOP_CURRENT_CATALOG
select current_catalog
