-- expect: FUNCTION_NOT_ALLOWED
-- covers: a schema's name as text
select schema_to_xml('public', true, true, '')
