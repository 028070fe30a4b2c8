-- expect: FUNCTION_NOT_ALLOWED
-- covers: the whole database
select database_to_xml(true, true, '')
