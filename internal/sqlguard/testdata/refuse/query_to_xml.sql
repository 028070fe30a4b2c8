-- expect: FUNCTION_NOT_ALLOWED
-- covers: SQL as text
select query_to_xml('select 1', true, true, '')
